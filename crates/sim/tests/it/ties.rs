//! Simultaneous events run in an order that depends only on their kinds, not on the other packets
//! of a link's wire.

use crate::common::{flow, run};

/// Two sources at the rate of the second link, one of them through a first link without delay: each
/// of its packets reaches the second link at the same time as a packet leaves there. The buffer
/// holds one packet, so that the order of the two events decides which flow's packet is dropped.
fn received(wire: &str) -> [u64; 2] {
    let summary = run(&format!(
        r#"
        duration = "2s"
        [link.two]
        rate = "12Mbit"
        delay = "{wire}"
        buffer = "1packets"
        [link.one]
        rate = "12Mbit"
        [flow.over]
        control = "none"
        path = ["one", "two"]
        source = {{ kind = "on-off", rate = "11.584Mbit", on = "1s", off = "0s" }}
        [flow.direct]
        control = "none"
        path = ["two"]
        start = "1500us"
        source = {{ kind = "on-off", rate = "3Mbit", on = "1s", off = "0s" }}
        "#
    ));
    ["over", "direct"].map(|name| flow(&summary, name).dropped_packets)
}

#[test]
fn a_tie_does_not_depend_on_the_wire() {
    let empty = received("0s");
    assert!(empty.iter().sum::<u64>() > 100, "{empty:?}");
    assert_eq!(empty, received("100us"));
    assert_eq!(empty, received("10ms"));
}
