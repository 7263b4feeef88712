//! BBR v3 after a fall of the capacity before a deep buffer, with the draft's filter of the bandwidth and
//! with the repaired one.

use crate::common::{flow, link, run_exact};
use sojourn_sim::RunSummary;

/// BBR v3 with this filter over a link whose rate has these steps, at a round trip of 40 ms.
fn over(seconds: u32, filter: &str, rate: &str, buffer: &str) -> RunSummary {
    let tables = format!(
        r#"
record = {{ interval = "0s" }}
[link.out]
rate = {rate}
delay = "20ms"
buffer = "{buffer}"
[link.back]
delay = "20ms"
[flow.f]
control = {{ kind = "bbr3", max_bw_filter = "{filter}" }}
path = ["out"]
back = ["back"]
"#
    );
    run_exact(&format!("{seconds}s"), &tables)
}

/// A fall from 100 to 10 Mbit/s before an unlimited buffer. The code of Google's Linux v3 (google/bbr,
/// net/ipv4/tcp_bbr.c), driven by the same acknowledgements, keeps an estimate of 96.5 Mbit/s for a minute:
/// the queue grows by 90 Mbit/s less the ProbeRTTs, to 20 s and more. With the repaired filter the
/// estimate falls within two cycles: the window of twice the old bandwidth-delay product, 1 MB, takes 0.8 s
/// at the new rate.
#[test]
fn the_drafts_filter_locks_before_a_deep_buffer_and_the_repaired_one_does_not() {
    let fall = r#"{ start = "100Mbit", steps = [{ at = "20s", rate = "10Mbit" }] }"#;
    for (filter, locks) in [("draft", true), ("repaired", false)] {
        let summary = over(80, filter, fall, "unlimited");
        let longest = flow(&summary, "f").rtt_max_s.expect("it has samples");
        let ends = summary.spikes[0].recovery_s;
        assert_eq!(
            (ends.is_none(), longest > 20.0),
            (locks, locks),
            "{filter}: {longest} s, {ends:?}"
        );
        assert!(locks || longest < 1.0, "{filter}: {longest} s");
        // Some 37,000 packets wait at the end, of 1.2 ms each.
        let waits = link(&summary, "out").queue_delay_max_s.expect("it has a queue");
        assert_eq!(waits > 40.0, locks, "{filter}: {waits} s");
    }
}

/// The packets that wait at the end of a run count for the greatest wait: 300 kB arrive at once at
/// 1 Mbit/s, and the last of 200 packets of 1500 bytes would wait for 199 times 12 ms.
#[test]
fn packets_that_wait_at_the_end_count_for_the_greatest_wait() {
    let tables = r#"
[link.out]
rate = "1Mbit"
buffer = "unlimited"
[flow.f]
control = "none"
path = ["out"]
source = { kind = "on-off", rate = "1Gbit", on = "2.368ms", off = "1s" }
host = { mss = "1480B", header = "20B" }
"#;
    let waits = link(&run_exact("500ms", tables), "out").queue_delay_max_s.expect("it has a queue");
    assert!((2.0..2.4).contains(&waits), "{waits} s");
}

/// The repair hardly costs goodput at a constant rate: each ProbeRTT forgets the greatest samples, which
/// exceed the rate by some tenths of a percent. At a buffer of 0.3 bandwidth-delay products, single losses
/// decide.
#[test]
fn the_repaired_filter_costs_a_percent_at_most_at_a_constant_rate() {
    for buffer in ["400ms", "12ms"] {
        let [draft, repaired] = ["draft", "repaired"]
            .map(|filter| flow(&over(60, filter, "\"50Mbit\"", buffer), "f").goodput_bps);
        assert!(repaired > 0.99 * draft, "{buffer}: {repaired} of {draft} bit/s");
    }
}
