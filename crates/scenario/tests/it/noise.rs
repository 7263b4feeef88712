//! Answer times of hosts.

use serde_json::Value;
use sojourn_transport::{Choice as _, Noise};
use sojourn_units::Duration;

/// The measurement of live runs, which has the values in microseconds.
const MEASURED: &str = include_str!("../../../../studies/live/result.json");

#[test]
fn answer_times_are_those_that_were_measured() {
    let tables: Value = serde_json::from_str(MEASURED).expect("a result");
    let rows = tables["answers"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let noise = Noise::named(row["noise"].as_str().expect("a name")).expect("it ships");
        let times = noise.times().expect("it takes time");
        assert_eq!(durations(times.prompt), measured(&row["prompt_us"], 1e3), "{noise:?}");
        let (between, lengths) = times.stalls.unzip();
        let gap = row["between_stalls_ms"].as_f64().map(|ms| Duration((ms * 1e6) as u64));
        assert_eq!(between, gap, "{noise:?}");
        assert_eq!(durations(lengths.unwrap_or(&[])), measured(&row["stall_us"], 1e3), "{noise:?}");
    }
}

fn durations(table: &[(f64, Duration)]) -> Vec<Duration> {
    table.iter().map(|(_, time)| *time).collect()
}

fn measured(values: &Value, unit: f64) -> Vec<Duration> {
    let values = values.as_array().into_iter().flatten().filter_map(Value::as_f64);
    values.map(|value| Duration((value * unit).round() as u64)).collect()
}
