//! The nearest right name to a wrong one.

/// Names among which the nearest is looked for, and which are listed: more than anybody
/// reads, and a search among a hundred thousand takes a tenth of a second.
const MANY: usize = 1000;

/// Bytes of a name that is compared: the comparison takes the product of two lengths.
const LONGEST: usize = 100;

/// Help for `name`, which is none of `names`: the nearest one where one is
/// near, else all of them.
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

/// The nearest of `names` that a slip of the hand could turn into `name`: one
/// edit, and one more for every three characters. None among very many, or for a name that
/// is no slip of any, being longer than what a line holds.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    if names.len() > MANY || name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let within = 1 + name.chars().count() / 3;
    let distance = |right: &str| strsim::damerau_levenshtein(&name, &right.to_lowercase());
    let short = names.iter().filter(|right| right.len() <= LONGEST);
    let near = short.map(|right| (distance(right), *right));
    // A name of which every character was changed is another name.
    let near = near.filter(|(edits, right)| *edits <= within && *edits < right.chars().count());
    near.min_by_key(|(edits, _)| *edits).map(|(_, right)| right)
}
