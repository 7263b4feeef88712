//! External changes: `--set PATH=VALUE` and `--control NAMES`.

use toml::de::{DeTable, DeValue};

use crate::error::{At, Problem};
use crate::flow::is_echo;
use crate::schema::DOCUMENT;
use crate::shape::Shape;
use crate::tree::{self, Entry, FromToml, Node, Span, Value};

/// The left side of a change is not a path of keys.
#[derive(Debug, thiserror::Error)]
#[error("`{left}` is not a path of keys: {why}")]
struct PathError<'a> {
    left: &'a str,
    why: PathFault,
}

#[derive(Debug, thiserror::Error)]
enum PathFault {
    #[error("it has a line break")]
    LineBreak,
    #[error("it has no key")]
    Empty,
    #[error("{0}")]
    Toml(String),
}

/// A key of the path, and its position.
struct Step {
    key: String,
    span: Span,
}

/// Sets `PATH=VALUE` in the document, as source number `source`.
pub(crate) fn set(root: &mut Node, text: &str, source: usize) -> Result<(), Problem> {
    let whole = FromToml { source, offset: 0 };
    let everything = At { span: Some(whole.span(0..text.len())), path: String::new() };
    let Some((left, right)) = text.split_once('=') else {
        let message = format!("`{text}` has no `=`");
        let help = "write PATH=VALUE, such as link.bottleneck.rate=10Mbit";
        return Err(Problem::new(&everything, message, help));
    };
    let steps = steps(left, whole).map_err(|error| {
        let span = Some(whole.span(0..left.len()));
        let at = At { span, ..At::default() };
        Problem::new(&at, error.to_string(), "write keys joined by dots, such as link.back.delay")
    })?;
    // The value begins after its leading blanks.
    let offset = text.len() - right.trim_start().len();
    let place = FromToml { source, offset };
    let shape = shape_at(&steps);
    let value = value(right.trim(), place, shape)?;
    put(root, &steps, Some(Shape::Table(&DOCUMENT)), value, &At::default())
}

/// The keys of a path, by TOML's own rules for dotted keys.
fn steps(left: &str, place: FromToml) -> Result<Vec<Step>, PathError<'_>> {
    let malformed = |why| PathError { left, why };
    if left.contains('\n') {
        return Err(malformed(PathFault::LineBreak));
    }
    let line = format!("{left}=0");
    let table = DeTable::parse(&line)
        .map_err(|error| malformed(PathFault::Toml(error.message().to_owned())))?;
    let mut steps = Vec::new();
    let mut table = Some(table.get_ref());
    while let Some((key, value)) = table.and_then(|table| table.iter().next()) {
        steps.push(Step { key: key.get_ref().clone().into_owned(), span: place.span(key.span()) });
        table = match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => None,
        };
    }
    if steps.is_empty() { Err(malformed(PathFault::Empty)) } else { Ok(steps) }
}

/// The schema of the path's value; `None` if the schema has no such path.
fn shape_at(steps: &[Step]) -> Option<Shape> {
    steps.iter().try_fold(Shape::Table(&DOCUMENT), |shape, step| shape.child(&step.key))
}

/// The value as written, except that text needs no quotation marks even if it looks like a number.
fn value(text: &str, place: FromToml, shape: Option<Shape>) -> Result<Node, Problem> {
    let span = Some(place.span(0..text.len()));
    if matches!(shape, Some(Shape::Text)) && !text.starts_with(['"', '\'']) {
        return Ok(Node::text(text, span));
    }
    tree::from_bare(text, place).map_err(|error| {
        let at = At { span, ..At::default() };
        let message = format!("`{text}` is malformed: {}", error.message());
        Problem::new(&at, message, "write a value as in TOML, or bare text")
    })
}

/// Puts `value` at the end of the path. After a failure, `node` is unchanged: each level undoes its
/// own change, since a copy of the document for each of a thousand changes would cost seconds.
fn put(
    node: &mut Node,
    steps: &[Step],
    shape: Option<Shape>,
    value: Node,
    at: &At,
) -> Result<(), Problem> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return Ok(());
    };
    let is_promoted = promote(node, shape);
    let child = shape.and_then(|shape| shape.child(&step.key));
    let here = at.below(&step.key, Some(step.span));
    let done = match &mut node.value {
        Value::Table(entries) => put_entry(entries, step, (rest, child), value, &here),
        Value::List(items) => put_item(items, step, (rest, child), value, (at, &here)),
        _ => {
            let message = format!("{} is {}, which has no keys", at.table(), node.type_name());
            let help = format!("set {} itself", at.table());
            Err(Problem::new(&here, message, help))
        }
    };
    if done.is_err() && is_promoted {
        demote(node);
    }
    done
}

