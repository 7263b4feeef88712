//! The plan of a run as a script for a shell.

use std::fmt::Write;

use sojourn_scenario::Scenario;

use super::places::Place;
use super::plan::Plan;
use crate::error::Error;
use crate::machine::IpVersion;

/// The shell commands that make the links of a run with this seed: the namespaces, the queues, the
/// changes at their times, and the removal as comments. Nothing is executed.
///
/// # Errors
/// If the kernel's queues cannot form a link of the scenario.
pub fn commands(scenario: &Scenario, seed: u64, version: IpVersion) -> Result<String, Error> {
    let plan = Plan::new(scenario, seed, version)?;
    let mut text = String::new();
    for place in Place::ALL {
        let _ = writeln!(text, "ip netns add {}", place.name());
    }
    for step in &plan.setup {
        let _ = writeln!(text, "{step}");
    }
    let end = scenario.duration;
    let _ =
        writeln!(text, "# The links are ready. These changes are due in the {end} from now on:");
    let mut now = 0.0;
    for change in &plan.changes {
        let at = change.at.as_secs_f64();
        if at > now {
            let _ = writeln!(text, "sleep {:.3}", at - now);
            now = at;
        }
        let _ = writeln!(text, "{}", change.step);
    }
    // Comments: a shell that executes the whole text would remove the links at once.
    let _ = writeln!(text, "# The links stay. These commands undo everything:");
    for place in Place::ALL {
        let _ = writeln!(text, "# ip netns delete {}", place.name());
    }
    Ok(text)
}
