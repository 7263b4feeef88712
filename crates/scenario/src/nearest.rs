//! The correct name nearest to a misspelt one.

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

/// For a version that is not in `names`, the newest one that is no newer, or else the oldest; for a name
/// without its version, the first.
fn of_version<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let version = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let (stem, wanted) = name.rsplit_once('-').map_or((name, None), |(stem, v)| (stem, version(v)));
    let known = names.iter().filter_map(|one| {
        let (own, v) = one.rsplit_once('-')?;
        (own == stem).then_some((version(v)?, *one))
    });
    let Some(wanted) = wanted else {
        return known.map(|(_, one)| one).next().filter(|_| stem == name);
    };
    let older = known.clone().filter(|(own, _)| *own <= wanted).max_by_key(|(own, _)| *own);
    older.or_else(|| known.min_by_key(|(own, _)| *own)).map(|(_, one)| one)
}

/// The nearest of `names` that differs from `name` by typing errors: one edit, and one more for
/// every three characters. `None` with too many names, or if `name` is too long for a line.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    if names.len() > MANY || name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    if let Some(found) = of_version(&name, names) {
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