/// Turns a short value into its table: a rate into its start, a name into its kind. Returns whether
/// it did.
fn promote(node: &mut Node, shape: Option<Shape>) -> bool {
    let Some(key) = shape.and_then(Shape::short_for) else { return false };
    if matches!(node.value, Value::Table(_) | Value::List(_)) {
        return false;
    }
    let short = Node { value: node.value.clone(), span: node.span };
    let entry = Entry { key: key.to_owned(), key_span: node.span, node: short };
    node.value = Value::Table(vec![entry]);
    true
}

/// Undoes [`promote`].
fn demote(node: &mut Node) {
    if let Value::Table(entries) = &mut node.value
        && let Some(short) = entries.pop()
    {
        *node = short.node;
    }
}

/// The rest of a path, and the schema at its start.
type Below<'a> = (&'a [Step], Option<Shape>);

fn put_entry(
    entries: &mut Vec<Entry>,
    step: &Step,
    (rest, child): Below<'_>,
    value: Node,
    at: &At,
) -> Result<(), Problem> {
    let known = entries.iter().position(|entry| entry.key == step.key);
    let place = known.unwrap_or_else(|| {
        let node = container(step, rest, child);
        entries.push(Entry { key: step.key.clone(), key_span: Some(step.span), node });
        entries.len() - 1
    });
    let done = put(&mut entries[place].node, rest, child, value, at);
    if done.is_err() {
        entries.truncate(known.map_or(place, |_| entries.len()));
    }
    done
}

/// `list` and `at`: positions of the list and of its item.
fn put_item(
    items: &mut Vec<Node>,
    step: &Step,
    (rest, child): Below<'_>,
    value: Node,
    (list, at): (&At, &At),
) -> Result<(), Problem> {
    let count = items.len();
    let Some(place) = step.key.parse().ok().filter(|place: &usize| *place <= count) else {
        let message = format!("{} has no place `{}`", list.table(), step.key);
        let help = match count {
            0 => "it is empty: its first place is 0".to_owned(),
            _ => format!("its places are 0 to {}; {count} appends", count - 1),
        };
        return Err(Problem::new(at, message, help));
    };
    if place == count {
        items.push(container(step, rest, child));
    }
    let done = put(&mut items[place], rest, child, value, at);
    if done.is_err() {
        items.truncate(count);
    }
    done
}

/// An empty list or table for a missing part of the path.
fn container(step: &Step, rest: &[Step], shape: Option<Shape>) -> Node {
    let list = matches!(shape, Some(Shape::List(..))) && !rest.is_empty();
    let value = if list { Value::List(Vec::new()) } else { Value::Table(Vec::new()) };
    Node { value, span: Some(step.span) }
}

/// Replaces `controls` by `names`. If every flow names its own controller, removes these, so that
/// the list applies.
pub(crate) fn set_controls(root: &mut Node, names: &[&str], source: usize) {
    let mut start = 0;
    let items = names.iter().map(|name| {
        let span = Span { source, start, end: start + name.len() };
        start = span.end + 1;
        listed(root, name).unwrap_or_else(|| Node::text(name, Some(span)))
    });
    let list = Value::List(items.collect());
    let span = Some(Span { source, start: 0, end: start.saturating_sub(1) });
    let Value::Table(entries) = &mut root.value else { return };
    let node = Node { value: list, span };
    match entries.iter_mut().find(|entry| entry.key == "controls") {
        Some(entry) => entry.node = node,
        None => entries.push(Entry { key: "controls".to_owned(), key_span: span, node }),
    }
    release_flows(root);
}

/// The entry of this name in `controls`, which keeps its parameters.
fn listed(root: &Node, name: &str) -> Option<Node> {
    let Value::List(items) = &root.get("controls")?.value else { return None };
    let has_name = |item: &&Node| matches!(item.get("kind"), Some(Node { value: Value::Text(kind), .. }) if kind == name);
    items.iter().find(has_name).cloned()
}

fn release_flows(root: &mut Node) {
    let Some(Node { value: Value::Table(flows), .. }) = root.get_mut("flow") else { return };
    if flows.iter().any(|flow| takes_control(&flow.node)) {
        return;
    }
    for flow in flows {
        let Value::Table(fields) = &mut flow.node.value else { continue };
        fields.retain(|field| field.key != "control" || is_none(&field.node));
    }
}

/// Whether a flow takes a controller of `controls`: it names none, and its source needs one.
fn takes_control(flow: &Node) -> bool {
    let source = flow.get("source").map(|source| source.get("kind").unwrap_or(source));
    let is_echo = matches!(source, Some(Node { value: Value::Text(name), .. }) if is_echo(name));
    flow.get("control").is_none() && !is_echo
}

/// Whether a value of `control` means no controller.
fn is_none(control: &Node) -> bool {
    let name = control.get("kind").unwrap_or(control);
    matches!(&name.value, Value::Text(name) if name == "none")
}
