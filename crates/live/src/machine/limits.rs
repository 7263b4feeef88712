//! The memory, open files and threads that this process may still use.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::getuid;
use sojourn_units::Bytes;

/// The place of the cgroups of version 2 (cgroups(7)).
const CGROUPS: &str = "/sys/fs/cgroup";

/// Room that is left; the maximum where it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Memory, without swapping.
    pub(crate) memory: Bytes,
    /// Open files.
    pub(crate) files: u64,
    /// Threads: of the machine, the user and the cgroups.
    pub(crate) threads: u64,
    /// Whether the process may lock its memory.
    pub(crate) may_lock: bool,
}

/// The room that is left now (proc(5)).
pub(crate) fn left() -> Left {
    let text = |file: &str| fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let (limits, status) = (text("self/limits"), text("self/status"));
    let kilobytes = |text: &str, name: &str| number(text, name).map(|kb| kb.saturating_mul(1024));
    let used = |name| kilobytes(&status, name).unwrap_or(0);
    let below = |limit: &str, used| number(&limits, limit).map(|most| most.saturating_sub(used));
    let groups = groups(Path::new(CGROUPS), &text("self/cgroup"));
    let memory = [
        kilobytes(&text("meminfo"), "MemAvailable:"),
        groups.iter().filter_map(|group| memory_of(group)).min(),
        below("Max address space", used("VmSize:")),
        below("Max data size", used("VmData:")),
    ];
    let open = fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
    let running = text("loadavg").split(['/', ' ']).nth(4).and_then(|count| count.parse().ok());
    let most = ["pid_max", "threads-max"];
    let most =
        most.iter().filter_map(|name| text(&format!("sys/kernel/{name}")).trim().parse().ok());
    let threads = [
        most.min().map(|most: u64| most.saturating_sub(running.unwrap_or(0))),
        groups.iter().filter_map(|group| threads_of(group)).min(),
        number(&limits, "Max processes").and_then(threads_of_user),
    ];
    Left {
        memory: memory.into_iter().flatten().min().map_or(Bytes::MAX, Bytes),
        files: below("Max open files", open).unwrap_or(u64::MAX),
        threads: threads.into_iter().flatten().min().unwrap_or(u64::MAX),
        may_lock: may_lock(&limits, &status),
    }
}

/// Whether a process may lock all its memory, by its `/proc/PID/limits` and `/proc/PID/status`: with
/// `CAP_IPC_LOCK`, or if its memory is below the limit (mlock(2)).
fn may_lock(limits: &str, status: &str) -> bool {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = capabilities.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    let most = number(limits, "Max locked memory").unwrap_or(u64::MAX);
    let used = number(status, "VmSize:").unwrap_or(0).saturating_mul(1024);
    capabilities.unwrap_or(0) & CAP_IPC_LOCK != 0 || used <= most
}

/// The cgroups of a process, each within the next, by its `/proc/PID/cgroup`.
fn groups(root: &Path, own: &str) -> Vec<PathBuf> {
    let Some(own) = own.lines().find_map(|line| line.strip_prefix("0::/")) else {
        return Vec::new();
    };
    let own = root.join(own);
    own.ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

fn text_of(group: &Path, file: &str) -> String {
    fs::read_to_string(group.join(file)).unwrap_or_default()
}

fn number_of(group: &Path, file: &str) -> Option<u64> {
    text_of(group, file).trim().parse().ok()
}

/// The memory that a cgroup leaves. The kernel drops pages of files that were not used lately first, so
/// that they are free.
fn memory_of(group: &Path) -> Option<u64> {
    let most = number_of(group, "memory.max")?;
    let used = number_of(group, "memory.current")?;
    let cached = number(&text_of(group, "memory.stat"), "inactive_file ").unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(cached)))
}

/// The threads that a cgroup leaves.
fn threads_of(group: &Path) -> Option<u64> {
    Some(number_of(group, "pids.max")?.saturating_sub(number_of(group, "pids.current")?))
}

/// The threads that `RLIMIT_NPROC` leaves to this process's user; it does not hold for root
/// (getrlimit(2)).
fn threads_of_user(most: u64) -> Option<u64> {
    let user = getuid();
    if user.is_root() {
        return None;
    }
    let threads = |process: fs::DirEntry| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let is_own = number(&status, "Uid:") == Some(u64::from(user.as_raw()));
        is_own.then(|| number(&status, "Threads:")).flatten()
    };
    let running: u64 = fs::read_dir("/proc").ok()?.flatten().filter_map(threads).sum();
    Some(most.saturating_sub(running))
}

/// The first number behind a name at the start of a line; `None` for `unlimited`.
fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_name() {
        let text = "Max open files            1024                 4096                 files\n\
                    Max address space         unlimited            unlimited            bytes\n";
        assert_eq!(number(text, "Max open files"), Some(1024));
        assert_eq!(number(text, "Max address space"), None);
        assert_eq!(number(text, "Max processes"), None);
    }

    #[test]
    fn memory_is_locked_by_privilege_or_within_the_limit() {
        let status = |capabilities| format!("VmSize:\t  9000 kB\nCapEff:\t{capabilities}\n");
        let limits = |most| format!("Max locked memory         {most}     {most}     bytes\n");
        let (all, none) = (status("000001ffffffffff"), status("0000000000000000"));
        assert!(may_lock(&limits("8388608"), &all));
        assert!(!may_lock(&limits("8388608"), &none));
        assert!(may_lock(&limits("9216000"), &none));
        assert!(may_lock(&limits("unlimited"), &none));
    }

    #[test]
    fn a_cgroup_and_those_around_it_leave_room() {
        let root = std::env::temp_dir().join(format!("cgroups-{}", std::process::id()));
        let own = root.join("outer/inner");
        fs::create_dir_all(&own).expect("a new directory");
        let write = |group: &Path, files: &[(&str, &str)]| {
            files.iter().for_each(|(file, text)| fs::write(group.join(file), text).expect("room"));
        };
        write(&own, &[("memory.max", "max\n"), ("memory.current", "500\n")]);
        write(&own, &[("pids.max", "40\n"), ("pids.current", "15\n")]);
        let outer = root.join("outer");
        write(&outer, &[("memory.max", "1000\n"), ("memory.current", "900\n")]);
        write(&outer, &[("memory.stat", "anon 200\ninactive_file 300\n")]);
        let found = groups(&root, "4:memory:/other\n0::/outer/inner\n");
        assert_eq!(found, [own, outer, root.clone()]);
        let memory: Vec<_> = found.iter().map(|group| memory_of(group)).collect();
        assert_eq!(memory, [None, Some(400), None]);
        let threads: Vec<_> = found.iter().map(|group| threads_of(group)).collect();
        assert_eq!(threads, [Some(25), None, None]);
        assert!(groups(&root, "4:memory:/other\n").is_empty());
        fs::remove_dir_all(&root).expect("it is there");
    }

    #[test]
    fn a_running_process_has_room_within_the_machine() {
        let left = left();
        assert!(left.memory > Bytes::ZERO && left.memory < Bytes::MAX, "{left:?}");
        assert!(left.files > 0 && left.threads > 0 && left.threads < u64::MAX, "{left:?}");
    }
}
