//! Prints the bare loop's packets for each CPU second, in case A:
//! `cargo run --release -p sojourn-bare-loop`. With a number of CPU seconds to run for, prints the
//! figure alone, for `sojourn bench`.

use cpu_time::ThreadTime;
use sojourn_bare_loop::{Setup, run};

/// Simulated time of each run, as in case A.
const RUN_NS: u64 = 60_000_000_000;

/// The packets for each CPU second. The runs repeat for at least this much CPU time.
fn pps(least_cpu_s: f64) -> f64 {
    let (began, mut packets, mut spent) = (ThreadTime::now(), 0, 0.0);
    while packets == 0 || spent < least_cpu_s {
        packets += run(&Setup::case_a(RUN_NS)).delivered;
        spent = began.elapsed().as_secs_f64();
    }
    packets as f64 / spent
}

fn main() -> Result<(), std::num::ParseFloatError> {
    match std::env::args().nth(1) {
        Some(least_cpu_s) => println!("{}", pps(least_cpu_s.parse()?)),
        None => {
            let pps = pps(1.0);
            println!("{:.2} million packets a CPU second, {:.1} ns a packet", pps / 1e6, 1e9 / pps);
        }
    }
    Ok(())
}
