//! The nearest right name to a wrong one.

/// Help for `name`, which is none of `names`: the nearest one where one is
/// near, else all of them.
pub(crate) fn help(name: &str, names: &[&str]) -> String {
    match nearest(name, names) {
        Some(right) => format!("did you mean `{right}`?"),
        None if names.is_empty() => "there are none".to_owned(),
        None => format!("there are: {}", names.join(", ")),
    }
}

/// The nearest of `names` that a slip of the hand could turn into `name`: one
/// edit, and one more for every three characters.
pub(crate) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let within = 1 + name.chars().count() / 3;
    let distance = |right: &str| strsim::damerau_levenshtein(&name, &right.to_lowercase());
    let near = names.iter().map(|right| (distance(right), *right));
    // A name of which every character was changed is another name.
    let near = near.filter(|(edits, right)| *edits <= within && *edits < right.chars().count());
    near.min_by_key(|(edits, _)| *edits).map(|(_, right)| right)
}
