//! The controllers as native programs: their headers, and the lines of them that ran; their programs
//! for the kernel, with the calls of Linux.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, io, thread};

use crate::record::Trace;

/// A native program, in a folder of its own.
pub(crate) struct Native {
    folder: PathBuf,
}

impl Native {
    /// Compiles a controller's header; `None` without a compiler.
    pub(crate) fn new(name: &str) -> Option<Native> {
        let header = sources().join(format!("{name}.h"));
        let header = header.to_str().expect("UTF-8");
        Native::build("native.c", &[&format!("-DCONTROLLER={name}"), "-include", header])
    }

    /// Compiles a program for the kernel with the calls of Linux; `None` without a compiler.
    pub(crate) fn with_stack(program: &str) -> Option<Native> {
        Native::build("stack.c", &[&format!("-DPROGRAM=\"{program}\"")])
    }

    fn build(main: &str, options: &[&str]) -> Option<Native> {
        static BUILT: AtomicU32 = AtomicU32::new(0);
        let number = BUILT.fetch_add(1, Ordering::Relaxed);
        let id = std::process::id();
        let folder = env::temp_dir().join(format!("sojourn-native-{id}-{number}"));
        fs::create_dir(&folder).expect("a folder");
        let native = Native { folder };
        match native.compile(main, &[options, &["--coverage"]].concat()) {
            Ok(true) => {}
            // Clang may lack its library for coverage.
            Ok(false) => assert!(native.compile(main, options).is_ok_and(|is_built| is_built)),
            Err(error) => {
                println!("left out: cc: {error}");
                return None;
            }
        }
        Some(native)
    }

    /// Runs the compiler; returns whether it succeeded.
    fn compile(&self, main: &str, options: &[&str]) -> io::Result<bool> {
        let status = Command::new("cc")
            .args(["-O0", "-o", "program"])
            .args(options)
            .arg(sources().join(main))
            .current_dir(&self.folder)
            .status()?;
        Ok(status.success())
    }

    /// The results of a connection's events. `params` are the controller's words.
    pub(crate) fn run(&self, params: &[u64], trace: &Trace) -> Vec<[u64; 3]> {
        let start = [trace.mss, trace.initial_window];
        let words = params.iter().chain(&start).chain(trace.events.iter().flatten());
        self.results(words)
    }

    /// The output of the program for these words.
    pub(crate) fn results<'a, const N: usize>(
        &self,
        words: impl Iterator<Item = &'a u64>,
    ) -> Vec<[u64; N]> {
        let input: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
        let mut child = Command::new(self.folder.join("program"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let writing = thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().expect("an end");
        writing.join().expect("no panic").expect("written");
        assert!(output.status.success());
        let words = output.stdout.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        words.collect::<Vec<_>>().as_chunks::<N>().0.to_vec()
    }

    /// The lines of the files with this ending that no run has executed; `None` if gcov cannot tell.
    pub(crate) fn unexecuted(&self, ending: &str) -> Option<Vec<String>> {
        let found = self.report().and_then(|report| unexecuted(&report, ending));
        found.inspect_err(|reason| println!("left out: the coverage: {reason}")).ok()
    }

    /// The report of gcov, or the reason without one.
    fn report(&self) -> Result<String, String> {
        let files = fs::read_dir(&self.folder).expect("the folder").flatten();
        // GCC and clang name the file differently.
        let is_count = |path: &PathBuf| path.extension().is_some_and(|name| name == "gcda");
        let counts: Vec<_> = files.map(|file| file.path()).filter(is_count).collect();
        if counts.is_empty() {
            return Err("the programs that `cc` compiles count no lines".into());
        }
        let output = Command::new("gcov")
            .arg("--stdout")
            .args(counts)
            .current_dir(&self.folder)
            .output()
            .map_err(|error| format!("gcov: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf")
}

impl Drop for Native {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The lines `COUNT:LINE:TEXT` of gcov's report on these files of `bpf` with the count `#####`.
fn unexecuted(report: &str, ending: &str) -> Result<Vec<String>, String> {
    let (mut file, mut executed) = (None, 0);
    let mut found = Vec::new();
    for line in report.lines().map(str::trim_start) {
        if let Some((_, path)) = line.split_once(":Source:") {
            file = path
                .rsplit_once("/bpf/")
                .map(|(_, name)| name)
                .filter(|name| name.ends_with(ending));
        } else if let Some(file) = file {
            if line.starts_with("#####") {
                found.push(format!("{file}: {line}"));
            }
            executed += u32::from(line.starts_with(|first: char| first.is_ascii_digit()));
        }
    }
    if executed == 0 && found.is_empty() {
        return Err("gcov reads no line of the programs; is `cc` another compiler than GCC?".into());
    }
    Ok(found)
}
