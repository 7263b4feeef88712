//! Compiles the programs in `bpf` to `crates/kernel/objects`: `bpf/compile`.

use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use libbpf_rs::Linker;

/// The compiler. Other versions may write other instructions.
pub(crate) const COMPILER: &str = "clang-19";

/// Compiles all programs to `folder`.
///
/// # Errors
/// If the compiler is missing or refuses a program.
pub(crate) fn build(folder: &Path) -> Result<Vec<PathBuf>> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf").canonicalize()?;
    let mut objects = Vec::new();
    for entry in fs::read_dir(&sources)? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if let Some(controller) = name.strip_suffix(".bpf.c") {
            let object = folder.join(format!("{controller}.bpf.o"));
            compile(&sources, &name, &object)?;
            objects.push(object);
        }
    }
    Ok(objects)
}

/// Compiles a program. The linker removes DWARF, which is most of the object.
fn compile(sources: &Path, name: &str, object: &Path) -> Result<()> {
    let whole = object.with_extension("whole");
    let status = Command::new(COMPILER)
        .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"])
        .args(["-target", "bpf", "-mcpu=v3", "-c", name, "-o"])
        .arg(&whole)
        // The object does not depend on the folder.
        .arg(format!("-ffile-prefix-map={}=bpf", sources.display()))
        .current_dir(sources)
        .status()?;
    if !status.success() {
        return Err(Error::other(format!("{COMPILER} refuses {name}")));
    }
    let link = || {
        let mut linker = Linker::new(object)?;
        linker.add_file(&whole)?;
        linker.link()
    };
    link().map_err(Error::other)?;
    fs::remove_file(whole)
}

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("objects");
    for object in build(&folder)? {
        println!("{}: {} bytes", object.display(), fs::metadata(&object)?.len());
    }
    Ok(())
}
