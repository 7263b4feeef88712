//! Root of a user namespace has every capability, but only inside (user_namespaces(7)).

use std::env;
use std::process::Command;

use sojourn_kernel::{Error, registered, unload};

/// Set in the process inside the namespace.
const INSIDE: &str = "SOJOURN_KERNEL_INSIDE";
const UNSHARE: [&str; 3] = ["unshare", "--user", "--map-root-user"];

/// A list without controllers would hide the loaded ones.
#[test]
fn root_of_a_user_namespace_is_refused() {
    if env::var_os(INSIDE).is_some() {
        assert!(matches!(registered(), Err(Error::NotRoot)));
        assert!(matches!(unload("lola", false), Err(Error::NotRoot)));
        return;
    }
    let inside = |program: &str| {
        let mut command = Command::new(UNSHARE[0]);
        command.args(&UNSHARE[1..]).arg(program);
        command
    };
    if !inside("true").status().is_ok_and(|status| status.success()) {
        return println!("left out: not allowed here: {}", UNSHARE.join(" "));
    }
    let program = env::current_exe().expect("the program has a path");
    let test = ["--exact", "privilege::root_of_a_user_namespace_is_refused"];
    let mut again = inside(program.to_str().expect("it is UTF-8"));
    let status = again.args(test).env(INSIDE, "1").status().expect("the program starts");
    assert!(status.success());
}
