//! What the runs of a scenario are called.

use sojourn_cc::Catalogue;
use sojourn_units::params::Params;

use crate::model::{Control, Scenario};

impl Scenario {
    /// A name for each of `controls`, different for each: the controller's, and
    /// where the list has it more than once, the parameters that differ from
    /// the default; where even these are the same, a number.
    pub fn labels(&self) -> Vec<String> {
        let mut labels = Vec::new();
        for control in &self.controls {
            let twice = self.controls.iter().filter(|c| c.name() == control.name()).count() > 1;
            let label = if twice {
                with_params(control, &self.controllers)
            } else {
                control.name().to_owned()
            };
            let label = unique(label, &labels);
            labels.push(label);
        }
        labels
    }
}

fn with_params(control: &Control, controllers: &Catalogue) -> String {
    let Control::Algorithm { kind, params } = control else { return control.name().to_owned() };
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

fn unique(label: String, taken: &[String]) -> String {
    let numbered = (2..).map(|n| format!("{label} #{n}"));
    let mut all = [label.clone()].into_iter().chain(numbered);
    all.find(|candidate| !taken.contains(candidate)).unwrap_or(label)
}
