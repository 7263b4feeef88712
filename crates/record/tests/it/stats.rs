//! Statistics over repeated runs.

use proptest::prelude::*;
use serde_json::{Value, json};
use sojourn_record::{Spread, interval_ranks, medians};

/// Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2: 95 % intervals of the median
/// for any distribution.
#[test]
fn the_median_has_the_tables_interval() {
    let table = [
        (5, None),
        (6, Some((1, 6))),
        (9, Some((2, 8))),
        (20, Some((6, 15))),
        (30, Some((10, 21))),
    ];
    for (n, ranks) in table {
        assert_eq!(interval_ranks(n), ranks, "{n}");
    }
}

fn run(control: &str, spikes: &[f64]) -> Value {
    let spike = |s: &f64| json!({ "link": "a", "from_bps": 2.0, "to_bps": 1.0, "spike_s": s });
    json!({
        "control": control,
        "flows": [{ "name": "f", "control": control, "goodput_bps": spikes.len(), "closed": "why" }],
        "links": [{ "name": "a", "utilisation": null }],
        "spikes": spikes.iter().map(spike).collect::<Vec<_>>(),
    })
}

/// The nth change of a link is the same in all runs; one that moved past the end is missing in that run
/// alone. Unknown figures stay null, and words are those of the first run.
#[test]
fn each_item_is_merged_with_its_own_kind() {
    let found = medians(&[run("b", &[1.0, 5.0]), run("a", &[9.0]), run("b", &[3.0])]);
    let [b, a] = &found[..] else { panic!("two controllers: {found:?}") };
    assert_eq!((&b["control"], &b["runs"], &b["distinct"]), (&json!("b"), &json!(2), &json!(2)));
    let medians: Vec<&Value> =
        (0..2).map(|place| &b["spikes"][place]["spike_s"]["median"]).collect();
    assert_eq!(medians, [&json!(2.0), &json!(5.0)]);
    assert_eq!(b["spikes"][1]["spike_s"]["n"], json!(1));
    assert_eq!(b["links"][0]["utilisation"], Value::Null);
    assert_eq!(b["flows"][0]["closed"], json!("why"));
    assert_eq!(a["runs"], json!(1));
}

proptest! {
    #[test]
    fn a_spread_is_ordered(values in prop::collection::vec(-1e9_f64..1e9, 1..60)) {
        let of = serde_json::to_value(Spread::of(&values).expect("some values")).expect("plain numbers");
        let [p5, median, p95] = ["p5", "median", "p95"].map(|key| of[key].as_f64().expect("known"));
        prop_assert!(p5 <= median && median <= p95);
        if let Some(low) = of["low"].as_f64() {
            prop_assert!(low <= median && median <= of["high"].as_f64().expect("both ends"));
        }
    }
}
