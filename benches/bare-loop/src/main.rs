//! Prints the bare loop's packets for each CPU second, for case A over at least a CPU second:
//! `cargo run --release -p sojourn-bare-loop`.

use cpu_time::ThreadTime;
use sojourn_bare_loop::{Setup, run};

/// Simulated time of each run, as in case A.
const RUN_NS: u64 = 60_000_000_000;
/// The runs repeat until the thread has used this much CPU time.
const LEAST_CPU_S: f64 = 1.0;

fn main() {
    let (began, mut packets, mut spent) = (ThreadTime::now(), 0, 0.0);
    while spent < LEAST_CPU_S {
        packets += run(&Setup::case_a(RUN_NS)).delivered;
        spent = began.elapsed().as_secs_f64();
    }
    let pps = packets as f64 / spent;
    println!("{:.2} million packets a CPU second, {:.1} ns a packet", pps / 1e6, 1e9 / pps);
}
