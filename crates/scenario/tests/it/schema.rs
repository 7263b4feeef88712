//! The JSON Schema lists every part, and its units are the parser's.

use serde_json::Value;
use sojourn_scenario::{Document, json_schema};
use sojourn_units::params::Key;

/// The tables among the variants of a property.
fn variants(property: &Value) -> impl Iterator<Item = &Value> {
    let all = property["anyOf"].as_array().expect("it has variants").iter();
    all.filter(|variant| variant["type"] == "object")
}

fn assert_lists(property: &Value, name: &str, params: &[Key], more: usize) {
    let is_named = |v: &&Value| {
        let kind = &v["properties"]["kind"];
        kind["const"] == name || kind["enum"][0] == name
    };
    let variant = variants(property).find(is_named);
    let variant = variant.unwrap_or_else(|| panic!("the schema does not list {name}"));
    for param in params {
        let listed = &variant["properties"][param.name];
        let description = listed["description"].as_str().unwrap_or_default();
        assert!(description.starts_with(param.doc), "{name}.{}: {listed}", param.name);
    }
    let listed = variant["properties"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!(listed, params.len() + 1 + more, "{name} has its parameters and its kind");
    assert_eq!(variant["additionalProperties"], false);
    let names = property["anyOf"][0]["enum"].as_array().expect("names come first");
    let alone = !params.iter().any(Key::is_required);
    assert_eq!(names.iter().any(|n| n == name), alone, "{name} may stand alone: {alone}");
}

#[test]
fn it_lists_every_controller_and_queue() {
    let schema = json_schema();
    let control = &schema["properties"]["flow"]["additionalProperties"]["properties"]["control"];
    let listed = &schema["properties"]["controls"]["items"];
    for algorithm in sojourn_cc::all() {
        assert_lists(control, algorithm.info.name, algorithm.info.params, 0);
        assert_lists(listed, algorithm.info.name, algorithm.info.params, 0);
    }
    let link = &schema["properties"]["link"]["additionalProperties"]["properties"];
    assert_eq!(link["queue"]["$ref"], "#/$defs/queue");
    let queue = &schema["$defs"]["queue"];
    for info in sojourn_queue::infos() {
        assert_lists(queue, info.name, info.params, info.inner.len());
        let variant = variants(queue).find(|v| v["title"] == info.name).expect("it is listed");
        for inner in info.inner {
            let listed = &variant["properties"][inner.name];
            assert_eq!(listed["$ref"], "#/$defs/queue", "{}.{}", info.name, inner.name);
            assert_eq!(listed["default"], inner.default);
        }
    }
}

#[test]
fn it_says_what_is_required_and_what_is_default() {
    let schema = json_schema();
    assert_eq!(schema["required"], serde_json::json!(["duration"]));
    assert_eq!(schema["properties"]["seed"]["default"], 1);
    assert_eq!(schema["properties"]["record"]["properties"]["interval"]["default"], "10ms");
    let flow = &schema["properties"]["flow"]["additionalProperties"]["properties"];
    assert_eq!(flow["source"]["default"], "bulk");
    let request = variants(&flow["source"]).find(|v| v["title"] == "request").expect("it is there");
    assert_eq!(request["required"], serde_json::json!(["request", "kind"]));
    let exclusive = [["response", "sizes"], ["think", "interval"]];
    for (i, keys) in exclusive.iter().enumerate() {
        assert_eq!(request["not"]["anyOf"][i]["required"], serde_json::json!(keys));
    }
}

/// The unit names in a pattern such as `^NUMBER\s*(s|ms)$|^0$`.
fn units(schema: &Value, name: &str) -> Vec<String> {
    let pattern = schema["$defs"][name]["anyOf"][0]["pattern"].as_str().expect("it has a pattern");
    let names = pattern.split("\\s*(").nth(1).and_then(|rest| rest.split(')').next());
    names.expect("units stand last").split('|').map(str::to_owned).collect()
}

#[test]
fn its_units_are_those_of_the_parser() {
    let schema = json_schema();
    for (name, key) in [("duration", "delay"), ("rate", "rate"), ("bytes", "overhead")] {
        for unit in units(&schema, name) {
            let text = format!(
                "duration = \"1s\"\ncontrols = [\"reno\"]\n[link.a]\njitter = \"1ms\"\n\
                 {key} = \"1.5{unit}\"\n[flow.f]\npath = [\"a\"]\n"
            );
            let scenario = Document::from_toml("unit.toml", &text).and_then(|document| {
                document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()))
            });
            // A range may refuse the value, but not its unit.
            let messages = scenario.err().map_or(String::new(), |errors| errors.to_string());
            assert!(messages.is_empty() || messages.contains("must be"), "{messages}");
        }
    }
}
