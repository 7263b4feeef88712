//! Replays every seed and some mutations of it, without the fuzzing library.
//!
//! `cargo test -p sojourn-fuzz --test seeds -- FILE ...` replays only these files; a file's
//! directory names its target. A seed that aborts ends its process, so that each target's seeds run
//! in a separate process, whose last line names the seed.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use sojourn_fuzz::{TARGETS, Target};

/// Environment variable that marks the replaying process.
const REPLAY: &str = "SOJOURN_FUZZ_REPLAY";
/// Number of mutations of each seed.
const MUTATIONS: u32 = 2;

fn main() -> ExitCode {
    let given: Vec<PathBuf> = env::args().skip(1).filter_map(|name| found(&name)).collect();
    if env::var_os(REPLAY).is_some() {
        given.iter().for_each(|file| replay(file));
        return ExitCode::SUCCESS;
    }
    let failed = match given.is_empty() {
        true => TARGETS.iter().filter(|(name, _)| !passes(&seeds(name))).count(),
        false => usize::from(!passes(&given)),
    };
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A file relative to the current directory, or to the root of the repository, since Cargo runs
/// tests in another directory.
fn found(name: &str) -> Option<PathBuf> {
    let from_root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    [PathBuf::from(name), from_root].into_iter().find(|path| path.is_file())
}

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let entries = fs::read_dir(&folder).expect("each target has a folder of seeds");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has seeds", folder.display());
    files
}

/// Replays in another process; prints the seed that ended it.
fn passes(files: &[PathBuf]) -> bool {
    let mut replay = Command::new(env::current_exe().expect("this program"));
    let mut replay =
        replay.args(files).env(REPLAY, "1").stdout(Stdio::piped()).spawn().expect("starts");
    let names = BufReader::new(replay.stdout.take().expect("it is piped")).lines();
    let last = names.map_while(Result::ok).last();
    let status = replay.wait().expect("it ends");
    if !status.success() {
        eprintln!("{} ended the replay: {status}", last.unwrap_or_default());
    }
    status.success()
}

fn replay(file: &Path) {
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
    let target = TARGETS.iter().find(|(name, _)| folder == *name);
    let (name, target) = target.expect("the folder of a seed names its target");
    let data = fs::read(file).expect("it can be read");
    run(*target, &data, &file.display().to_string());
    for seed in 0..MUTATIONS {
        let mutated = mutated(name, &data, seed);
        run(*target, &mutated, &format!("mutation {seed} of {}", file.display()));
    }
}

fn run(target: Target, data: &[u8], name: &str) {
    // Flushed at once: an abort would lose buffered output.
    writeln!(stdout(), "{name}").and_then(|()| stdout().flush()).expect("it is piped");
    target(data);
}

fn mutated(target: &str, data: &[u8], seed: u32) -> Vec<u8> {
    match target {
        "scenario" => sojourn_fuzz::mutate_scenario(data, seed),
        "json" => sojourn_fuzz::mutate_json(data, seed),
        "set" => sojourn_fuzz::mutate_set(data, seed),
        "capacity" => sojourn_fuzz::mutate_capacity(data, seed),
        "udp" => sojourn_fuzz::mutate_udp(data, seed),
        "http3" => sojourn_fuzz::mutate_http3(data, seed),
        "qlog" => sojourn_fuzz::mutate_qlog(data, seed).unwrap_or_default(),
        _ => sojourn_fuzz::mutate_capture(data, seed).unwrap_or_default(),
    }
}
