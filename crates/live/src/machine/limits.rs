//! The memory, open files and threads that this process may still use.

use std::fs;

use sojourn_units::Bytes;

/// Room that is left; the maximum where it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Memory, without swapping.
    pub(crate) memory: Bytes,
    /// Open files.
    pub(crate) files: u64,
    /// Threads of the machine.
    pub(crate) threads: u64,
}

/// The room that is left now (proc(5)).
pub(crate) fn left() -> Left {
    let text = |file: &str| fs::read_to_string(format!("/proc/{file}")).unwrap_or_default();
    let (limits, status) = (text("self/limits"), text("self/status"));
    let kilobytes = |text: &str, name: &str| number(text, name).map(|kb| kb.saturating_mul(1024));
    let used = |name| kilobytes(&status, name).unwrap_or(0);
    let below = |limit: &str, used| number(&limits, limit).map(|most| most.saturating_sub(used));
    let memory = [
        kilobytes(&text("meminfo"), "MemAvailable:"),
        below("Max address space", used("VmSize:")),
        below("Max data size", used("VmData:")),
    ];
    let open = fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
    let running = text("loadavg").split(['/', ' ']).nth(4).and_then(|count| count.parse().ok());
    let most = ["pid_max", "threads-max"];
    let most =
        most.iter().filter_map(|name| text(&format!("sys/kernel/{name}")).trim().parse().ok());
    Left {
        memory: memory.into_iter().flatten().min().map_or(Bytes::MAX, Bytes),
        files: below("Max open files", open).unwrap_or(u64::MAX),
        threads: most.min().map_or(u64::MAX, |most: u64| most.saturating_sub(running.unwrap_or(0))),
    }
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
    fn a_running_process_has_room_within_the_machine() {
        let left = left();
        assert!(left.memory > Bytes::ZERO && left.memory < Bytes::MAX, "{left:?}");
        assert!(left.files > 0 && left.threads > 0 && left.threads < u64::MAX, "{left:?}");
    }
}
