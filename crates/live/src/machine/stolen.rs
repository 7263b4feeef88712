//! Processor time that the hypervisor gave to other machines, which delays threads of any priority.

use std::fs;

use sojourn_units::Duration;

/// Tick of `/proc/stat` (proc(5), USER_HZ: 100 on all architectures of today).
const TICK: Duration = Duration::from_millis(10);
/// Place of the stolen time in the first line, after the word `cpu`.
const STEAL: usize = 8;

/// Processor time stolen since the machine's start, of all its processors.
pub(crate) fn stolen() -> Duration {
    fs::read_to_string("/proc/stat").map_or(Duration::ZERO, |text| parse(&text))
}

fn parse(text: &str) -> Duration {
    let ticks = text.split_whitespace().nth(STEAL).and_then(|ticks| ticks.parse().ok());
    TICK * ticks.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_time_is_the_eighth_column() {
        let text = "cpu  4075063 2105944 383348 1234352 9424 0 2841 139818 0 0\ncpu0 1 2 3\n";
        assert_eq!(parse(text), Duration::from_millis(1_398_180));
        assert_eq!(parse(""), Duration::ZERO);
    }
}
