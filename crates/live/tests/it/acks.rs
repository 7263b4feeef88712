//! The trace of acknowledgements.

use sojourn_live::{IpVersion, Options};

use crate::common::{live_with, one_flow};

/// Each acknowledgement that the links carried to the sender has a row, but for those of the
/// handshake and of the end.
#[test]
fn each_acknowledgement_has_a_row() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let options = Options { version, traces_acks: true, ..Options::default() };
        let text = one_flow(2, "cubic", "rate = \"20Mbit\"\nbuffer = \"40kB\"", "");
        let Some(report) = live_with(&text, &options) else { return };
        let acks = report.acks.expect("they were traced");
        let back = &report.outcome.summary.links[1];
        println!("{} rows, {} packets on the way back", acks.count(), back.delivered_packets);
        assert_eq!(acks.missed, 0);
        assert!(acks.count() > 100 && acks.count() <= back.delivered_packets);
        assert!(back.delivered_packets - acks.count() <= 3);
    }
}
