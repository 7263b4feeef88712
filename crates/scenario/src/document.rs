//! The scenario document: input, changes, output and resolution.

use std::io;

use sojourn_cc::Catalogue;
use toml::de::DeTable;

use crate::error::{At, Errors, Problem, Problems, Source};
use crate::known::Known;
use crate::model::Scenario;
use crate::tree::{self, FromToml, Node, Value};
use crate::{resolve, set, size, write};

/// A scenario as it is written: well formed, but not yet validated.
#[derive(Clone, Debug)]
pub struct Document {
    /// The first is the document's origin; each external change adds one.
    sources: Vec<Source>,
    root: Node,
}

impl Document {
    /// Reads TOML. `origin` names it in errors: its file.
    ///
    /// # Errors
    /// Every syntax error, with its position; or a text longer than 4 MiB.
    pub fn from_toml(origin: &str, text: &str) -> Result<Document, Errors> {
        if let Some(problem) = size::of_text(text) {
            let source = Source { origin: origin.to_owned(), text: String::new() };
            return Err(Errors::new(&[source], problem.into()));
        }
        let sources = vec![Source { origin: origin.to_owned(), text: text.to_owned() }];
        let (table, faults) = DeTable::parse_recoverable(text);
        let place = FromToml { source: 0, offset: 0 };
        if !faults.is_empty() {
            let mut problems = Problems::default();
            for fault in telling(faults) {
                problems.add(|| syntax(&fault, text, place));
            }
            return Err(Errors::new(&sources, problems));
        }
        let value = Value::Table(place.entries(table.get_ref()));
        Ok(Document { sources, root: Node { value, span: Some(place.span(0..0)) } })
    }

    /// Takes a document that a program built. Its errors name keys, not lines. A null in an object
    /// is an absent key.
    ///
    /// # Errors
    /// If it is not an object, or is nested deeper than any scenario.
    pub fn from_json(origin: &str, value: serde_json::Value) -> Result<Document, Errors> {
        let sources = vec![Source { origin: origin.to_owned(), text: String::new() }];
        let fault = |message: &str, help: &str| {
            Errors::new(&sources, Problem::new(&At::default(), message, help).into())
        };
        match tree::from_json(&value) {
            Some(root) if value.is_object() => Ok(Document { sources, root }),
            Some(_) => Err(fault("a scenario is a table", "write { duration = ..., link = ... }")),
            None => Err(fault("the document is nested too deeply", "a scenario has five levels")),
        }
    }

    /// Changes one value, as `PATH=VALUE`: keys and list indices joined by dots, such as
    /// `link.bottleneck.rate.steps.0.rate=10Mbit`. The value is in TOML (a number, a boolean, a
    /// list, a table, a quoted string) or else bare text. Missing parts of the path are created. If
    /// the path goes below a short value, the value becomes its table.
    ///
    /// # Errors
    /// If the change is malformed, or the path goes through a value without keys. The document then
    /// stays unchanged. [`Document::resolve`] validates the key itself.
    pub fn set(&mut self, change: &str) -> Result<(), Errors> {
        let source = Source { origin: "--set".to_owned(), text: change.to_owned() };
        self.sources.push(source);
        let done = set::set(&mut self.root, change, self.sources.len() - 1);
        done.map_err(|problem| {
            let errors = Errors::new(&self.sources, problem.into());
            self.sources.pop();
            errors
        })
    }

    /// Runs these controllers one after the other. They replace `controls`, and keep the parameters
    /// given there. If every flow names its own controller, they also replace these controllers
    /// (except `none`).
    pub fn set_controls(&mut self, names: &[&str]) {
        let source = Source { origin: "--control".to_owned(), text: names.join(",") };
        self.sources.push(source);
        set::set_controls(&mut self.root, names, self.sources.len() - 1);
    }

    /// A fault that a reader of the document found in the value of a path of keys.
    pub fn fault(&self, path: &[String], message: &str, help: &str) -> Errors {
        let (mut at, mut node) = (At { span: self.root.span, path: String::new() }, &self.root);
        for key in path {
            let below = match &node.value {
                Value::List(items) => key.parse().ok().and_then(|place: usize| items.get(place)),
                _ => node.get(key),
            };
            let Some(below) = below else { break };
            at = at.below(key, below.span);
            node = below;
        }
        Errors::new(&self.sources, Problem::new(&at, message, help).into())
    }

    /// The document as TOML, with all changes, in the order of its keys. It reads back as the same
    /// scenario.
    pub fn to_toml(&self) -> String {
        write::toml(&self.root)
    }

    /// The document as JSON, with all changes.
    pub fn to_json(&self) -> serde_json::Value {
        write::json(&self.root)
    }

    /// Validates the document and makes its scenario. `read` returns the text of a trace for the
    /// path in the scenario.
    ///
    /// # Errors
    /// All problems, each with its position.
    pub fn resolve(&self, read: &dyn Fn(&str) -> io::Result<String>) -> Result<Scenario, Errors> {
        self.resolve_with(&Catalogue::shipped(), read)
    }

    /// As [`Document::resolve`], for a scenario that may name the controllers of a catalogue: the
    /// shipped ones and a user's own.
    ///
    /// # Errors
    /// All problems, each with its position.
    pub fn resolve_with(
        &self,
        controllers: &Catalogue,
        read: &dyn Fn(&str) -> io::Result<String>,
    ) -> Result<Scenario, Errors> {
        self.resolve_known(&Known::from(controllers), read)
    }

    /// As [`Document::resolve_with`], for a scenario that may also name stacks.
    ///
    /// # Errors
    /// All problems, each with its position.
    pub fn resolve_known(
        &self,
        known: &Known,
        read: &dyn Fn(&str) -> io::Result<String>,
    ) -> Result<Scenario, Errors> {
        let resolved = resolve::resolve(&self.root, known, read);
        resolved.map_err(|problems| Errors::new(&self.sources, problems))
    }
}

/// The errors worth reporting: all up to the first that the parser cannot recover from, since later
/// ones mostly follow from it.
fn telling(mut faults: Vec<toml::de::Error>) -> Vec<toml::de::Error> {
    faults.sort_by_key(|fault| fault.span().map_or(0, |span| span.start));
    let clear = |fault: &toml::de::Error| help(fault.message()) != TOML;
    let count = faults.iter().take_while(|fault| clear(fault)).count();
    faults.truncate(count + 1);
    faults
}

const TOML: &str = "scenarios are written in TOML: https://toml.io";

fn help(message: &str) -> &'static str {
    match () {
        () if message.contains("must be quoted") => "put text in quotation marks",
        () if message == DUPLICATE => "keep only one of them",
        () => TOML,
    }
}

/// The parser's message for a repeated key.
const DUPLICATE: &str = "duplicate key";

/// A TOML syntax error.
fn syntax(fault: &toml::de::Error, text: &str, place: FromToml) -> Problem {
    let range = fault.span().unwrap_or(0..0);
    let written = text.get(range.clone()).unwrap_or("").trim();
    let message = match fault.message() {
        DUPLICATE => format!("the key `{written}` occurs twice"),
        message => message.to_owned(),
    };
    let at = At { span: Some(place.span(range)), path: String::new() };
    Problem::new(&at, message, help(fault.message()))
}
