//! The kernel's TCP over one bottleneck.

use sojourn_live::IpVersion;
use sojourn_sim::RunSummary;

use crate::common::{assert_conserved, judged, live, one_flow};

/// CUBIC over drop-tail with a buffer of one bandwidth-delay product, in both versions of IP. The
/// share of the payload in each packet is 1448/1500, and slow start takes a part of the 3 s.
#[test]
fn cubic_fills_a_link() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let text = one_flow(3, "cubic", "rate = \"100Mbit\"\nbuffer = \"20ms\"", "");
        let report = judged(&text, version, |summary| {
            let (flow, link) = (&summary.flows[0], &summary.links[0]);
            let is_full = link.queue_delay_max_s.is_some_and(|longest| longest >= 0.015);
            let is_lossy = link.dropped_packets > 0 && flow.retransmitted_packets > 0;
            flow.goodput_bps >= 85e6 && is_full && is_lossy
        });
        let Some(report) = report else { return };
        let summary = &report.outcome.summary;
        let (flow, link) = (&summary.flows[0], &summary.links[0]);
        assert!(flow.goodput_bps <= 96.6e6, "{version:?}: {}", flow.goodput_bps);
        let longest = link.queue_delay_max_s.expect("packets have waited");
        assert!(longest <= 0.0201, "{version:?}: {longest}");
        assert_eq!(link.dropped_packets, flow.dropped_packets);
        assert!(report.timing.lateness.count() >= report.accounts.delivered);
        assert_conserved(&report);
    }
}

/// CoDel marks the packets of a flow with ECN instead of dropping them.
#[test]
fn codel_marks_a_flow_with_ecn() {
    let link = "rate = \"50Mbit\"\nqueue = { kind = \"codel\", ecn = true }";
    let text = one_flow(3, "cubic", link, "");
    let is_marked = |summary: &RunSummary| summary.links[0].marked_packets > 0;
    let Some(report) = judged(&text, IpVersion::V4, is_marked) else { return };
    let summary = &report.outcome.summary;
    let (flow, link) = (&summary.flows[0], &summary.links[0]);
    assert_eq!(link.dropped_packets, 0, "{link:?}");
    let arrived = flow.marked_packets;
    assert!(arrived <= link.marked_packets && link.marked_packets - arrived < 50);
    assert_conserved(&report);
}

/// The kernel's BBR does not react to marks, and Sojourn's has no ECN: CoDel drops its packets.
#[test]
fn codel_does_not_mark_a_flow_without_ecn() {
    let link = "rate = \"50Mbit\"\nqueue = { kind = \"codel\", ecn = true }";
    let Some(report) = live(&one_flow(2, "bbr", link, ""), IpVersion::V4) else { return };
    let summary = &report.outcome.summary;
    assert_eq!(summary.links[0].marked_packets, 0, "{:?}", summary.links);
    assert_eq!(summary.flows[0].marked_packets, 0, "{:?}", summary.flows);
    assert_conserved(&report);
}

/// At 1 Gbit/s no packet is lost that the queue did not drop.
#[test]
fn no_packet_is_lost_at_one_gigabit() {
    let text = one_flow(2, "cubic", "rate = \"1Gbit\"\nbuffer = \"20ms\"", "");
    let Some(report) = live(&text, IpVersion::V4) else { return };
    assert!(report.outcome.summary.flows[0].goodput_bps <= 966e6);
    assert_conserved(&report);
}

/// A step of the rate takes effect at its time.
#[test]
fn a_step_of_the_rate_causes_a_spike() {
    let rate = "rate = { start = \"40Mbit\", steps = [{ at = \"1s\", rate = \"20Mbit\" }] }\nbuffer = \"80ms\"";
    let is_used =
        |summary: &RunSummary| summary.links[0].utilisation.is_some_and(|used| used > 0.8);
    let report = judged(&one_flow(2, "cubic", rate, ""), IpVersion::V4, is_used);
    let Some(report) = report else { return };
    let summary = &report.outcome.summary;
    assert_eq!(summary.spikes.len(), 1);
    assert_eq!((summary.spikes[0].from_bps, summary.spikes[0].to_bps), (40e6, 20e6));
    let capacity = summary.links[0].capacity_bps.expect("the link has a rate");
    assert!((capacity - 30e6).abs() < 1e3, "{capacity}");
}
