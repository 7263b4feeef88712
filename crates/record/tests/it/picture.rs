//! The picture of a verdict.

use serde_json::{Value, json};
use sojourn_record::{Judgement, LinkUnavoidable, PARTS, PartKind, Summary, VerdictPicture};

fn judged(runs: &Value, traces: &Value) -> Judgement {
    let summary: Summary = serde_json::from_value(json!({ "runs": runs })).expect("a summary");
    let traces: Vec<LinkUnavoidable> = serde_json::from_value(traces.clone()).expect("traces");
    Judgement::of(&summary, &traces)
}

fn drawn(runs: &Value) -> VerdictPicture {
    judged(runs, &json!([])).picture.expect("a picture")
}

/// A fall from 60 to 20 Mbit/s with a loop delay of 50 ms, and a spike at the bound.
fn fall(control: &str, figures: &Value) -> Value {
    let mut spike = json!({
        "link": "neck", "at_s": 30.0, "from_bps": 60e6, "to_bps": 20e6, "spike_s": 0.1,
        "bound_s": 0.1, "excess_s": 0.0, "recovery_s": 0.9, "queue_delay_before_s": 0.0,
        "carried_loop_bps": 60e6, "offered_loop_bps": 60e6, "loop_s": 0.05,
    });
    for (key, value) in figures.as_object().expect("figures") {
        spike[key] = value.clone();
    }
    json!({ "control": control, "flows": [], "links": [], "spikes": [spike] })
}

fn late() -> Value {
    // A queue of 10 ms at 60 Mbit/s waits 30 ms at 20 Mbit/s.
    json!({ "spike_s": 0.256, "excess_s": 0.156, "queue_delay_before_s": 0.01 })
}

fn parts(picture: &VerdictPicture, row: usize) -> Vec<(PartKind, i64)> {
    let ms = |seconds: f64| (1e3 * seconds).round() as i64;
    picture.rows[row].parts.iter().map(|one| (one.part, ms(one.delay_s))).collect()
}

#[test]
fn the_excess_is_split_by_cause_above_the_unavoidable_delay() {
    let picture = drawn(&json!([fall("cubic", &json!({})), fall("bbr", &late())]));
    assert_eq!(picture.title, "Peak queueing delay after neck fell from 60 to 20 Mbit/s");
    let all = [(PartKind::Unavoidable, 100), (PartKind::Queue, 30), (PartKind::Late, 126)];
    assert_eq!(parts(&picture, 0), all);
    assert_eq!(picture.rows[0].text, "256 ms, 900 ms to recover");
    assert_eq!(parts(&picture, 1), [(PartKind::Unavoidable, 100)]);
    assert_eq!(picture.rows[1].text, "100 ms, met the bound");
    assert!((picture.scale_s - 0.256).abs() < 1e-12);
}

/// A reader looks from the sentence to the picture.
#[test]
fn rows_are_in_the_order_of_the_sentence() {
    let dropped = json!({ "spike_s": 0.05, "excess_s": -0.05, "dropped_to_peak_packets": 90 });
    let more = json!({ "spike_s": 0.2, "excess_s": 0.1 });
    let runs =
        [fall("ideal", &json!({})), fall("a", &dropped), fall("b", &more), fall("c", &late())];
    let found = judged(&json!(runs), &json!([]));
    let picture = found.picture.expect("a picture");
    let names: Vec<&str> = picture.rows.iter().map(|row| row.control.as_str()).collect();
    assert_eq!(names, ["c", "b", "ideal", "a"]);
    let places: Vec<_> = names
        .iter()
        .map(|name| found.sentences[0].find(&format!("; {name} ")).expect("a clause"))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(picture.rows[3].text, "50 ms, its queue dropped packets");
}

#[test]
fn of_several_falls_the_worst_is_drawn() {
    let mut run = fall("cubic", &json!({}));
    let mut worse = run["spikes"][0].clone();
    (worse["at_s"], worse["spike_s"], worse["excess_s"]) = (json!(40.0), json!(0.3), json!(0.2));
    run["spikes"].as_array_mut().expect("a list").push(worse);
    let title = drawn(&json!([run])).title;
    assert_eq!(
        title,
        "Peak queueing delay after neck fell from 60 to 20 Mbit/s at 40 s, the worst of 2 falls"
    );
}

/// A summary of another program may lack the figures of the causes.
#[test]
fn an_unknown_cause_is_avoidable() {
    let unknown = json!({ "spike_s": 0.2, "excess_s": 0.1, "loop_s": null, "recovery_s": null });
    let picture = drawn(&json!([fall("x", &unknown)]));
    assert_eq!(parts(&picture, 0), [(PartKind::Unavoidable, 100), (PartKind::Avoidable, 100)]);
    assert_eq!(picture.rows[0].text, "200 ms, did not recover");
}

#[test]
fn without_a_fall_the_wait_of_users_is_drawn() {
    let ping =
        json!([{ "name": "ping", "control": "none", "rtt_p50_s": 0.21, "base_rtt_s": 0.02 }]);
    let picture = drawn(&json!([{ "control": "cubic", "flows": ping, "links": [] }]));
    assert_eq!(picture.title, "Median round trip of ping");
    assert_eq!(parts(&picture, 0), [(PartKind::Unavoidable, 20), (PartKind::Queue, 190)]);
    let links = json!([{ "name": "down", "queue_delay_p50_s": 0.05 }]);
    let picture = drawn(&json!([{ "control": "cubic", "flows": [], "links": links }]));
    assert_eq!(parts(&picture, 0), [(PartKind::Queue, 50)]);
    // The bar of a wait that no user notices is short.
    let links = json!([{ "name": "down", "queue_delay_p50_s": 0.002 }]);
    let small = drawn(&json!([{ "control": "cubic", "flows": [], "links": links }]));
    assert!((small.scale_s - 0.01).abs() < 1e-12);
    let idle = json!([{ "control": "cubic", "flows": [], "links": [] }]);
    assert!(judged(&idle, &json!([])).picture.is_none());
}

#[test]
fn on_a_link_with_a_trace_the_percentiles_are_drawn() {
    let own = json!({ "control": "cubic", "queue_delay_p99_s": 0.4, "avoidable_share": 0.25 });
    let trace = json!([{ "link": "cell", "queue_delay_p99_s": 0.3, "controllers": [own] }]);
    let picture = judged(&json!([fall("cubic", &late())]), &trace).picture.expect("a picture");
    assert_eq!(parts(&picture, 0), [(PartKind::Unavoidable, 300), (PartKind::Avoidable, 100)]);
    assert_eq!(picture.rows[0].text, "400 ms, 25 % avoidable");
}

#[test]
fn many_controllers_are_left_to_the_table() {
    let runs: Vec<Value> = (0..14).map(|place| fall(&format!("c{place}"), &late())).collect();
    let picture = drawn(&json!(runs));
    assert_eq!(picture.rows.len(), 12);
    assert!(picture.caption.ends_with("2 more controllers are in the table."), "{picture:?}");
}

#[test]
fn every_part_has_a_look_and_a_block_of_its_own() {
    let [mut names, mut blocks] = [Vec::new(), Vec::new()];
    for part in PARTS {
        names.push(serde_json::to_string(&part.name).expect("a name"));
        blocks.push(part.block.to_string());
    }
    for all in [&mut names, &mut blocks] {
        all.sort();
        all.dedup();
        assert_eq!(all.len(), PARTS.len());
    }
}
