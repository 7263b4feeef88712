//! The kernel's queues as the links of a run (`--bottleneck tc`).
//!
//! [`plan::Plan`] turns a scenario into commands of `ip` and `tc`. A run executes the same commands
//! that [`commands`] prints. Three namespaces hold the senders, a router and the receivers:
//!
//! ```text
//! senders                        router                        receivers
//!  host0 ---- senders0 => path0 (htb: rate, queue) ---- path1 => receivers0 (netem) ---- host0
//!  host0 ---- senders0 (netem) <= back1 ---- (htb: rate, queue) back0 <= receivers0 ---- host0
//! ```
//!
//! A packet is queued and shaped behind the router's ingress, in a veth pair, and delayed at its
//! egress. Each qdisc thus has a device of its own, as on the testbed of "A Lower Bound on Latency
//! Spikes" (Teigen et al.).

mod command;
mod counters;
mod hosts;
mod link;
mod needs;
mod network;
mod plan;
mod queue;
mod run;
mod wire;

use std::fmt::Write;

use sojourn_scenario::Scenario;

use crate::{Error, IpVersion};
pub(crate) use network::HOST;
use plan::{Place, Plan};
pub(crate) use run::Setup;

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
