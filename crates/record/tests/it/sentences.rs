//! The sentence of runs without a change of capacity.

use serde_json::{Value, json};
use sojourn_record::{Summary, sentences};

fn said(runs: &[(&str, Value)]) -> Vec<String> {
    let run = |(control, flows): &(&str, Value)| {
        let links = json!([{ "name": "down", "queue_delay_p50_s": 0.05 }]);
        json!({ "control": control, "flows": flows, "links": links, "spikes": [] })
    };
    let runs: Vec<Value> = runs.iter().map(run).collect();
    let summary: Summary = serde_json::from_value(json!({ "runs": runs })).expect("a summary");
    sentences(&summary)
}

fn ping(rtt: f64) -> Value {
    json!([{ "name": "ping", "control": "none", "rtt_p50_s": rtt, "base_rtt_s": 0.02 }])
}

#[test]
fn a_ping_is_compared_between_controllers() {
    let both = "With cubic the median round trip of ping is 211 ms, with bbr 27.4 ms; 20 ms without a queue.";
    assert_eq!(said(&[("cubic", ping(0.211)), ("bbr", ping(0.0274))]), [both]);
    let alone = "The median round trip of ping is 211 ms; 20 ms without a queue.";
    assert_eq!(said(&[("cubic", ping(0.211))]), [alone]);
    assert!(alone.split(' ').count() <= 25);
}

/// Of several flows, the slowest one counts.
#[test]
fn frames_of_the_slowest_call_are_named() {
    let media = |name: &str, delay: f64| {
        let media = json!({ "frame_delay_p50_s": delay, "least_frame_delay_mean_s": 0.0101 });
        json!({ "name": name, "control": "none", "media": media })
    };
    let flows = json!([media("up", 0.0102), media("down", 0.158)]);
    let expected = "The median frame of down takes 158 ms; 10.1 ms without a queue.";
    assert_eq!(said(&[("cubic", flows)]), [expected]);
}

/// Without a flow that measures a delay of its own, the queue has one.
#[test]
fn the_queue_is_named_otherwise() {
    let flows = json!([{ "name": "upload", "control": "cubic", "rtt_p50_s": 0.07 }]);
    assert_eq!(said(&[("cubic", flows)]), ["The median packet in the queue of down waits 50 ms."]);
}

/// A record of another program may lack every figure.
#[test]
fn unknown_delays_are_not_named() {
    let summary = json!({ "runs": [{ "control": "x", "flows": [{ "name": "up" }], "links": [] }] });
    let summary: Summary = serde_json::from_value(summary).expect("a summary");
    assert!(sentences(&summary).is_empty());
}
