//! Sources over the kernel's TCP.

use sojourn_live::IpVersion;
use sojourn_sim::RunSummary;

use crate::common::{assert_conserved, judged, one_flow};

/// Files, one after the other, take at least their bytes at the link's rate, and a handshake.
#[test]
fn files_are_transferred_and_counted() {
    let files = "source = { kind = \"files\", size = \"250kB\", count = 3, think = \"100ms\" }";
    let text = one_flow(3, "cubic", "rate = \"20Mbit\"", files);
    let is_done = |summary: &RunSummary| {
        let flow = &summary.flows[0];
        flow.completed_transfers == 3 && flow.completion_s.is_some_and(|time| time < 2.5)
    };
    let Some(report) = judged(&text, IpVersion::V4, is_done) else { return };
    let completion = report.outcome.summary.flows[0].completion_s;
    assert!(completion.is_none_or(|time| time >= 0.5), "{completion:?}");
    assert_conserved(&report);
}

/// A source with pauses writes at its rate, and the simulated ping beside it measures the path.
#[test]
fn a_paced_source_writes_at_its_rate() {
    let source = "source = { kind = \"on-off\", rate = \"5Mbit\", on = \"10s\", off = \"1s\" }\n\
        [flow.ping]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"none\"\nsource = \"ping\"\n";
    let text = one_flow(2, "cubic", "rate = \"20Mbit\"", source);
    let report = judged(&text, IpVersion::V4, |summary| {
        let [paced, ping] = &summary.flows[..] else { panic!("there are two flows") };
        let is_near = |rtt: Option<f64>| rtt.is_some_and(|rtt| rtt < 0.025);
        paced.goodput_bps > 4.5e6 && is_near(ping.rtt_p50_s) && is_near(paced.rtt_p50_s)
    });
    let Some(report) = report else { return };
    let [paced, ping] = &report.outcome.summary.flows[..] else { panic!("there are two flows") };
    assert!(paced.goodput_bps <= 5.1e6, "{}", paced.goodput_bps);
    assert!(ping.rtt_min_s.is_some_and(|rtt| rtt >= 0.020), "{:?}", ping.rtt_min_s);
    assert!(paced.rtt_min_s.is_some_and(|rtt| rtt >= 0.020), "{:?}", paced.rtt_min_s);
}
