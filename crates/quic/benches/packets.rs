//! Packets a CPU second of real stacks in virtual time: data and acknowledgements, both ends.
//!
//!     cargo bench -p sojourn-quic --all-features
//!
//! prints the best of three runs for each stack, with TLS and without. `studies/quic` has the
//! figures.

use std::time::Duration;

use cpu_time::ProcessTime;
use sojourn_quic::host::stacks;
use sojourn_scenario::{Document, Known, Scenario};
use sojourn_sim::Simulation;

/// Ten seconds of one flow that fills 200 Mbit/s: 170,000 packets of data, each acknowledged.
fn scenario(stack: &str, crypto: &str, control: &str) -> Scenario {
    let text = format!(
        r#"
duration = "10s"
[link.down]
rate = "200Mbit"
delay = "10ms"
buffer = "20ms"
queue = {{ kind = "threshold", ce_threshold = "1ms" }}
[link.up]
rate = "200Mbit"
delay = "10ms"
[flow.file]
control = "{control}"
path = ["down"]
back = ["up"]
transport = {{ stack = "{stack}", crypto = "{crypto}", ack_every = 1 }}
"#
    );
    let known = Known { stacks: stacks(), ..Known::default() };
    let document = Document::from_toml("bench.toml", &text).expect("valid");
    document.resolve_known(&known, &|_| Err(std::io::ErrorKind::NotFound.into())).expect("valid")
}

/// Packets that the links carried, and the processor time.
fn run(scenario: &Scenario) -> (u64, Duration) {
    let start = ProcessTime::now();
    let outcome = Simulation::new(scenario, None, 1).finish();
    let spent = start.elapsed();
    (outcome.summary.links.iter().map(|link| link.delivered_packets).sum(), spent)
}

fn main() {
    println!("stack  crypto  controller  packets a CPU second");
    for stack in ["noq", "quinn"] {
        for crypto in ["tls", "none"] {
            for control in ["prague", "cubic"] {
                let scenario = scenario(stack, crypto, control);
                let runs = (0..3).map(|_| run(&scenario));
                let rates = runs.map(|(packets, spent)| packets as f64 / spent.as_secs_f64());
                let best = rates.fold(0.0, f64::max);
                println!("{stack:<6} {crypto:<7} {control:<11} {best:.0}");
            }
        }
    }
}
