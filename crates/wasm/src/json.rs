//! Results and faults as JSON.

use serde_json::{Value, json};
#[cfg(feature = "simulator")]
use sojourn_scenario::{Document, Errors, Item, Scenario};
use sojourn_trace::Column;

/// A fault without a place.
pub(crate) fn fault(message: &str) -> Value {
    let help = "";
    let item =
        json!({ "line": null, "column": null, "path": "", "message": message, "help": help });
    json!({ "errors": [item], "text": message })
}

/// The faults of a scenario.
#[cfg(feature = "simulator")]
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
#[cfg(feature = "simulator")]
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
