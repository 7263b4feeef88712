//! The correct name nearest to a misspelt one.

use sojourn_transport::Host;

/// Greatest number of names to search or list. More is unreadable, and a search among a hundred
/// thousand takes a tenth of a second.
const MANY: usize = 1000;

/// Bytes of a name that are compared: the cost is the product of two lengths.
const LONGEST: usize = 100;

/// Help for `name`, which is not in `names`: the nearest one if it is close, otherwise all of
/// them.
pub(crate) fn help(name: &str, names: &[&str]) -> String {
    match nearest(name, names) {
        None if names.len() > MANY => {
            format!("there are {}: {}, ...", names.len(), names[..3].join(", "))
        }
        Some(right) => format!("did you mean `{right}`?"),
        None if names.is_empty() => "there are none".to_owned(),
        None => format!("there are: {}", names.join(", ")),
    }
}

/// The host of Linux without a version, or of one that has no host of its own.
fn of_linux<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let host = match name.strip_prefix("linux")? {
        "" => Host::DEFAULT,
        version => Host::of_kernel(version.strip_prefix('-')?)?.name,
    };
    names.iter().copied().find(|one| *one == host)
}

/// The nearest of `names` that differs from `name` by typing errors: one edit, and one more for
/// every three characters. `None` with too many names, or if `name` is too long for a line.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    if names.len() > MANY || name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    if let Some(found) = of_linux(&name, names) {
        return Some(found);
    }
    let within = 1 + name.chars().count() / 3;
    let distance = |right: &str| strsim::damerau_levenshtein(&name, &right.to_lowercase());
    let short = names.iter().filter(|right| right.len() <= LONGEST);
    let near = short.map(|right| (distance(right), *right));
    // A name with all its characters changed is a different name.
    let near = near.filter(|(edits, right)| *edits <= within && *edits < right.chars().count());
    near.min_by_key(|(edits, _)| *edits).map(|(_, right)| right)
}
