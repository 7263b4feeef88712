//! Compares live runs with simulations of the same scenarios: `fidelity [SECONDS]`.

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::sync::atomic::AtomicBool;

    use sojourn_live::Options;
    use sojourn_scenario::Document;
    use sojourn_sim::{Outcome, Simulation};

    const CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];
    const QUEUES: [&str; 3] = ["droptail", "codel", "dualpi2"];
    const RATES_MBIT: [u64; 3] = [10, 50, 100];
    const RTTS_MS: [u64; 2] = [10, 50];

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let seconds = std::env::args().nth(1).unwrap_or("10".to_owned()).parse()?;
        println!(
            "| controller | queue | Mbit/s | RTT ms | goodput live | simulated | difference | \
             median delay live ms | simulated ms | lateness p99 us | within |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        for control in CONTROLS {
            for queue in QUEUES {
                for rate in RATES_MBIT {
                    for rtt in RTTS_MS {
                        compare(control, queue, rate, rtt, seconds)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One bulk flow. A drop-tail queue has one bandwidth-delay product.
    fn document(control: &str, queue: &str, rate: u64, rtt: u64, seconds: u64) -> String {
        let buffer = match queue {
            "droptail" => format!("buffer = \"{rtt}ms\""),
            _ => String::new(),
        };
        format!(
            "duration = \"{seconds}s\"\n[link.bottleneck]\nrate = \"{rate}Mbit\"\n\
             delay = \"{}us\"\nqueue = \"{queue}\"\n{buffer}\n[link.back]\ndelay = \"{}us\"\n\
             [flow.bulk]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"{control}\"\n\
             host = {{ ecn_feedback = \"classic\" }}\n",
            rtt * 500,
            rtt * 500
        )
    }

    fn compare(
        control: &str,
        queue: &str,
        rate: u64,
        rtt: u64,
        seconds: u64,
    ) -> Result<(), Box<dyn Error>> {
        let text = document(control, queue, rate, rtt, seconds);
        let scenario = Document::from_toml("fidelity.toml", &text)?
            .resolve(&|_| Err(std::io::Error::other("no files")))
            .map_err(|error| format!("{error:?}"))?;
        let stop = AtomicBool::new(false);
        let report = sojourn_live::run(&scenario, None, 1, &Options::default(), &stop)?;
        let (live, simulated) =
            (figures(&report.outcome), figures(&Simulation::new(&scenario, None, 1).finish()));
        let apart = live.0 / simulated.0 - 1.0;
        let wait = (live.1 - simulated.1).abs();
        let is_within = apart.abs() <= 0.02 && (wait <= 1.0 || wait <= 0.1 * simulated.1);
        let late = report.timing.lateness.quantile(0.99).unwrap_or(0) as f64 / 1e3;
        println!(
            "| {control} | {queue} | {rate} | {rtt} | {:.2} | {:.2} | {:+.1} % | {:.2} | {:.2} | {late:.1} | {} |",
            live.0,
            simulated.0,
            100.0 * apart,
            live.1,
            simulated.1,
            if is_within { "yes" } else { "no" }
        );
        Ok(())
    }

    /// Goodput in Mbit/s, and the median queueing delay in ms.
    fn figures(outcome: &Outcome) -> (f64, f64) {
        let delay = outcome.summary.links[0].queue_delay_p50_s.unwrap_or(f64::NAN);
        (outcome.summary.flows[0].goodput_bps / 1e6, delay * 1e3)
    }
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("live runs need Linux");
}
