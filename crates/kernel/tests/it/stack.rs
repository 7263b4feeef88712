//! The programs for the kernel, with the calls of Linux in its order, as native programs.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::{Params, Value};

use crate::common::defaults;
use crate::native::Native;
use crate::record::Trace;

const NONE: u64 = u64::MAX;
const MSS: u64 = 1448;
const INITIAL_PACKETS: u64 = 10;

/// The event at the sender in a step (`enum step_kind` in `bpf/stack.c`).
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Handshake,
    Acknowledgement,
    Timeout,
    SmallerMtu,
    Restart,
    Start,
}

/// Flags of a step (`bpf/event.h` and `bpf/stack.c`).
const LOSS: u64 = 1 << 0;
const MARK: u64 = 1 << 1;
const SPURIOUS: u64 = 1 << 2;
const IN_RECOVERY: u64 = 1 << 3;
const CWND_LIMITED: u64 = 1 << 4;
const ENDS_RECOVERY: u64 = 1 << 8;
const IS_DISORDER: u64 = 1 << 9;
const HAS_TX_START: u64 = 1 << 10;

/// `struct step` in `bpf/stack.c`.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    now_us: u64,
    flags: u64,
    rtt_us: u64,
    acked: u64,
    ce: u64,
    snd_cwnd: u64,
    snd_ssthresh: u64,
}

impl Step {
    fn new(kind: Kind, now_us: u64) -> Step {
        let rtt_us = NONE;
        Step { kind, now_us, flags: 0, rtt_us, acked: 0, ce: 0, snd_cwnd: 0, snd_ssthresh: 0 }
    }

    fn words(self) -> [u64; 8] {
        let Step { kind, now_us, flags, rtt_us, acked, ce, snd_cwnd, snd_ssthresh } = self;
        [kind as u64, now_us, flags, rtt_us, acked, ce, snd_cwnd, snd_ssthresh]
    }
}

/// The state after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    snd_cwnd: u64,
    snd_ssthresh: u64,
    cwnd: u64,
    ssthresh: u64,
    digest: u64,
}

/// The states of a program after each step; `None` while an acknowledgement waits.
fn states(native: &Native, params: &[u64], steps: &[Step]) -> Vec<Option<State>> {
    let steps: Vec<_> = steps.iter().flat_map(|step| step.words()).collect();
    let results = native.results(params.iter().chain(&steps));
    let state = |[snd_cwnd, snd_ssthresh, cwnd, ssthresh, digest, is_waiting]: [u64; 6]| {
        (is_waiting == 0).then_some(State { snd_cwnd, snd_ssthresh, cwnd, ssthresh, digest })
    };
    results.into_iter().map(state).collect()
}

fn words(name: &str, params: &Params) -> Vec<u64> {
    sojourn_kernel::words(sojourn_kernel::declared(name), params)
}

/// The recovery of a sender.
#[derive(Clone, Copy, PartialEq)]
enum Recovery {
    Open,
    /// The stack reduces the window for a mark.
    Marked,
    /// For a loss, or after a timeout.
    Lost,
}

/// A sender whose recovery, timers and samples are random, in an order that Linux can make.
struct Sender {
    random: Xoshiro256PlusPlus,
    now_us: u64,
    recovery: Recovery,
    /// How many of a thousand steps make the path MTU smaller.
    shrinks: u64,
}

