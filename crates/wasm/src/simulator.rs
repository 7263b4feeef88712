//! The scenario and the run of a module.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde_json::Value;
use sojourn_record::{Judgement, Summary, unavoidable, unavoidable_of};
use sojourn_scenario::{Document, Known, Scenario, json_schema};
use sojourn_sim::Simulation;

use crate::json;
use crate::laboratory::Laboratory;

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

/// The scenario and the run.
#[derive(Default)]
pub(crate) struct Simulator {
    /// Files that scenarios may name.
    files: BTreeMap<String, String>,
    scenario: Option<Scenario>,
    run: Option<Simulation>,
}

impl Laboratory {
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
            self.simulator.files.insert(name, text);
            Ok(Value::Null)
        });
        self.keep(kept)
    }

    pub(crate) fn forget_files(&mut self) {
        self.simulator.files.clear();
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
        (self.simulator.scenario, self.simulator.run) = (None, None);
        let loaded = document.and_then(|document| {
            let files = &self.simulator.files;
            let known = Known { without_stacks: WITHOUT_STACKS, ..Known::default() };
            let read = |name: &str| files.get(name).cloned().ok_or(io::ErrorKind::NotFound.into());
            let scenario = document.resolve_known(&known, &read).map_err(|e| json::faults(&e))?;
            let described = json::scenario(&document, &scenario);
            self.simulator.scenario = Some(scenario);
            Ok(described)
        });
        self.keep(loaded)
    }

    pub(crate) fn start(&mut self, control: usize) -> bool {
        let Some(scenario) = &self.simulator.scenario else {
            return self.keep(Err(json::fault("no scenario is loaded")));
        };
        let chosen = scenario.controls.get(control);
        if chosen.is_none() && control > 0 {
            return self.keep(Err(json::fault("the scenario has no controller of this number")));
        }
        let run = Simulation::new(scenario, chosen, scenario.seed);
        self.simulator.run = Some(match scenario.labels().get(control) {
            Some(label) => run.labelled(label),
            None => run,
        });
        self.keep(Ok(Value::Null))
    }

    pub(crate) fn advance(&mut self, events: u32) -> bool {
        self.simulator.run.as_mut().is_none_or(|run| run.advance_by(run.end(), events))
    }

    pub(crate) fn now_s(&self) -> f64 {
        self.simulator.run.as_ref().map_or(0.0, |run| run.now().as_secs_f64())
    }

    pub(crate) fn select(&mut self, from: usize, links: bool) -> bool {
        let Some(run) = &self.simulator.run else {
            return self.keep(Err(json::fault("no run has begun")));
        };
        let table = if links { run.link_samples(from) } else { run.flow_samples(from) };
        let heads = table.columns().iter().map(|(name, column)| json::column(name, column));
        let heads = heads.collect();
        (self.selected, self.converted) = (Some(table), Vec::new());
        self.keep(Ok(heads))
    }

    pub(crate) fn finish(&mut self) -> bool {
        let summary = match self.simulator.run.take() {
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
            let scenario = self.simulator.scenario.as_ref();
            let traces = scenario.map(|one| unavoidable(one, summary, 0)).unwrap_or_default();
            let Judgement { sentences, picture, .. } = Judgement::of(summary, &traces);
            let shown = scenario.and_then(|one| unavoidable_of(one, focus, summary, points));
            Ok(serde_json::json!({
                "sentences": sentences, "picture": picture, "unavoidable": shown,
            }))
        });
        self.keep(judged)
    }

    pub(crate) fn schema(&mut self) {
        self.output = json_schema().to_string().into_bytes();
    }
}
