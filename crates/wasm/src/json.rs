//! Results and faults as JSON.

use serde_json::{Value, json};
use sojourn_scenario::{Document, Errors, Item, Scenario};
use sojourn_theory::unavoidable::{Point, Unavoidable};
use sojourn_trace::Column;

/// A fault without a place.
pub(crate) fn fault(message: &str) -> Value {
    let help = "";
    let item =
        json!({ "line": null, "column": null, "path": "", "message": message, "help": help });
    json!({ "errors": [item], "text": message })
}

/// The faults of a scenario.
pub(crate) fn faults(errors: &Errors) -> Value {
    let one = |item: &Item| {
        json!({
            "line": item.position.map(|position| position.line),
            "column": item.position.map(|position| position.column),
            "path": item.path,
            "message": item.message,
            "help": item.help,
        })
    };
    let items: Vec<Value> = errors.items().iter().map(one).collect();
    json!({ "errors": items, "text": errors.to_string() })
}

/// A checked scenario.
pub(crate) fn scenario(document: &Document, scenario: &Scenario) -> Value {
    json!({
        "title": scenario.title,
        "duration_s": scenario.duration.as_secs_f64(),
        "seed": scenario.seed,
        "controls": scenario.labels(),
        "memory_bytes": sojourn_sim::estimate(scenario).0,
        "document": document.to_json(),
        "toml": document.to_toml(),
    })
}

/// The head of a selected column.
pub(crate) fn column(name: &str, column: &Column) -> Value {
    match column {
        Column::Text(text) => {
            json!({ "name": name, "length": text.len(), "values": text.values() })
        }
        column => json!({ "name": name, "length": column.len() }),
    }
}

/// The unavoidable delay, for a sender that also drains its queue.
pub(crate) fn unavoidable(found: &Unavoidable) -> Value {
    let draining = &found.here.draining;
    let point = |one: &Point| json!([one.end_s, one.capacity_bps, one.matching_s, one.draining_s]);
    json!({
        "mean_rate_bps": found.mean_rate_bps,
        "p50_s": draining.p50_s,
        "p99_s": draining.p99_s,
        "max_s": draining.max_s,
        "series": found.series.iter().map(point).collect::<Vec<_>>(),
    })
}
