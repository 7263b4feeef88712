//! Replays of the feedback to controllers, and of the packets to queues.

use sojourn_explain::observation::{Flow, Observation, Observer};
use sojourn_explain::path::Path;
use sojourn_explain::path::view::View;
use sojourn_explain::replay;
use sojourn_explain::twin::synthesis::{QUEUES, Ranked, candidates};
use sojourn_trace::capture::Segment;

use crate::simulated::{captures_of, observe, segments_of};

/// Two flows through a bottleneck of 10 Mbit/s with a queue.
fn scenario(queue: &str, controls: [&str; 2]) -> String {
    let flow = |name: &str, control: &str, start: &str| {
        format!(
            "[flow.{name}]\npath = [\"up\"]\nback = [\"down\"]\nsource = \"bulk\"\n\
             control = \"{control}\"\nstart = \"{start}\"\n"
        )
    };
    format!(
        "title = \"two uploads\"\nduration = \"15s\"\nstart_jitter = \"0s\"\n\
         [link.up]\nrate = \"10Mbit\"\ndelay = \"10ms\"\n{queue}\n[link.down]\ndelay = \"10ms\"\n{}{}",
        flow("first", controls[0], "0s"),
        flow("second", controls[1], "2s")
    )
}

fn views(observation: &Observation) -> Vec<(&Flow, View)> {
    let each = observation.flows.iter();
    each.filter_map(|flow| Some((flow, View::of(flow)?))).collect()
}

#[test]
fn each_of_two_controllers_is_named_at_both_ends_by_a_deviation_near_zero() {
    let buffer = "buffer = \"60kB\"";
    for controls in [["cubic", "reno"], ["vegas", "bbr"], ["lola", "copa"]] {
        for capture in captures_of(&scenario(buffer, controls)) {
            let observation = observe(&capture);
            for ((flow, view), truth) in views(&observation).iter().zip(controls) {
                let names: Vec<&'static str> = candidates(view.ecn, None).collect();
                let trials = replay::controllers(flow, view, Some(10e6), &names);
                assert_eq!(trials[0].name, truth, "{trials:?}");
                // BBR begins its cycle of gains at a random phase, and a capture at the receiver has
                // times of departure in milliseconds.
                let most = if truth == "bbr" { 0.2 } else { 0.05 };
                assert!(trials[0].distance < most, "{truth}: {}", trials[0].distance);
            }
        }
    }
}

#[test]
fn a_controller_that_is_not_among_the_candidates_is_not_explained() {
    for truth in ["vegas", "bbr", "lola", "copa"] {
        let [sender, _] = captures_of(&scenario("buffer = \"60kB\"", [truth, "cubic"]));
        let observation = observe(&sender);
        let (flow, view) = &views(&observation)[0];
        let is_explained = |names: &[&'static str]| {
            let trials = replay::controllers(flow, view, Some(10e6), names);
            Ranked::of_replay(&trials).is_explained
        };
        let all: Vec<&'static str> = candidates(view.ecn, None).collect();
        let others: Vec<&'static str> = all.iter().copied().filter(|name| *name != truth).collect();
        assert!(is_explained(&all), "{truth}");
        assert!(!is_explained(&others), "{truth}");
    }
}

#[test]
fn a_flow_whose_beginning_was_not_captured_has_no_replay() {
    for capture in captures_of(&scenario("buffer = \"60kB\"", ["cubic", "reno"])) {
        let replays = |from_s: f64| {
            let segments = segments_of(&capture);
            let first = segments[0].0;
            let mut observer = Observer::new();
            for (at, segment) in &segments {
                if (at - first) as f64 * 1e-9 >= from_s {
                    observer.segment(*at, segment);
                }
            }
            let observation = observer.finish();
            let (flow, view) = &views(&observation)[0];
            replay::controllers(flow, view, Some(10e6), &["cubic", "reno"]).len()
        };
        assert_eq!(replays(0.0), 2);
        assert_eq!(replays(1.5), 0);
    }
}

#[test]
fn four_marks_of_one_acknowledgement_count() {
    let [sender, _] = captures_of(&scenario("buffer = \"60kB\"", ["cubic", "reno"]));
    let segments = segments_of(&sender);
    let from = segments[0].1.from;
    let mut observer = Observer::new();
    let mut acks: u8 = 0;
    for (at, segment) in &segments {
        let is_ack = segment.to == from && segment.payload == 0 && acks < 100;
        acks += u8::from(is_ack);
        // The counter begins at 5, and every tenth acknowledgement adds four.
        let ace = 5_u8.wrapping_add(4 * (acks / 10)) & 7;
        let flags = segment.flags & 63 | ace << 6;
        let own = Segment { flags, ae: ace & 4 != 0, ..*segment };
        observer.segment(*at, if segment.to == from { &own } else { segment });
    }
    let observation = observer.finish();
    let half = &observation.flows[0].half;
    assert!(half.counts_marks());
    assert_eq!(half.marks.pushed(), 10);
    let steps = half.log.answers().windows(2).map(|pair| pair[1].ecn.wrapping_sub(pair[0].ecn) & 7);
    assert_eq!(steps.map(u64::from).sum::<u64>(), 40);
}

#[test]
fn the_queue_is_named_by_the_packets_that_it_refused_and_delayed() {
    for (queue, truth) in [
        ("buffer = \"60kB\"", "droptail"),
        ("queue = \"head_drop\"\nbuffer = \"60kB\"", "head_drop"),
        ("queue = \"codel\"", "codel"),
        ("queue = \"pie\"", "pie"),
    ] {
        for capture in captures_of(&scenario(queue, ["cubic", "reno"])) {
            let observation = observe(&capture);
            let flows = views(&observation);
            let own: Vec<View> = flows.iter().map(|one| one.1.clone()).collect();
            let pairs: Vec<(&Flow, &View)> = flows.iter().map(|one| (one.0, &one.1)).collect();
            let (trials, buffer) = replay::queues(&pairs, &Path::of(&own), false, &QUEUES);
            assert_eq!(trials[0].name, truth, "{trials:?}");
            if truth == "droptail" {
                // A lost packet shows the size within its own, and half of one is assumed.
                let error = buffer.map(|bytes| (bytes - 60e3).abs());
                assert!(error.is_some_and(|error| error <= 1500.0), "{buffer:?}");
            }
        }
    }
}

#[test]
fn a_flow_that_never_met_an_empty_queue_has_its_base_from_the_flow_beside() {
    let toml = scenario("buffer = \"60kB\"", ["cubic", "cubic"]);
    for capture in captures_of(&toml) {
        let observation = observe(&capture);
        let own: Vec<View> = views(&observation).into_iter().map(|one| one.1).collect();
        let path = Path::of(&own);
        for base in &path.bases {
            assert!((base.rtt - 20e-3).abs() < 1e-3, "{base:?}");
        }
        assert!(path.bases[0].is_sure);
    }
}
