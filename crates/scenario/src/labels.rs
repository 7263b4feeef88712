//! Labels of the runs of a scenario.

use std::collections::BTreeMap;

use sojourn_cc::Catalogue;
use sojourn_units::params::Params;

use crate::model::{Control, Scenario};

impl Scenario {
    /// A unique label for each of `controls`: the controller's name. If the list repeats it, the
    /// label includes the parameters that differ from the default, and if these are equal too, a
    /// number.
    pub fn labels(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.controls.iter().for_each(|control| *counts.entry(control.name()).or_default() += 1);
        let mut taken = Taken::default();
        let mut labels = Vec::new();
        for control in &self.controls {
            let twice = counts[control.name()] > 1;
            let label = if twice {
                with_params(control, &self.controllers)
            } else {
                control.name().to_owned()
            };
            labels.push(taken.unique(label));
        }
        labels
    }
}

fn with_params(control: &Control, controllers: &Catalogue) -> String {
    let Control::Algorithm { kind, params, .. } = control else { return control.name().to_owned() };
    let declared = controllers.find(kind).map_or(&[][..], |info| info.params);
    let defaults = Params::defaults(declared);
    let changed: Vec<String> = params
        .iter()
        .zip(defaults.iter())
        .filter(|(given, default)| given != default)
        .map(|((name, value), _)| format!("{name}={value}"))
        .collect();
    if changed.is_empty() { kind.clone() } else { format!("{kind} {}", changed.join(" ")) }
}

/// Labels in use, each with the last number tried in the search for a free one. Labels never become
/// free again, so each search continues there.
#[derive(Default)]
struct Taken(BTreeMap<String, u64>);

impl Taken {
    fn unique(&mut self, label: String) -> String {
        let mut number = self.0.get(&label).copied().unwrap_or(1);
        let mut candidate = label.clone();
        while self.0.contains_key(&candidate) {
            number += 1;
            candidate = format!("{label} #{number}");
        }
        self.0.insert(label, number);
        self.0.entry(candidate.clone()).or_insert(1);
        candidate
    }
}
