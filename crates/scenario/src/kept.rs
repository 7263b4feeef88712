//! File names for the traces of a scenario in a run directory.

use std::collections::BTreeSet;
use std::path::Path;

/// Greatest length of a name on most file systems (Linux's `NAME_MAX`).
const LONGEST: usize = 255;

/// A file name for the trace of each link, given as link and path: the link's name and the file's
/// own. A number distinguishes names that would collide with each other, on case-insensitive file
/// systems as well, or with another file of the directory.
///
/// The order of `traces` decides, so the same scenario gives the same names.
pub fn kept_names(traces: &[(String, String)]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for (link, trace) in traces {
        let name = plain_name(link, trace);
        let (stem, ending) = parts(&name);
        let numbered = (2_u64..).map(|number| shortened(stem, &format!("-{number}{ending}")));
        let mut all = [shortened(stem, ending)].into_iter().chain(numbered);
        let free = all.find(|name| taken.insert(name.to_lowercase()));
        names.push(free.unwrap_or(name));
    }
    names
}

/// The name without a number. A trace that was already kept keeps its name.
fn plain_name(link: &str, trace: &str) -> String {
    let bare = Path::new(trace).file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!("{link}-");
    let name = if bare.starts_with(&prefix) { bare.into_owned() } else { prefix + &bare };
    if is_reserved(&name) { name + ".trace" } else { name }
}

/// Stem and extension; a long extension counts as part of the stem.
fn parts(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= 16 => name.split_at(dot),
        _ => (name, ""),
    }
}

fn shortened(stem: &str, rest: &str) -> String {
    let mut end = stem.len().min(LONGEST - rest.len());
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{rest}", &stem[..end])
}

/// Whether another file of a run directory may have the name. Every trace's name has a `-`, so only
/// the source of a controller in Python can.
fn is_reserved(name: &str) -> bool {
    let name = name.to_lowercase();
    name.starts_with("controller-") && name.ends_with(".py")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(traces: &[(&str, &str)]) -> Vec<String> {
        let owned: Vec<(String, String)> =
            traces.iter().map(|(link, trace)| (link.to_string(), trace.to_string())).collect();
        kept_names(&owned)
    }

    #[test]
    fn a_name_says_link_and_file_once() {
        assert_eq!(
            names(&[("up", "../x/a.trace"), ("b", "b-a.trace")]),
            ["up-a.trace", "b-a.trace"]
        );
    }

    #[test]
    fn names_that_meet_are_told_apart() {
        let met = [("a", "b-x.trace"), ("a-b", "x.trace"), ("A", "B-X.trace")];
        assert_eq!(names(&met), ["a-b-x.trace", "a-b-x-2.trace", "A-B-X-3.trace"]);
        assert_eq!(
            names(&[("a", "x-2"), ("a-x", "2"), ("a", "x-2-2")]),
            ["a-x-2", "a-x-2-2", "a-x-2-2-2"]
        );
    }

    #[test]
    fn the_files_of_a_run_directory_are_not_overwritten() {
        assert_eq!(names(&[("controller", "mine.py")]), ["controller-mine.py.trace"]);
        assert_eq!(names(&[("controller", "mine.trace")]), ["controller-mine.trace"]);
    }

    #[test]
    fn names_are_no_longer_than_a_file_system_takes() {
        let long = format!("{}.trace", "é".repeat(126));
        let found = names(&[("link", &long), ("link", &long)]);
        assert!(found.iter().all(|name| name.len() <= LONGEST), "{found:?}");
        assert_ne!(found[0], found[1]);
        assert!(found[1].ends_with("-2.trace"));
    }

    #[test]
    fn kept_names_are_kept() {
        let first = names(&[("a", "b-x.trace"), ("a-b", "x.trace")]);
        let again = [("a", first[0].as_str()), ("a-b", first[1].as_str())];
        assert_eq!(names(&again), first);
        let source = [("controller", "controller-mine.py.trace")];
        assert_eq!(names(&source), ["controller-mine.py.trace"]);
    }
}
