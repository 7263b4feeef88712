//! After `kill -9` of a live run, its namespaces are gone.
//!
//! The test enters a user namespace that allows two network namespaces, starts a run in another
//! process, kills it, and waits until two can be created again. It has its own `main`, since only a
//! process with one thread may enter a user namespace.

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};
    use std::{env, fs, thread};

    use sojourn_live::{Namespace, Options};
    use sojourn_scenario::Document;

    /// Orphaned TCP sockets would hold a namespace for 118 s. The kernel removes namespaces by a
    /// thread of normal priority, which takes seconds on a busy machine (1 s on an idle one).
    const PATIENCE: Duration = Duration::from_secs(60);
    const ROLE: &str = "SOJOURN_LIVE_KILLED";
    const SCENARIO: &str = "duration = \"20s\"\n[link.there]\nrate = \"50Mbit\"\ndelay = \"20ms\"\n\
        [link.back]\ndelay = \"20ms\"\n[flow.bulk]\npath = [\"there\"]\nback = [\"back\"]\n\
        control = \"cubic\"\ncount = 8\n";

    pub(crate) fn main() {
        if env::var_os(ROLE).is_some() {
            return victim();
        }
        if let Err(reason) = limit() {
            println!("not run here: {reason}");
            return;
        }
        if let Some(waited) = kill() {
            println!("namespaces gone {waited:?} after the kill");
            assert!(waited < PATIENCE);
        }
    }

    /// Enters a user namespace with room for two network namespaces.
    fn limit() -> Result<(), String> {
        sojourn_live::enter_user_namespace().map_err(|error| error.to_string())?;
        fs::write("/proc/sys/user/max_net_namespaces", "2").map_err(|error| error.to_string())
    }

    /// Kills a run; returns the time until its namespaces were gone.
    fn kill() -> Option<Duration> {
        let program = env::current_exe().expect("the program has a path");
        let mut victim = Command::new(program)
            .env(ROLE, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let begins = begins(&mut victim);
        if begins {
            wait_for_run(&mut victim);
            thread::sleep(Duration::from_millis(1500));
            assert!(Namespace::new().is_err(), "the run has two namespaces");
        }
        victim.kill().expect("it runs");
        victim.wait().expect("it was started");
        begins.then(wait_for_two)
    }

    /// Waits until the run holds both namespaces.
    fn wait_for_run(victim: &mut Child) {
        let files = format!("/proc/{}/fd", victim.id());
        let is_namespace = |entry: &fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().starts_with("net:"))
        };
        let held =
            || fs::read_dir(&files).map_or(0, |all| all.flatten().filter(is_namespace).count());
        while held() < 2 {
            assert!(victim.try_wait().expect("it was started").is_none(), "the run ended early");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether the run begins, as its first line says.
    fn begins(victim: &mut Child) -> bool {
        let mut line = String::new();
        let output = victim.stdout.take().expect("it is piped");
        let _ = BufReader::new(output).read_line(&mut line);
        if line != "begins\n" {
            println!("{}", line.trim_end());
        }
        line == "begins\n"
    }

    /// Time until two namespaces can be created, or a little over [`PATIENCE`].
    #[expect(clippy::disallowed_methods, reason = "the kernel removes namespaces in real time")]
    fn wait_for_two() -> Duration {
        let start = Instant::now();
        let mut namespaces = Vec::new();
        while namespaces.len() < 2 && start.elapsed() < PATIENCE {
            match Namespace::new() {
                Ok(namespace) => namespaces.push(namespace),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
        start.elapsed()
    }

    fn victim() {
        let document = Document::from_toml("killed.toml", SCENARIO).expect("it is TOML");
        let scenario =
            document.resolve(&|_| Err(std::io::Error::other("no files"))).expect("it is sound");
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                println!("begins");
            });
            if let Err(error) = sojourn_live::run(&scenario, None, 1, &Options::default(), &stop) {
                println!("not run here: {error}");
            }
        });
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
