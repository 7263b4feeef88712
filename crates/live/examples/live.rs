//! Runs a scenario live and prints its record, and on request that of a simulation:
//! `live SCENARIO.toml [--udp] [--tc] [--simulate]`.

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    use sojourn_cc::Catalogue;
    use sojourn_live::{Links, Options, Report, Stack};
    use sojourn_scenario::{Document, Known};
    use sojourn_sim::{Outcome, Simulation};
    use sojourn_trace::Histogram;
    use sojourn_units::Duration;

    pub(crate) fn main() -> Result<(), Box<dyn Error>> {
        let file: PathBuf = std::env::args_os().nth(1).ok_or("usage: live SCENARIO.toml")?.into();
        let document =
            Document::from_toml(&file.display().to_string(), &std::fs::read_to_string(&file)?)?;
        let has = |option: &str| std::env::args().any(|argument| argument == option);
        let stack = if has("--udp") { Stack::Udp } else { Stack::Kernel };
        let links = if has("--tc") { Links::Kernel } else { Links::Sojourn };
        let options = Options { stack, links, ..Options::default() };
        let folder = file.parent().unwrap_or(&file).to_owned();
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        let stacks = sojourn_quic::endpoint::stacks();
        let known = Known { stacks, ..Known::from(&Catalogue::shipped()) };
        let scenario = document.resolve_known(&known, &read)?;
        let control = scenario.controls.first();
        let stop = AtomicBool::new(false);
        let report = sojourn_live::run(&scenario, control, scenario.seed, &options, &stop)?;
        println!("live");
        print_record(&report.outcome);
        print_timing(&report);
        if has("--simulate") {
            println!("simulated");
            print_record(&Simulation::new(&scenario, control, scenario.seed).finish());
        }
        Ok(())
    }

    fn print_record(outcome: &Outcome) {
        let ms = |s: Option<f64>| s.map_or("-".to_owned(), |s| format!("{:.3} ms", s * 1e3));
        for flow in &outcome.summary.flows {
            println!(
                "flow {}: {:.3} Mbit/s, {} packets sent, {} dropped, {} marked, {} retransmitted",
                flow.name,
                flow.goodput_bps / 1e6,
                flow.sent_packets,
                flow.dropped_packets,
                flow.marked_packets,
                flow.retransmitted_packets
            );
        }
        for link in &outcome.summary.links {
            println!(
                "link {}: utilisation {:.4}, queueing delay p50 {} p99 {} max {}, {} arrived, {} delivered, {} dropped, {} marked",
                link.name,
                link.utilisation.unwrap_or(f64::NAN),
                ms(link.queue_delay_p50_s),
                ms(link.queue_delay_p99_s),
                ms(link.queue_delay_max_s),
                link.arrived_packets,
                link.delivered_packets,
                link.dropped_packets,
                link.marked_packets
            );
        }
    }

    fn print_timing(report: &Report) {
        let us = |h: &Histogram, q| h.quantile(q).unwrap_or(0) as f64 / 1e3;
        let late = &report.timing.lateness;
        println!(
            "lateness: p50 {:.1} us, p99 {:.1} us, p99.9 {:.1} us, max {:.1} us; real time {}, locked {}, spun {:.3} s, stolen {:.3} s",
            us(late, 0.5),
            us(late, 0.99),
            us(late, 0.999),
            us(late, 1.0),
            report.timing.is_realtime,
            report.timing.is_locked,
            report.timing.spun.as_secs_f64(),
            report.timing.stolen.as_secs_f64()
        );
        println!("{:?}", report.accounts);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
        println!("memory: {}", peak.unwrap_or_default());
        if let Some(warning) = report.timing.warning(Duration::from_micros(100)) {
            println!("warning: {warning}");
        }
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
