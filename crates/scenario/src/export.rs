//! The schema as JSON Schema (draft 2020-12), for editors.

use serde_json::{Map, Value, json};
use sojourn_cc::Catalogue;
use sojourn_units::params::{Key, Kind};

use crate::check::LONGEST_NAME;
use crate::group::draw::HELP as DRAW;
use crate::host::HOST;
use crate::known::Known;
use crate::scalar::{self, Unit};
use crate::schema::{DOCUMENT, GROUP, QUEUE, VERSION};
use crate::shape::{self, Either, Form, OneOf, Shape, Variant};
use crate::tree::{self, FromToml};
use crate::write;

/// The JSON Schema of scenario documents (draft 2020-12).
pub fn json_schema() -> Value {
    json_schema_known(&Known::default())
}

/// The same for a scenario that may name the controllers of a catalogue.
pub fn json_schema_with(controllers: &Catalogue) -> Value {
    json_schema_known(&Known::from(controllers))
}

/// The same for a scenario that may name these controllers and stacks.
pub fn json_schema_known(known: &Known) -> Value {
    let mut schema = map(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sojourn scenario",
        "description": format!("A scenario of Sojourn, version {VERSION} of its schema"),
    }));
    schema.extend(map(form(&DOCUMENT, known)));
    // Links and flows may all be in groups.
    schema.insert("required".to_owned(), json!(["duration"]));
    schema.insert("$defs".to_owned(), definitions(known));
    Value::Object(schema)
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn definitions(known: &Known) -> Value {
    let name = format!("^[A-Za-z0-9_-]{{1,{LONGEST_NAME}}}$");
    json!({
        "name": { "type": "string", "pattern": name, "description": "A name of a link or a flow" },
        "duration": quantity(&scalar::TIME),
        "bytes": quantity(&scalar::DATA),
        "rate": quantity(&scalar::RATE),
        "host": host(known),
        "queue": queue(known),
        "group": group(known),
        "buffer": {
            "type": "string",
            "description": format!("A size of a buffer: {}", scalar::BUFFER),
            "pattern": format!(
                "^(unlimited|[0-9]+\\s*packets?|{NUMBER}\\s*({}))$",
                [scalar::DATA.names, scalar::TIME.names].concat().join("|"),
            ),
        },
    })
}

/// A group. The values of its links and flows may be draws, so only their tables are described.
fn group(known: &Known) -> Value {
    let mut group = form(&GROUP, known);
    for part in ["link", "flow"] {
        group["properties"][part]["additionalProperties"] = json!({ "type": "object" });
    }
    group["description"] = format!(
        "A group of equal members. Those of `home` are called `home-1` and so on, and their parts \
         `home-1/PART`. A path names links of its member, then those around it. A value may be a \
         draw, by the seed and the name of its part: {DRAW}"
    )
    .into();
    group
}

/// A queue, including the rules of its own table.
fn queue(known: &Known) -> Value {
    let names: Vec<_> = (QUEUE.variants)(known).iter().map(|variant| variant.name).collect();
    let mut queue = one_of(&QUEUE, known);
    queue["description"] = format!(
        "A queue discipline: its name, or a table of `kind` and its parameters \
         (`sojourn queues NAME`); there are {}",
        names.join(", ")
    )
    .into();
    queue
}

/// A host, including the keys of its own table.
fn host(known: &Known) -> Value {
    let mut host = either(&HOST, known);
    host["description"] = "A host: its name, or a table of `like`, a name, and its exceptions \
                           (`sojourn hosts NAME`)"
        .into();
    host
}

/// A decimal number in the syntax of the units' parser.
const NUMBER: &str = r"([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9_]+)";

fn quantity(unit: &Unit) -> Value {
    let mut expected = unit.expected.to_owned();
    expected[..1].make_ascii_uppercase();
    json!({
        "description": expected,
        "anyOf": [
            { "type": "string", "pattern": format!("^{NUMBER}\\s*({})$|^0$", unit.names.join("|")) },
            { "const": 0 },
        ],
    })
}

fn shape(shape: Shape, known: &Known) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Scalar(kind) => scalar(&kind),
        Shape::Buffer => json!({ "$ref": "#/$defs/buffer" }),
        Shape::Window(_) => {
            json!({ "anyOf": [{ "const": "unlimited" }, { "$ref": "#/$defs/bytes" }] })
        }
        Shape::List(item, least) => {
            json!({ "type": "array", "items": self::shape(*item, known), "minItems": least })
        }
        Shape::Table(table) => form(table, known),
        // A reference: a group may contain groups.
        Shape::Named(table) if std::ptr::eq(table, &GROUP) => json!({
            "type": "object",
            "propertyNames": { "$ref": "#/$defs/name" },
            "additionalProperties": { "$ref": "#/$defs/group" },
        }),
        Shape::Named(table) => json!({
            "type": "object",
            "propertyNames": { "$ref": "#/$defs/name" },
            "minProperties": 1,
            "additionalProperties": form(table, known),
        }),
        Shape::Changes => json!({ "type": "object" }),
        // A reference: the scenario and each end of a flow have one.
        Shape::Either(one) if std::ptr::eq(one, &HOST) => json!({ "$ref": "#/$defs/host" }),
        Shape::Either(short_or) => either(short_or, known),
        // A reference: a queue may contain queues, so an inlined schema would be infinite.
        Shape::OneOf(one) if std::ptr::eq(one, &QUEUE) => json!({ "$ref": "#/$defs/queue" }),
        Shape::OneOf(one) => one_of(one, known),
    }
}