impl Sender {
    fn new(seed: u64, shrinks: u64) -> Sender {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Sender { random, now_us: 1_000, recovery: Recovery::Open, shrinks }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn is_one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn steps(mut self, count: usize) -> Vec<Step> {
        let mut steps = vec![self.handshake()];
        steps.resize_with(count, || self.step());
        steps
    }

    /// The round trip of the SYN is shorter than all others.
    fn handshake(&mut self) -> Step {
        Step { rtt_us: 15_000, acked: 1, ..Step::new(Kind::Handshake, self.now_us) }
    }

    fn step(&mut self) -> Step {
        let gaps_us = [1, 50, 300, 2_000, 20_000, 400_000];
        let longest = if self.is_one_of(50) { 6 } else { 5 };
        self.now_us += gaps_us[self.below(longest) as usize];
        let kind = match self.below(1_000) {
            0..4 => Kind::Timeout,
            4..8 if self.recovery == Recovery::Open => Kind::Restart,
            place if place >= 1_000 - self.shrinks => Kind::SmallerMtu,
            _ => Kind::Acknowledgement,
        };
        let mut step = Step::new(kind, self.now_us);
        (step.snd_cwnd, step.snd_ssthresh) = (1 + self.below(200), 2 + self.below(200));
        match kind {
            Kind::Timeout | Kind::SmallerMtu => self.recovery = Recovery::Lost,
            Kind::Acknowledgement => self.acknowledge(&mut step),
            _ => {}
        }
        step
    }

    fn acknowledge(&mut self, step: &mut Step) {
        if !self.is_one_of(20) {
            let queue_us = if self.is_one_of(2) { 8_000 } else { 1_500 };
            step.rtt_us = 20_000 + self.below(queue_us);
        }
        // Without data in order: selective acknowledgements only.
        step.acked = if self.is_one_of(5) { 0 } else { 1 + self.below(4) };
        step.flags = if self.is_one_of(5) { 0 } else { CWND_LIMITED };
        let (flags, recovery) = match (self.recovery, self.below(100)) {
            (Recovery::Open, 0) => (LOSS, Recovery::Lost),
            (Recovery::Open, 1) => (MARK, Recovery::Marked),
            (Recovery::Open, 2) => (SPURIOUS, Recovery::Open),
            (Recovery::Open, 3..13) => (IS_DISORDER, Recovery::Open),
            (Recovery::Open, _) => (0, Recovery::Open),
            (_, 0..10) => (ENDS_RECOVERY, Recovery::Open),
            (_, 10..13) => (SPURIOUS, Recovery::Open),
            (_, 13..15) => (LOSS, Recovery::Lost),
            (recovery, _) => (0, recovery),
        };
        step.flags |= flags;
        self.recovery = recovery;
    }
}

/// LoLa takes an acknowledgement when the stack has processed it, or with the next call. Its state is
/// then that of an algorithm that has each acknowledgement at once, in any order of calls: with data
/// in order (`cong_avoid` follows), without, at a loss, a mark, a timeout or a spurious reduction, in
/// recovery, and before `init`.
#[test]
fn lola_in_the_kernel_is_the_algorithm_in_any_order_of_calls() {
    let Some(kernel) = Native::with_stack("lola.bpf.c") else { return };
    let at_once = Native::with_stack("at_once.h").expect("the same compiler");
    let declared = sojourn_cc::find("lola").expect("a controller").info.params;
    let mut forgetful = defaults("lola");
    forgetful.set(declared, "base_timeout", Value::Integer(2)).expect("a value");
    for (seed, params, shrinks) in
        [(1, defaults("lola"), 1), (2, forgetful, 1), (3, defaults("lola"), 40)]
    {
        let (params, steps) = (words("lola", &params), Sender::new(seed, shrinks).steps(20_000));
        let found = states(&kernel, &params, &steps);
        let wanted = states(&at_once, &params, &steps);
        assert_eq!((found.len(), wanted.len()), (steps.len(), steps.len()));
        for (place, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert!(found.is_none() || found == wanted, "step {place}: {found:?}, {wanted:?}");
        }
        let waiting = found.iter().filter(|state| state.is_none()).count();
        assert!((1_000..10_000).contains(&waiting), "{waiting} acknowledgements wait");
    }
    let lines = kernel.unexecuted("lola.bpf.c").unwrap_or_default();
    // Only a system without memory reaches some of these.
    let reachable: Vec<_> = lines.iter().filter(|line| !line.ends_with("return;")).collect();
    assert!(reachable.is_empty(), "no step reaches these lines: {reachable:?}");
}

/// A sender with marks and losses, whose stack reduces its window at once.
fn marks_and_losses(count: usize) -> Vec<Step> {
    let mut sender = Sender::new(1, 0);
    let mut steps = vec![Step::new(Kind::Handshake, sender.now_us)];
    steps.resize_with(count, || {
        sender.now_us += 1_000;
        let mut step = Step::new(Kind::Acknowledgement, sender.now_us);
        (step.acked, step.ce) = (1 + sender.below(4), u64::from(sender.is_one_of(20)));
        let (flags, recovery) = match (sender.recovery, sender.below(200)) {
            (Recovery::Open | Recovery::Marked, 0) => (LOSS, Recovery::Lost),
            (Recovery::Open, 1..4) => (MARK, Recovery::Marked),
            (Recovery::Open, _) => (0, Recovery::Open),
            (_, 1..40) => (ENDS_RECOVERY, Recovery::Open),
            (recovery, _) => (0, recovery),
        };
        sender.recovery = recovery;
        let in_recovery = if recovery == Recovery::Open { 0 } else { IN_RECOVERY };
        step.flags = CWND_LIMITED | flags | in_recovery;
        step
    });
    steps
}

/// The same steps as events of the algorithm. `found` has the windows in packets, which decide on the
/// end of an observation window.
fn events(steps: &[Step], found: &[Option<State>]) -> Vec<[u64; 13]> {
    let mut acked = 0;
    let before = found.iter().flatten().map(|state| state.snd_cwnd);
    let event = |(step, cwnd): (&Step, u64)| {
        acked += step.acked;
        let (bytes, flags) = (step.acked * MSS, step.flags & !ENDS_RECOVERY);
        [step.now_us, 0, flags, NONE, bytes, step.acked, step.ce, 0, acked, acked + cwnd, 0, 0, 0]
    };
    steps[1..].iter().zip(before).map(event).collect()
}

/// DCTCP keeps the fraction of a packet after marks and losses, as the algorithm in bytes does, though
/// the stack has whole packets.
#[test]
fn dctcp_in_the_kernel_keeps_the_fraction_of_a_packet() {
    let Some(kernel) = Native::with_stack("dctcp.bpf.c") else { return };
    let algorithm = Native::new("dctcp").expect("the same compiler");
    let declared = sojourn_cc::find("dctcp").expect("a controller").info.params;
    let steps = marks_and_losses(20_000);
    for arithmetic in ["exact", "linux"] {
        let mut params = defaults("dctcp");
        params.set(declared, "arithmetic", Value::Choice(arithmetic.into())).expect("a value");
        let params = words("dctcp", &params);
        let found = states(&kernel, &params, &steps);
        let events = events(&steps, &found);
        let trace =
            Trace { mss: MSS, initial_window: INITIAL_PACKETS * MSS, events, ..Trace::default() };
        let wanted = algorithm.run(&params, &trace);
        assert_eq!((found.len(), wanted.len()), (steps.len(), steps.len() - 1));
        let mut fractions = 0;
        for ((found, [cwnd, ssthresh, _]), step) in
            found[1..].iter().flatten().zip(wanted).zip(&steps[1..])
        {
            assert_eq!([found.cwnd, found.ssthresh], [cwnd, ssthresh], "at {} us", step.now_us);
            fractions += u64::from(step.flags & LOSS != 0 && cwnd % MSS != 0);
        }
        // Linux halves whole packets.
        assert_eq!(fractions > 10, arithmetic == "exact", "{fractions} losses leave a fraction");
    }
}

/// Linux 7.1 has a call of its own for the first packet after an idle time.
#[test]
fn prague_in_the_kernel_restarts_after_an_idle_time_by_either_call() {
    let Some(kernel) = Native::with_stack("prague.bpf.c") else { return };
    let params = words("prague", &defaults("prague"));
    let [before, after] = [0, HAS_TX_START].map(|call| {
        let start = |now_us| Step { flags: call, ..Step::new(Kind::Start, now_us) };
        let mut steps = vec![Step::new(Kind::Handshake, 1_000), start(1_000)];
        steps.extend((2..42).map(|ms| Step {
            flags: CWND_LIMITED,
            acked: 1,
            ..Step::new(Kind::Acknowledgement, ms * 1_000)
        }));
        // The retransmission timeout is 200 ms.
        steps.extend([start(100_000), start(299_000), start(500_000)]);
        let packets = states(&kernel, &params, &steps).into_iter().flatten();
        packets.map(|state| state.snd_cwnd).collect::<Vec<_>>()
    });
    assert_eq!(before, after);
    assert_eq!(before[before.len() - 2..], [INITIAL_PACKETS + 40, INITIAL_PACKETS]);
}
