//! Hostile captures give less, never nonsense, and never a panic.

use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;
use sojourn_explain::observation::{Observation, Observer};
use sojourn_explain::path::Path;
use sojourn_explain::path::view::View;
use sojourn_explain::replay;
use sojourn_explain::{Options, explain};
use sojourn_trace::capture::{Endpoint, Sack, Segment, Stamps};

use crate::simulated::{captures, segments_of};

fn seen() -> &'static [(i64, Segment)] {
    static SEEN: OnceLock<Vec<(i64, Segment)>> = OnceLock::new();
    SEEN.get_or_init(|| segments_of(&captures()[0]))
}

/// The distances of controllers if the receiver's SYN has a window scale.
fn distances_with_scale(scale: u8) -> Vec<f64> {
    let (at, data) = seen()[0];
    let syn = Segment {
        from: data.to,
        to: data.from,
        syn: true,
        payload: 0,
        window_scale: Some(scale),
        ..data
    };
    let mut observer = Observer::new();
    observer.segment(at, &syn);
    seen().iter().for_each(|(at, segment)| observer.segment(*at, segment));
    let observation = observer.finish();
    let flow = &observation.flows[0];
    let view = View::of(flow).expect("a view");
    let trials = replay::controllers(flow, &view, Some(10e6), &["cubic", "reno"]);
    trials.iter().map(|one| one.distance).collect()
}

#[test]
fn a_window_scale_beyond_the_greatest_counts_as_the_greatest() {
    let greatest = distances_with_scale(14);
    assert_eq!(greatest.len(), 2);
    assert_eq!(distances_with_scale(255), greatest);
}

/// Explains segments without a twin, and checks that every figure is one that a path can have.
fn check(segments: &[(i64, Segment)], packets: usize) -> Value {
    let mut observer = Observer::new();
    segments.iter().for_each(|(at, segment)| observer.segment(*at, segment));
    let options = Options { twin: false, ..Options::default() };
    let observation = observer.finish();
    check_replays(&observation);
    let found = serde_json::to_value(explain(&observation, &options)).expect("plain values");
    assert_eq!(found["packets"], packets);
    assert_is_plain(&found);
    for piece in found["path"]["capacity"].as_array().expect("a list") {
        let [from, to, low] = ["from_s", "to_s", "low_bps"].map(|key| piece[key].as_f64());
        assert!(from <= to && low >= Some(0.0), "{piece}");
    }
    found
}

/// Every distance of a replay is a number.
fn check_replays(observation: &Observation) {
    let flows: Vec<_> =
        observation.flows.iter().filter_map(|flow| Some((flow, View::of(flow)?))).collect();
    for (flow, view) in &flows {
        let trials = replay::controllers(flow, view, Some(10e6), &["cubic", "bbr3", "vivace"]);
        assert!(trials.iter().all(|one| one.distance.is_finite()), "{trials:?}");
    }
    let views: Vec<View> = flows.iter().map(|one| one.1.clone()).collect();
    let pairs: Vec<_> = flows.iter().map(|one| (one.0, &one.1)).collect();
    let (trials, _) = replay::queues(&pairs, &Path::of(&views), false, &["droptail", "fq_codel"]);
    assert!(trials.iter().all(|one| one.distance.is_finite()), "{trials:?}");
}

/// JSON writes a number that is not finite as null, and no key that is always known may be null.
fn assert_is_plain(found: &Value) {
    for flow in found["flows"].as_array().expect("a list") {
        for key in ["goodput_bps", "base_rtt_s", "start_s", "network_limited_share"] {
            assert!(flow[key].as_f64().is_some_and(|value| value >= 0.0), "{key} of {flow}");
        }
    }
}

/// A segment of two hosts with any numbers.
fn any_segment() -> impl Strategy<Value = (i64, Segment)> {
    let numbers = (any::<i64>(), any::<u32>(), any::<Option<u32>>(), any::<u8>());
    let more = (0..70_000_u32, any::<Option<(u32, u32)>>(), any::<[u32; 4]>(), any::<bool>());
    (numbers, more).prop_map(|((at, seq, ack, flags), (payload, stamps, sack, is_back))| {
        let ends = [1, 2].map(|address| Endpoint { address, port: 80, v6: false });
        let segment = Segment {
            from: ends[usize::from(is_back)],
            to: ends[usize::from(!is_back)],
            seq,
            ack,
            syn: flags & 2 != 0,
            fin: flags & 1 != 0,
            rst: flags & 4 != 0,
            flags,
            ae: flags & 1 != 0,
            window: Some(flags.into()),
            payload,
            stamps: stamps.map(|(value, echo)| Stamps { value, echo }),
            sack: Sack::of([(sack[0], sack[1]), (sack[2], sack[3])]),
            id: None,
            size: payload.saturating_add(52),
            ecn: flags & 3,
            mss: None,
            window_scale: Some(flags),
        };
        (at, segment)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_part_of_a_capture_is_explained(from in 0.0..1.0_f64, share in 0.0..1.0_f64) {
        let all = seen();
        let begin = (from * all.len() as f64) as usize;
        let end = begin + (share * (all.len() - begin) as f64) as usize;
        let found = check(&all[begin..end], end - begin);
        // A part shows the same capacity, or none.
        for piece in found["path"]["capacity"].as_array().expect("a list") {
            let rate = piece["rate_bps"].as_f64();
            prop_assert!(rate.is_none_or(|rate| (rate / 10e6 - 1.0).abs() < 0.1), "{piece}");
        }
    }

    #[test]
    fn lost_doubled_and_reordered_packets_change_no_capacity_to_nonsense(
        every in 2..60_usize, doubled in 2..60_usize, swapped in 2..60_usize,
    ) {
        let mut all: Vec<(i64, Segment)> = Vec::new();
        for (k, one) in seen().iter().enumerate() {
            if k % every != 0 {
                all.push(*one);
            }
            if k % doubled == 0 {
                all.push(*one);
            }
            if k % swapped == 0 && all.len() > 1 {
                let last = all.len() - 1;
                all.swap(last, last - 1);
            }
        }
        let found = check(&all, all.len());
        for piece in found["path"]["capacity"].as_array().expect("a list") {
            prop_assert!(piece["low_bps"].as_f64() < Some(50e6), "{piece}");
        }
    }

    #[test]
    fn any_segments_are_observed(segments in prop::collection::vec(any_segment(), 0..300)) {
        check(&segments, segments.len());
    }
}
