//! After `kill -9` of a live run, its namespaces are gone.
//!
//! For Sojourn's links with and without TUN, and for the kernel's, a killer enters a user namespace
//! that allows some network namespaces, starts a run in another process, kills it, and waits until
//! all can be created again. The test has its own `main`, since only a process with one thread may
//! enter a user namespace.

#[cfg(target_os = "linux")]
#[path = "it/hidden_tun.rs"]
mod hidden_tun;
#[cfg(target_os = "linux")]
#[path = "it/left_out.rs"]
mod left_out;

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};
    use std::{env, fs, thread};

    use sojourn_live::{Links, Namespace, Options};
    use sojourn_scenario::Document;

    use crate::hidden_tun::hide_tun;
    use crate::left_out::assert_refusal;

    /// A killed run leaves nothing after this time, if the machine has time for the kernel's thread
    /// that removes namespaces.
    const LIMIT: Duration = Duration::from_secs(2);
    /// The limit on a busy machine, where that thread of normal priority waits for others. Orphaned
    /// TCP sockets would hold a namespace for 118 s.
    const PATIENCE: Duration = Duration::from_secs(60);
    /// Share of the processors' time from which on a machine is idle.
    const IDLE: f64 = 0.5;
    const KILLER: &str = "SOJOURN_LIVE_KILLER";
    const VICTIM: &str = "SOJOURN_LIVE_VICTIM";
    /// A run has two or three, and tries the kernel's modules in another one.
    const ALLOWED: usize = 8;
    const SCENARIO: &str = "duration = \"20s\"\n[link.there]\nrate = \"50Mbit\"\ndelay = \"0ms\"\n\
        [link.back]\ndelay = \"0ms\"\n[flow.bulk]\npath = [\"there\"]\nback = [\"back\"]\n\
        control = \"cubic\"\ncount = 8\n";

    pub(crate) fn main() {
        if let Ok(links) = env::var(VICTIM) {
            return victim(&links);
        }
        if let Ok(links) = env::var(KILLER) {
            return killer(&links);
        }
        for links in ["sojourn", "veth", "tc"] {
            let status = again(KILLER, links).status().expect("the program starts");
            assert!(status.success(), "namespaces of a killed run with links of {links}");
        }
    }

    /// This program in another role.
    fn again(role: &str, links: &str) -> Command {
        let mut command = Command::new(env::current_exe().expect("the program has a path"));
        command.env(role, links);
        command
    }

    fn killer(links: &str) {
        if let Err(reason) = limit() {
            println!("not run here: {reason}");
            return;
        }
        if let Some((waited, idle)) = kill(links, if links == "tc" { 3 } else { 2 }) {
            let limit = if idle < IDLE { PATIENCE } else { LIMIT };
            println!("namespaces of {links} gone {waited:.2?} after the kill, {idle:.2} idle");
            assert!(waited < limit, "limit {limit:?}");
        }
    }

    /// Time of all processors, idle and in total, in ticks.
    struct Processors {
        idle: f64,
        total: f64,
    }

    impl Processors {
        fn read() -> Processors {
            let text = fs::read_to_string("/proc/stat").unwrap_or_default();
            let first = text.lines().next().unwrap_or_default();
            let ticks: Vec<f64> = first.split(' ').filter_map(|one| one.parse().ok()).collect();
            // Idle and waiting for disks, the fourth and the fifth (proc_stat(5)).
            let idle = ticks.iter().skip(3).take(2).sum();
            Processors { idle, total: ticks.iter().take(8).sum() }
        }

        /// The idle share of the time since an earlier reading.
        fn idle_since(&self, before: &Processors) -> f64 {
            (self.idle - before.idle) / (self.total - before.total).max(1.0)
        }
    }

    /// Enters a user namespace with room for [`ALLOWED`] network namespaces.
    fn limit() -> Result<(), String> {
        sojourn_live::enter_user_namespace().map_err(|error| error.to_string())?;
        let allowed = ALLOWED.to_string();
        fs::write("/proc/sys/user/max_net_namespaces", allowed).map_err(|error| error.to_string())
    }

    /// Kills a run that holds `held` namespaces; returns the time until they were gone, and the idle
    /// share of the processors in that time.
    fn kill(links: &str, held: usize) -> Option<(Duration, f64)> {
        let mut victim =
            again(VICTIM, links).stdout(Stdio::piped()).spawn().expect("the program starts");
        let begins = begins(&mut victim);
        if begins {
            wait_for_run(&mut victim, held);
            thread::sleep(Duration::from_millis(1500));
            assert!(creatable().len() <= ALLOWED - held, "the run has {held} namespaces");
        }
        victim.kill().expect("it runs");
        victim.wait().expect("it was started");
        begins.then(wait_for_all)
    }

    /// Waits until the run holds all of its namespaces.
    fn wait_for_run(victim: &mut Child, namespaces: usize) {
        let files = format!("/proc/{}/fd", victim.id());
        let is_namespace = |entry: &fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|link| link.to_string_lossy().starts_with("net:"))
        };
        let held =
            || fs::read_dir(&files).map_or(0, |all| all.flatten().filter(is_namespace).count());
        while held() < namespaces {
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

    /// All namespaces that can be created now.
    fn creatable() -> Vec<Namespace> {
        std::iter::from_fn(|| Namespace::new().ok()).collect()
    }

    /// Time until all namespaces can be created, or a little over [`PATIENCE`], with the idle share
    /// of the processors.
    #[expect(clippy::disallowed_methods, reason = "the kernel removes namespaces in real time")]
    fn wait_for_all() -> (Duration, f64) {
        let (start, before) = (Instant::now(), Processors::read());
        let mut namespaces = Vec::new();
        while namespaces.len() < ALLOWED && start.elapsed() < PATIENCE {
            namespaces.extend(creatable());
            thread::sleep(Duration::from_millis(20));
        }
        (start.elapsed(), Processors::read().idle_since(&before))
    }

    fn victim(links: &str) {
        if links == "veth"
            && let Err(error) = hide_tun()
        {
            return println!("not run here: cannot hide /dev/net/tun: {error}");
        }
        let document = Document::from_toml("killed.toml", SCENARIO).expect("it is TOML");
        let scenario =
            document.resolve(&|_| Err(std::io::Error::other("no files"))).expect("it is sound");
        let links = if links == "tc" { Links::Kernel } else { Links::Sojourn };
        let options = Options { links, ..Options::default() };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(300));
                println!("begins");
            });
            if let Err(error) = sojourn_live::run(&scenario, None, 1, &options, &stop) {
                // The process that kills this one sees a fault as a run that ended early.
                assert_refusal(&error);
                println!("not run here: {error}");
            }
        });
    }
}

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
}
