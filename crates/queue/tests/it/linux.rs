//! FQ-CoDel and PIE beside the kernel's own code, decision by decision.
//!
//! `OUTCOMES` are the results of `sch_fq_codel.c` and `sch_pie.c` of Linux 6.12 in user space, on
//! the same inputs. `studies/reference` has more.

use crate::common::Rig;
use sojourn_queue::Limit;
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

/// The kernel's decisions: for each queue and input the packets delivered, dropped and marked,
/// and a hash of the fate of each packet with its step.
const OUTCOMES: &str = include_str!("linux.txt");

/// One input.
struct Input {
    name: &'static str,
    seed: u64,
    period: u64,
    gap_ns: u64,
    put: [u64; 3],
    flows: u64,
    limit: u64,
    ecn_capable: u64,
    sizes: [u64; 2],
    switches: &'static [(&'static str, bool)],
    pause: u64,
}

const STEPS: u64 = 360_000;

const FQ_CODEL: [Input; 6] = [
    input("steady", 1, 1000, 300_000, [510, 500, 490], 8, 10_240, 0, [1500, 1500], &[], 0),
    input("marks", 2, 5000, 300_000, [560, 520, 440], 8, 10_240, 4, MIXED, &[], 0),
    input("overload", 3, 20_000, 100_000, [700, 600, 400], 8, 1000, 0, MIXED, &[], 0),
    input("few", 4, 20_000, 100_000, [800, 700, 500], 2, 200, 2, MIXED, &[], 0),
    input("sparse", 5, 300, 1_000_000, [520, 480, 500], 100, 300, 2, MIXED, &[], 0),
    input("no ECN", 6, 5000, 300_000, [560, 520, 440], 8, 10_240, 4, MIXED, &[("ecn", false)], 0),
];

const PIE: [Input; 6] = [
    input("steady", 1, 1000, 500_000, [502, 500, 498], 4, 1000, 0, [1500, 1500], &[], 0),
    input("overload", 2, 5000, 300_000, [560, 520, 440], 4, 1000, 2, MIXED, ECN, 0),
    input("bytes", 3, 5000, 300_000, [540, 520, 460], 4, 1000, 0, MIXED, &[("bytemode", true)], 0),
    input("estimator", 4, 5000, 300_000, [540, 510, 470], 4, 1000, 4, MIXED, ESTIMATOR, 0),
    input("pauses", 5, 2000, 300_000, [600, 500, 400], 4, 1000, 4, MIXED, ECN, 20_000),
    input("flood", 6, 20_000, 1_000_000, [900, 800, 300], 4, 1000, 4, MIXED, ECN, 0),
];

const MIXED: [u64; 2] = [64, 1514];
const ECN: &[(&str, bool)] = &[("ecn", true)];
const ESTIMATOR: &[(&str, bool)] = &[("ecn", true), ("dq_rate_estimator", true)];

#[allow(clippy::too_many_arguments, reason = "one line for each input")]
const fn input(
    name: &'static str,
    seed: u64,
    period: u64,
    gap_ns: u64,
    put: [u64; 3],
    flows: u64,
    limit: u64,
    ecn_capable: u64,
    sizes: [u64; 2],
    switches: &'static [(&'static str, bool)],
    pause: u64,
) -> Input {
    Input { name, seed, period, gap_ns, put, flows, limit, ecn_capable, sizes, switches, pause }
}

/// `SplitMix64` (Steele et al. 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Decisions so far.
#[derive(Default)]
struct Outcome {
    counts: [u64; 3],
    hash: u64,
}

impl Outcome {
    /// Adds a fate (0: dropped, 1: delivered, 2: delivered with a mark) to the hash (FNV-1a).
    fn note(&mut self, step: u64, fate: u64, id: u64) {
        self.counts[fate as usize] += 1;
        for byte in [step, fate, id].iter().flat_map(|number| number.to_le_bytes()) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn line(&self, name: &str) -> String {
        let [dropped, plain, marked] = self.counts;
        let (delivered, hash) = (plain + marked, self.hash);
        format!(
            "{name}: {delivered} delivered, {dropped} dropped, {marked} marked, hash {hash:016x}"
        )
    }
}

/// The decisions of the queue of this name.
fn outcome(queue: &str, input: &Input) -> String {
    let switches = input.switches.iter().map(|(name, on)| (*name, Value::Switch(*on)));
    // In user space, updates are exact.
    let exact = (queue == "pie_linux").then_some(("tick", Value::Time(Duration::ZERO)));
    let limit = Limit { packets: input.limit, ..Limit::NONE };
    let mut rig = Rig::new(queue, limit, input.seed, &switches.chain(exact).collect::<Vec<_>>());
    let mut draws = SplitMix(input.seed);
    let mut outcome = Outcome { hash: 0xcbf2_9ce4_8422_2325, ..Outcome::default() };
    let mut now = Instant::ZERO;
    for step in 0..STEPS {
        now += Duration(draws.next() % (2 * input.gap_ns + 1));
        if input.pause > 0 && step % input.pause == 0 {
            now += Duration::from_secs(1);
        }
        if draws.next() % 1000 < input.put[(step / input.period % 3) as usize] {
            let is_first = draws.next().is_multiple_of(2);
            let flow = if is_first { 0 } else { draws.next() % input.flows };
            let [least, most] = input.sizes;
            let size = least + draws.next() % (most - least + 1);
            let is_capable = draws.next() % 4 < input.ecn_capable;
            rig.put(now, flow, size, if is_capable { Ecn::Ect0 } else { Ecn::NotEct });
        } else if let Some(packet) = rig.take(now) {
            rig.dropped.drain(..).for_each(|(packet, _)| outcome.note(step, 0, packet.id));
            outcome.note(step, 1 + u64::from(packet.ecn == Ecn::Ce), packet.id);
        }
        rig.dropped.drain(..).for_each(|(packet, _)| outcome.note(step, 0, packet.id));
    }
    outcome.line(input.name)
}

/// The kernel's lines for a queue.
fn expected(queue: &str) -> Vec<&'static str> {
    let lines = OUTCOMES.lines().skip_while(|line| *line != queue).skip(1);
    lines.take_while(|line| line.contains(':')).collect()
}

#[test]
fn fq_codel_decides_as_linux() {
    let found: Vec<_> = FQ_CODEL.iter().map(|input| outcome("fq_codel", input)).collect();
    assert_eq!(found, expected("fq_codel"));
}

#[test]
fn pie_linux_decides_as_linux() {
    let found: Vec<_> = PIE.iter().map(|input| outcome("pie_linux", input)).collect();
    assert_eq!(found, expected("pie"));
}
