//! Losses, copies and reordering on the wire.

use sojourn_live::IpVersion;

use crate::common::{assert_conserved, live, one_flow};

#[test]
fn losses_are_counted() {
    let link = "rate = \"50Mbit\"\nloss = { every = 100 }";
    let Some(report) = live(&one_flow(2, "cubic", link, ""), IpVersion::V4) else { return };
    let link = &report.outcome.summary.links[0];
    let sent = link.delivered_packets + link.dropped_packets;
    assert!(link.dropped_packets.abs_diff(sent / 100) <= 20, "{link:?}");
    assert_conserved(&report);
}

#[test]
fn copies_and_reordered_packets_are_counted() {
    let link =
        "rate = \"50Mbit\"\nduplicate = 0.02\nreorder = { probability = 0.02, late = \"2ms\" }";
    let Some(report) = live(&one_flow(2, "cubic", link, ""), IpVersion::V6) else { return };
    let link = &report.outcome.summary.links[0];
    assert!(link.duplicated_packets > 0 && link.reordered_packets > 0, "{link:?}");
    assert_conserved(&report);
}
