//! The scenario, the run and the buffers of a module.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde_json::Value;
#[cfg(feature = "explain")]
use sojourn_explain::{ACCEPTED, Options, explain_source};
use sojourn_record::{Judgement, Summary, unavoidable, unavoidable_of};
use sojourn_scenario::{Document, Known, Scenario, json_schema};
use sojourn_sim::Simulation;
use sojourn_trace::{Column, Table};

use crate::json;

/// The name of the scenario in errors.
const ORIGIN: &str = "scenario";
/// The remedy for a scenario that names a stack: none can be built for a browser.
const WITHOUT_STACKS: &str = "the page simulates without stacks of QUIC: remove `stack`";

/// Runs to judge, and the link that is shown.
#[derive(Deserialize)]
struct Asked {
    focus: String,
    #[serde(flatten)]
    summary: Summary,
}

/// The state of a module.
#[derive(Default)]
pub(crate) struct Laboratory {
    input: Vec<u8>,
    output: Vec<u8>,
    /// Files that scenarios may name.
    files: BTreeMap<String, String>,
    scenario: Option<Scenario>,
    run: Option<Simulation>,
    /// The selected samples, and the columns of them that were converted to floats.
    selected: Option<Table>,
    converted: Vec<Vec<f64>>,
}

impl Laboratory {
    pub(crate) fn input(&mut self, length: usize) -> *mut u8 {
        self.input = vec![0; length];
        self.input.as_mut_ptr()
    }

    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }

    /// Keeps a result or its fault as the output; returns whether it is a result.
    fn keep(&mut self, result: Result<Value, Value>) -> bool {
        let is_result = result.is_ok();
        self.output = result.unwrap_or_else(|fault| fault).to_string().into_bytes();
        is_result
    }

    /// The input as text. It is taken, so that its memory is free for the run.
    fn take_text(&mut self) -> Result<String, Value> {
        String::from_utf8(std::mem::take(&mut self.input))
            .map_err(|_| json::fault("the text is not UTF-8"))
    }

    pub(crate) fn keep_file(&mut self, name_length: usize) -> bool {
        let kept = self.take_text().and_then(|mut name| {
            if !name.is_char_boundary(name_length) {
                return Err(json::fault("the name of a file ends within a character"));
            }
            let text = name.split_off(name_length);
            self.files.insert(name, text);
            Ok(Value::Null)
        });
        self.keep(kept)
    }

    pub(crate) fn forget_files(&mut self) {
        self.files.clear();
    }

    pub(crate) fn load_toml(&mut self) -> bool {
        let read = |text: String| Document::from_toml(ORIGIN, &text).map_err(|e| json::faults(&e));
        let document = self.take_text().and_then(read);
        self.load(document)
    }

    pub(crate) fn load_json(&mut self) -> bool {
        let read = |text: String| {
            let value = serde_json::from_str(&text).map_err(|e| json::fault(&e.to_string()))?;
            Document::from_json(ORIGIN, value).map_err(|e| json::faults(&e))
        };
        let document = self.take_text().and_then(read);
        self.load(document)
    }

    fn load(&mut self, document: Result<Document, Value>) -> bool {
        (self.scenario, self.run) = (None, None);
        let loaded = document.and_then(|document| {
            let files = &self.files;
            let known = Known { without_stacks: WITHOUT_STACKS, ..Known::default() };
            let read = |name: &str| files.get(name).cloned().ok_or(io::ErrorKind::NotFound.into());
            let scenario = document.resolve_known(&known, &read).map_err(|e| json::faults(&e))?;
            let described = json::scenario(&document, &scenario);
            self.scenario = Some(scenario);
            Ok(described)
        });
        self.keep(loaded)
    }

    pub(crate) fn start(&mut self, control: usize) -> bool {
        let Some(scenario) = &self.scenario else {
            return self.keep(Err(json::fault("no scenario is loaded")));
        };
        let chosen = scenario.controls.get(control);
        if chosen.is_none() && control > 0 {
            return self.keep(Err(json::fault("the scenario has no controller of this number")));
        }
        let run = Simulation::new(scenario, chosen, scenario.seed);
        self.run = Some(match scenario.labels().get(control) {
            Some(label) => run.labelled(label),
            None => run,
        });
        self.keep(Ok(Value::Null))
    }

    pub(crate) fn advance(&mut self, events: u32) -> bool {
        self.run.as_mut().is_none_or(|run| run.advance_by(run.end(), events))
    }

    pub(crate) fn now_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |run| run.now().as_secs_f64())
    }

    pub(crate) fn select(&mut self, from: usize, links: bool) -> bool {
        let Some(run) = &self.run else {
            return self.keep(Err(json::fault("no run has begun")));
        };
        let table = if links { run.link_samples(from) } else { run.flow_samples(from) };
        let heads = table.columns().iter().map(|(name, column)| json::column(name, column));
        let heads = heads.collect();
        (self.selected, self.converted) = (Some(table), Vec::new());
        self.keep(Ok(heads))
    }

    /// The values of a selected column. Counts become floats, which hold them exactly up to 2^53; a
    /// text becomes the number of its value. A page asks for a third of the columns.
    pub(crate) fn column(&mut self, index: usize) -> *const f64 {
        let columns = self.selected.as_ref().map_or(&[][..], Table::columns);
        let converted = match columns.get(index) {
            None => return std::ptr::null(),
            Some((_, Column::F64(values))) => return values.as_ptr(),
            Some((_, Column::U64(values))) => values.iter().map(|value| *value as f64).collect(),
            Some((_, Column::Text(text))) => text.codes().iter().copied().map(f64::from).collect(),
        };
        self.converted.push(converted);
        self.converted.last().map_or(std::ptr::null(), |column| column.as_ptr())
    }

    pub(crate) fn finish(&mut self) -> bool {
        let summary = match self.run.take() {
            None => Err("no run has begun".to_owned()),
            Some(run) => match run.overrun().map(ToString::to_string) {
                Some(overrun) => Err(overrun),
                None => serde_json::to_vec(&run.finish().summary).map_err(|e| e.to_string()),
            },
        };
        match summary {
            // Not by way of a value, whose numbers may be printed otherwise.
            Ok(summary) => self.output = summary,
            Err(message) => return self.keep(Err(json::fault(&message))),
        }
        true
    }

    /// The meaning of the runs in the input: the sentences of the command, their picture, and the
    /// unavoidable delay of the link `focus`, with `points` points.
    pub(crate) fn judge(&mut self, points: usize) -> bool {
        let judged = self.take_text().and_then(|text| {
            let asked: Asked =
                serde_json::from_str(&text).map_err(|error| json::fault(&error.to_string()))?;
            let (focus, summary) = (&asked.focus, &asked.summary);
            let scenario = self.scenario.as_ref();
            let traces = scenario.map(|one| unavoidable(one, summary, 0)).unwrap_or_default();
            let Judgement { sentences, picture, .. } = Judgement::of(summary, &traces);
            let shown = scenario.and_then(|one| unavoidable_of(one, focus, summary, points));
            Ok(serde_json::json!({
                "sentences": sentences, "picture": picture, "unavoidable": shown,
            }))
        });
        self.keep(judged)
    }

    #[cfg(feature = "explain")]
    /// Explains a file: its name, of `name_length` bytes, and its content.
    pub(crate) fn explain(&mut self, name_length: usize, cures: bool) -> bool {
        let mut name = std::mem::take(&mut self.input);
        let content = name.split_off(name_length.min(name.len()));
        let name = String::from_utf8_lossy(&name).into_owned();
        let options = Options { cures, ..Options::default() };
        let found = explain_source(&name, || Ok(&content[..]), &options, &|| false);
        let failed = |message: &str| json::fault(message).to_string();
        let (output, is_result) = match found {
            Ok(Some(text)) => (text, true),
            Ok(None) => (failed(&format!("{name}: not {ACCEPTED}")), false),
            Err(error) => (failed(&format!("{name}: {error}")), false),
        };
        self.output = output.into_bytes();
        is_result
    }

    pub(crate) fn schema(&mut self) {
        self.output = json_schema().to_string().into_bytes();
    }
}
