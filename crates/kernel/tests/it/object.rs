//! The committed objects are the build of the sources.

#[cfg(feature = "libbpf")]
#[allow(dead_code)]
#[path = "../../examples/objects.rs"]
mod objects;

#[cfg(feature = "libbpf")]
#[test]
fn the_objects_are_those_of_the_sources() {
    use std::path::Path;
    use std::process::Command;
    use std::{env, fs};

    let compiler = Command::new(objects::COMPILER).arg("--version").output();
    let version = compiler.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if !version.is_ok_and(|version| version.contains(" 19.1.")) {
        return println!("left out: {} is missing", objects::COMPILER);
    }
    let folder = env::temp_dir().join(format!("sojourn-objects-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let built = objects::build(&folder).expect("objects");
    let differing: Vec<_> = built
        .iter()
        .map(|object| object.file_name().expect("a name"))
        .filter(|name| {
            let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("objects").join(name);
            fs::read(folder.join(name)).ok() != fs::read(committed).ok()
        })
        .collect();
    fs::remove_dir_all(&folder).expect("removed");
    assert!(differing.is_empty(), "{differing:?} differ from the sources: run `bpf/compile`");
    // The controllers, and the program at the tracepoint `tcp_probe`.
    assert_eq!(built.len(), sojourn_kernel::names().count() + 1);
}
