//! This crate's pairs of data and acknowledgement compared with tshark's, packet by packet,
//! on captures of real connections (tests/captures/README.md).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::made::{analysis, samples};
use sojourn_trace::rtt::Method;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures")
}

/// `frame.number` and `tcp.analysis.ack_rtt`, in ns, as tshark printed them.
fn theirs(name: &str) -> BTreeMap<u64, u64> {
    let text = fs::read_to_string(folder().join(name).with_extension("tshark")).unwrap();
    let line = |line: &str| {
        let (frame, seconds) = line.split_once('\t').unwrap();
        let nanos = seconds.replace('.', "").parse().unwrap();
        (frame.parse().unwrap(), nanos)
    };
    text.lines().map(line).collect()
}

fn ours(name: &str) -> BTreeMap<u64, u64> {
    let (rtt, read) = analysis(&fs::read(folder().join(name)).unwrap());
    read.unwrap();
    let halves = rtt.flows().iter().flat_map(|flow| &flow.halves);
    halves.flat_map(|half| samples(half, Method::Acks)).collect()
}

/// Without loss both have the same samples, to the ns.
#[test]
fn without_loss_every_sample_agrees() {
    for (name, least) in [("ipv6.pcapng", 77), ("any-sll2.pcap", 53)] {
        let (ours, theirs) = (ours(name), theirs(name));
        assert_eq!(ours, theirs, "{name}");
        assert!(ours.len() >= least, "{name}: {}", ours.len());
    }
}

/// All differences: tshark also times the last segment that an acknowledgement covers if
/// that segment waited for an earlier lost one. Each of these four acknowledges a
/// retransmission and data sent before it (frames 59 and 181, 59 and 188), and Karn's rule
/// excludes them.
#[test]
fn with_loss_those_behind_a_gap_are_left_out() {
    for (name, behind_a_gap) in
        [("timestamps.pcapng", [94, 182]), ("no-timestamps.pcap", [95, 189])]
    {
        let (ours, mut theirs) = (ours(name), theirs(name));
        for frame in behind_a_gap {
            assert!(theirs.remove(&frame).is_some(), "{name}: {frame}");
        }
        assert_eq!(ours, theirs, "{name}");
        assert!(ours.len() >= 75, "{name}: {}", ours.len());
    }
}

/// The far end's answer takes 2 x 15 ms on the captured path (tests/captures/make.py), plus
/// the time of the forwarding process: both pairings find that delay.
#[test]
fn both_ways_of_pairing_find_the_delay_of_the_path() {
    let (rtt, _) = analysis(&fs::read(folder().join("timestamps.pcapng")).unwrap());
    for flow in rtt.flows() {
        for method in [Method::Timestamps, Method::Acks] {
            let (_, samples) = flow.halves[0].samples(method);
            let histogram = samples.histogram();
            let (least, median) = (histogram.min().unwrap(), histogram.quantile(0.5).unwrap());
            assert!((30_000_000..31_000_000).contains(&least), "{method:?}: {least}");
            assert!((30_000_000..35_000_000).contains(&median), "{method:?}: {median}");
        }
    }
}
