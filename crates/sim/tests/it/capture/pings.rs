//! Pings in a capture.

use super::captured;
use super::reading::{Seen, packets, sum, u16_be};
use crate::common::{flow, scenario};

/// Requests every 100 ms for a second: one of ten is lost, and two of the nine replies.
const LOSSY: &str = r#"
duration = "1500ms"
start_jitter = "0s"
noise = "none"
[link.out]
delay = "30ms"
loss = { every = 10 }
[link.back]
delay = "20ms"
loss = { every = 4 }
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = { kind = "ping", interval = "100ms" }
stop = "999ms"
"#;

/// Type and sequence number of the messages that pass a host in one direction.
fn messages(all: &[Seen], inbound: bool) -> Vec<(u8, u16)> {
    let of = all.iter().filter(|packet| packet.inbound == inbound);
    of.map(|packet| (packet.bytes[20], u16_be(&packet.bytes, 26))).collect()
}

#[test]
fn both_hosts_see_requests_and_replies() {
    let (outcome, files) = captured(&scenario(LOSSY));
    let ping = flow(&outcome.summary, "ping");
    let [sender, receiver] = files.map(|file| packets(&file));
    let all = |kind, numbers: &[u16]| numbers.iter().map(|n| (kind, *n)).collect::<Vec<_>>();
    let (request, reply) = (8, 0);
    assert_eq!(messages(&sender, false), all(request, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]));
    assert_eq!(messages(&receiver, true), all(request, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(messages(&receiver, false), all(reply, &[1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert_eq!(messages(&sender, true), all(reply, &[1, 2, 3, 5, 6, 7, 9]));
    assert_eq!((ping.sent_packets, ping.completed_transfers, ping.dropped_packets), (10, 7, 3));
    // Lost pings do not lengthen the round trips of the others.
    assert_eq!((ping.rtt_min_s, ping.rtt_max_s), (Some(0.050), Some(0.050)));
    for packet in sender.iter().chain(&receiver) {
        assert_eq!((packet.wire_size, packet.bytes[9]), (84, 1), "IP with ICMP in it");
        // RFC 792: the checksum covers the message alone; its 56 zero bytes add zero to the sum.
        assert_eq!((sum(&[&packet.bytes[..20]]), sum(&[&packet.bytes[20..]])), (0xFFFF, 0xFFFF));
    }
}