/// A name of a choice: a switch's are TOML's `true` and `false`.
fn choice(name: &&str) -> Value {
    name.parse().map_or_else(|_| json!(name), Value::Bool)
}

fn scalar(kind: &Kind) -> Value {
    let mut value = match kind {
        Kind::Number(_, lo, hi) => json!({ "type": "number", "minimum": lo, "maximum": hi }),
        Kind::Integer(_, lo, hi) => json!({ "type": "integer", "minimum": lo, "maximum": hi }),
        Kind::Time(..) => json!({ "$ref": "#/$defs/duration" }),
        Kind::Data(..) => json!({ "$ref": "#/$defs/bytes" }),
        Kind::Rate(..) => json!({ "$ref": "#/$defs/rate" }),
        Kind::Switch(_) => json!({ "type": "boolean" }),
        Kind::Choice(_, names) => json!({ "enum": names.iter().map(choice).collect::<Vec<_>>() }),
    };
    let open = matches!(kind, Kind::Number(_, _, f64::MAX) | Kind::Integer(_, _, u64::MAX));
    if let (true, Some(value)) = (open, value.as_object_mut()) {
        value.remove("maximum");
    }
    value
}

fn form(form: &Form, known: &Known) -> Value {
    object(form.title, form.fields, known)
}

fn object(title: &str, fields: &[Key<Shape>], known: &Known) -> Value {
    let named = |field: &Key<Shape>| (field.name.to_owned(), property(field, known));
    let properties: Map<_, _> = fields.iter().map(named).collect();
    let required: Vec<_> = fields.iter().filter(|f| f.is_required()).map(|f| f.name).collect();
    json!({
        "type": "object",
        "title": title,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The shape of a field's value with its description, range and default.
fn property(field: &Key<Shape>, known: &Known) -> Value {
    let mut property = map(shape(field.kind, known));
    let range = match field.kind {
        Shape::Scalar(kind) if !kind.unit().is_empty() => format!("; {}", scalar::range(&kind)),
        _ => String::new(),
    };
    property.insert("description".to_owned(), format!("{}{range}", shape::describe(field)).into());
    if let Some(default) = default(field) {
        property.insert("default".to_owned(), default);
    }
    Value::Object(property)
}

fn default(field: &Key<Shape>) -> Option<Value> {
    let node =
        tree::from_bare(&shape::default_text(field)?, FromToml { source: 0, offset: 0 }).ok()?;
    Some(write::json(&node))
}

fn either(either: &Either, known: &Known) -> Value {
    let forms = either.forms.iter().map(|one| form(one, known));
    let short = shape(either.short, known);
    json!({ "anyOf": std::iter::once(short).chain(forms).collect::<Vec<_>>() })
}

/// A name without required keys may be given alone; every variant may be a table.
fn one_of(one: &OneOf, known: &Known) -> Value {
    let variants = (one.variants)(known);
    let plain = variants.iter().filter(|variant| !variant.fields.iter().any(Key::is_required));
    let names: Vec<_> = plain.flat_map(|variant| one.names(variant.name)).collect();
    let tables = variants.iter().map(|variant| tagged(one, variant, known));
    json!({ "anyOf": std::iter::once(json!({ "enum": names })).chain(tables).collect::<Vec<_>>() })
}

fn tagged(one: &OneOf, variant: &Variant, known: &Known) -> Value {
    let mut table = object(variant.name, &variant.fields, known);
    table["description"] = variant.title.into();
    let names: Vec<_> = one.names(variant.name).collect();
    table["properties"][one.tag] = match names[..] {
        [name] => json!({ "const": name }),
        _ => json!({ "enum": names }),
    };
    if let Some(required) = table["required"].as_array_mut() {
        required.push(one.tag.into());
    }
    let excluded = variant.exclusive.iter().map(|(a, b)| json!({ "required": [a, b] }));
    match &excluded.collect::<Vec<_>>()[..] {
        [] => {}
        [pair] => table["not"] = pair.clone(),
        pairs => table["not"] = json!({ "anyOf": pairs }),
    }
    table
}
