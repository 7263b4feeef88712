//! Offload bursts, end to end: they add queueing delay and lose no data.

use crate::common::{PACKET_BITS, assert_near, flow, link, run};
use sojourn_sim::RunSummary;

/// Rate of the host's own link.
const LINE: f64 = 10e9;

/// A flow over a fast interface and a bottleneck of `mbit`, with a round trip of 20 ms.
fn upload(mbit: u64, control: &str, transport: &str, source: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "3s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "0s" }}
[link.host]
rate = "10Gbit"
buffer = "unlimited"
[link.bottleneck]
rate = "{mbit}Mbit"
delay = "10ms"
buffer = "unlimited"
[link.back]
delay = "10ms"
[flow.upload]
control = "{control}"
path = ["host", "bottleneck"]
back = ["back"]
source = {source}
host = {{ {transport} }}
"#
    ))
}

const BULK: &str = "\"bulk\"";

/// Queueing delay of a burst of `packets` at a bottleneck of `capacity`: its last packet waits for
/// all earlier ones, less the packets that leave while the burst arrives.
fn burst_delay(packets: f64, capacity: f64) -> f64 {
    (packets - 1.0) * (PACKET_BITS / capacity - PACKET_BITS / LINE)
}

/// `ideal` sends at exactly the capacity, so that each burst meets an empty queue and all queueing
/// delay is the burst's own. A burst is 2^-10 s of the payload's rate (96.5 % of the capacity), in
/// whole packets: 8 of 1448 bytes at 100 Mbit/s and 81 at 1 Gbit/s, of which 64000 bytes hold 44
/// and 16000 bytes hold 11. At 10 Mbit/s it is less than one packet, and then the burst has two.
#[test]
fn the_queue_grows_by_the_burst_less_what_drains_meanwhile() {
    for (mbit, tso, packets) in [
        (10, "64kB", 2.0),
        (100, "16kB", 8.0),
        (100, "64kB", 8.0),
        (1000, "16kB", 11.0),
        (1000, "64kB", 44.0),
        (1000, "0B", 1.0),
    ] {
        let summary = upload(mbit, "ideal", &format!("tso = \"{tso}\""), BULK);
        let bottleneck = link(&summary, "bottleneck");
        let (found, capacity) = (bottleneck.queue_delay_max_s.unwrap(), mbit as f64 * 1e6);
        let what = format!("{tso} at {mbit} Mbit/s");
        // Departures and arrivals end on whole nanoseconds: up to one nanosecond a packet.
        assert_near(found, burst_delay(packets, capacity), packets * 2e-9, &what);
        // The queue is empty again before the next burst, so that the link stays in use.
        assert!(bottleneck.utilisation.unwrap() > 0.985, "{what}: {bottleneck:?}");
    }
}

/// A QUIC batch has ten packets at 10 Mbit/s as at any rate.
#[test]
fn batches_of_quic_do_not_follow_the_rate() {
    let transport = "like = \"quic\", mss = \"1445B\", tso = \"14450B\"";
    for mbit in [10, 100] {
        let summary = upload(mbit, "ideal", transport, BULK);
        let found = link(&summary, "bottleneck").queue_delay_max_s.unwrap();
        assert_near(found, burst_delay(10.0, mbit as f64 * 1e6), 20e-9, "ten packets");
    }
}

/// At 1 Gbit/s a packet arrives every 12 us: five within 50 us of the first, the first included,
/// and one acknowledgement for each such batch. A smaller batch is possible only at the start of
/// the flow or after a pause.
#[test]
fn coalescing_thins_acknowledgements() {
    let packets_per_ack = |gro: &str| {
        let summary = upload(1000, "ideal", &format!("gro = \"{gro}\""), BULK);
        let acks = link(&summary, "back").arrived_packets as f64;
        link(&summary, "bottleneck").delivered_packets as f64 / acks
    };
    assert_near(packets_per_ack("0s"), 2.0, 0.01, "delayed acknowledgements");
    assert_near(packets_per_ack("50us"), 5.0, 0.01, "batches");
}

/// A file arrives whole with each combination of offloads and profiles. The last batch waits only
/// for its hold time.
#[test]
fn a_file_arrives_whole() {
    let file = "{ kind = \"file\", size = \"3000001B\" }";
    for profile in ["rfc", "quic"] {
        for (tso, gro) in [("64kB", "0s"), ("0B", "50us"), ("64kB", "50us")] {
            for control in ["cubic", "bbr", "dctcp"] {
                let transport = format!("like = \"{profile}\", tso = \"{tso}\", gro = \"{gro}\"");
                let summary = upload(100, control, &transport, file);
                let upload = flow(&summary, "upload");
                assert_eq!(upload.completed_transfers, 1, "{transport} {control}: {upload:?}");
                assert_eq!(upload.timeouts, Some(0), "{transport} {control}: {upload:?}");
            }
        }
    }
}
