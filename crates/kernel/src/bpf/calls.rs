//! The calls of a controller that the running kernel makes.

use std::ffi::OsStr;

use libbpf_rs::OpenMapMut;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Ptr, Struct};

/// The kernel's table of a controller's functions.
const TABLE: &str = "tcp_congestion_ops";
/// Linux 7.1 has the first call for an event that it reported by the second one (commit
/// d1e59a469737). Programs with both use the second one for that event only.
const INSTEAD: (&str, &str) = ("cwnd_event_tx_start", "cwnd_event");

/// A function in an object's table.
#[derive(Clone, Debug, PartialEq)]
struct Function {
    name: String,
    /// Its place in bytes.
    at: usize,
}

/// Clears the functions in a controller's table that the kernel does not call. libbpf then leaves
/// their programs out; otherwise it would refuse a function that the kernel lacks.
pub(super) fn clear_uncalled(table: &mut OpenMapMut<'_>, object: &Btf<'_>, kernel: &Btf<'_>) {
    let Some(value) = table.initial_value_mut() else { return };
    let mut set = functions(object);
    set.retain(|one| word(value, one.at).is_some_and(|word| *word != [0; 8]));
    for one in uncalled(&set, &functions(kernel)) {
        if let Some(word) = word(value, one.at) {
            *word = [0; 8];
        }
    }
}

/// The functions of an object that a kernel with these functions does not call.
fn uncalled<'a>(set: &'a [Function], kernel: &[Function]) -> Vec<&'a Function> {
    let has = |all: &[Function], name: &str| all.iter().any(|one| one.name == name);
    let has_both = has(set, INSTEAD.0) && has(kernel, INSTEAD.0);
    let is_uncalled =
        |one: &&Function| !has(kernel, &one.name) || (has_both && one.name == INSTEAD.1);
    set.iter().filter(is_uncalled).collect()
}

/// The pointers in the table of these types.
fn functions(types: &Btf<'_>) -> Vec<Function> {
    let Some(table) = types.type_by_name::<Struct<'_>>(TABLE) else { return Vec::new() };
    let mut found = Vec::new();
    for place in 0..table.len() {
        let Some(member) = table.get(place) else { continue };
        let (Some(name), MemberAttr::Normal { offset }) =
            (member.name.and_then(OsStr::to_str), member.attr)
        else {
            continue;
        };
        if types.type_by_id::<Ptr<'_>>(member.ty).is_some() {
            found.push(Function { name: name.to_owned(), at: offset as usize / 8 });
        }
    }
    found
}

fn word(value: &mut [u8], at: usize) -> Option<&mut [u8; 8]> {
    value.get_mut(at..at + 8)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{names, object};

    const OLD: [&str; 4] = ["ssthresh", "cwnd_event", "cong_control", "undo_cwnd"];
    const NEW: [&str; 5] =
        ["ssthresh", "cwnd_event", "cwnd_event_tx_start", "cong_control", "undo_cwnd"];

    fn set(names: &[&str]) -> Vec<Function> {
        let function =
            |(place, name): (usize, &&str)| Function { name: (*name).to_owned(), at: 8 * place };
        names.iter().enumerate().map(function).collect()
    }

    #[test]
    fn one_of_both_calls_after_an_idle_time_is_left_out() {
        let (old, new) = (set(&OLD), set(&NEW));
        assert_eq!(
            uncalled(&new, &old),
            [&Function { name: "cwnd_event_tx_start".into(), at: 16 }]
        );
        assert_eq!(uncalled(&new, &new), [&Function { name: "cwnd_event".into(), at: 8 }]);
    }

    #[test]
    fn a_controller_without_the_new_call_keeps_all() {
        let (old, new) = (set(&OLD), set(&NEW));
        assert!(uncalled(&old, &old).is_empty());
        assert!(uncalled(&old, &new).is_empty());
    }

    #[test]
    fn the_objects_declare_both_calls() {
        for name in names() {
            let types = Btf::from_raw(name, object(name).expect("an object")).expect("types");
            let types = types.expect("the object has types");
            let declared = functions(&types);
            let place = |name| declared.iter().find(|one| one.name == name).map(|one| one.at);
            assert!(place("cwnd_event").is_some() && place("ssthresh") == Some(0), "{declared:?}");
            assert_eq!(place("cwnd_event_tx_start"), Some(32), "{declared:?}");
            assert_eq!(place("name"), None);
        }
    }
}
