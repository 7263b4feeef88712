//! Sources over the kernel's TCP.

use sojourn_live::IpVersion;

use crate::common::{assert_conserved, is_punctual, live, one_flow};

/// Files, one after the other, take at least their bytes at the link's rate, and a handshake.
#[test]
fn files_are_transferred_and_counted() {
    let files = "source = { kind = \"files\", size = \"250kB\", count = 3, think = \"100ms\" }";
    let text = one_flow(3, "cubic", "rate = \"20Mbit\"", files);
    let Some(report) = live(&text, IpVersion::V4) else { return };
    let flow = &report.outcome.summary.flows[0];
    assert_eq!(flow.completed_transfers, 3);
    let completion = flow.completion_s.expect("all files were delivered");
    assert!((0.5..2.5).contains(&completion), "{completion}");
    assert_conserved(&report);
}

/// A source with pauses writes at its rate, and the simulated ping beside it measures the path.
#[test]
fn a_paced_source_writes_at_its_rate() {
    let source = "source = { kind = \"on-off\", rate = \"5Mbit\", on = \"10s\", off = \"1s\" }\n\
        [flow.ping]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"none\"\nsource = \"ping\"\n";
    let text = one_flow(2, "cubic", "rate = \"20Mbit\"", source);
    let Some(report) = live(&text, IpVersion::V4) else { return };
    if !is_punctual(&report) {
        return;
    }
    let [paced, ping] = &report.outcome.summary.flows[..] else { panic!("there are two flows") };
    assert!((4.5e6..5.1e6).contains(&paced.goodput_bps), "{}", paced.goodput_bps);
    let rtt = ping.rtt_p50_s.expect("pings were answered");
    assert!((0.020..0.025).contains(&rtt), "{rtt}");
    let rtt = paced.rtt_p50_s.expect("data were acknowledged");
    assert!((0.020..0.025).contains(&rtt), "{rtt}");
}
