//! DualPI2 as in Linux (`net/sched/sch_dualpi2.c`, since 6.17), with its defaults.
//!
//! Deviation (RFC 9332 appendix A): as in Linux, marking is random, and the L queue's own AQM is a
//! step that marks independently of the coupled probability; the pseudocode ([`crate::dualpi2`])
//! takes the greater of the two. The PI controller neither marks nor drops with less than two full
//! packets behind the packet.
//! Deviation (Linux sch_dualpi2.c): absent are dropping on arrival (`drop_enqueue`), the step in
//! packets and its `min_qlen_step`, `any_ect`, `memlimit` beside the link's own buffer, filters,
//! and the splitting of segmentation offloads.

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Ecn};

use crate::contract::{Info, Setup};
use crate::dualq::pi::Law;
use crate::dualq::{Case, DualQ, Judge, Verdict, declared};
use crate::random::Random;

const SOURCE: &str = "dualpi2_reset_default in Linux 6.17";

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "dualpi2_linux",
    title: "DualPI2 as in Linux: its defaults, its step, its random decisions",
    source: "net/sched/sch_dualpi2.c, Linux 6.17; RFC 9332",
    params: keys! {
        declared::TARGET;
        declared::tupdate(Duration::from_millis(16), SOURCE);
        // 41/256 and 819/256.
        declared::alpha(0.160_156_25, SOURCE);
        declared::beta(3.199_218_75, SOURCE);
        declared::K;
        /// Sojourn time above which every packet of the L queue is marked
        step_thresh: Kind::Time(Duration::from_millis(1), Duration::ZERO, Duration::MAX), SOURCE;
        declared::DROP_ON_OVERLOAD;
        declared::SCHEDULER;
        declared::classic_protection(0.1, SOURCE);
        declared::TSHIFT;
    },
    // tc-dualpi2(8): limit.
    default_packets: 10_000,
    random: true,
    ..Info::BASE
};

/// The coupled queues of Linux.
pub(crate) type DualPi2Linux<P> = DualQ<P, Linux>;

/// `MAX_PROB`, and the unit of probabilities.
const MAX_PROB: u64 = u32::MAX as u64;
const UNIT: f64 = 1.0 / 4_294_967_296.0;

/// The law of the base probability in the kernel's integers (`calculate_probability`).
pub struct Integers {
    /// Delays in nanoseconds.
    target: i64,
    last_delay: i64,
    /// In 64 times the unit a nanosecond.
    alpha: i64,
    beta: i64,
    prob: u32,
    /// Maximum of `prob`.
    most: u32,
}

/// A gain in Hz, as the kernel scales it from parts of 256 (`dualpi2_scale_alpha_beta`).
fn gain(hz: f64) -> i64 {
    let parts = (hz * 256.0).round() as u64;
    (((parts * MAX_PROB) >> 2) / 1_000_000_000) as i64
}

impl Law for Integers {
    fn new(params: &Params) -> Integers {
        let k = params.number("k") as u64;
        let most = if params.switch("drop_on_overload") { MAX_PROB } else { MAX_PROB / k };
        Integers {
            target: nanoseconds(params.time("target")),
            last_delay: 0,
            alpha: gain(params.number("alpha")),
            beta: gain(params.number("beta")),
            prob: 0,
            most: most as u32,
        }
    }

    #[inline]
    fn p(&self) -> f64 {
        f64::from(self.prob) * UNIT
    }

    /// A change of more than 2^32 wraps, as in the kernel: a queue that empties within a `tupdate`
    /// after a delay of more than 0.3 s may leave a probability above zero.
    fn step(&mut self, delay: Duration) {
        let (delay, old) = (nanoseconds(delay), self.prob);
        let integral = (delay - self.target).wrapping_mul(self.alpha);
        let proportional = (delay - self.last_delay).wrapping_mul(self.beta);
        let delta = integral.wrapping_add(proportional);
        self.last_delay = delay;
        let change = (delta.unsigned_abs() >> 6) as u32;
        self.prob = if delta > 0 {
            Some(old.wrapping_add(change)).filter(|new| *new >= old).unwrap_or(u32::MAX)
        } else {
            Some(old.wrapping_sub(change)).filter(|new| *new <= old).unwrap_or(0)
        };
        self.prob = self.prob.min(self.most);
    }

    fn is_settled(&self, delay: Option<Duration>) -> bool {
        match delay.map(nanoseconds) {
            None => self.prob == 0 && self.last_delay == 0,
            Some(delay) => {
                self.prob == self.most && delay >= self.target && delay >= self.last_delay
            }
        }
    }
}

fn nanoseconds(span: Duration) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

/// Random marking.
pub struct Linux {
    k: f64,
    step_thresh: Duration,
    drop_on_overload: bool,
    mtu: Bytes,
    random: Random,
}

impl Linux {
    /// `must_drop`: two packets are not a standing queue.
    fn is_short(&self, case: &Case) -> bool {
        case.behind_both.bytes < self.mtu * 2
    }

    fn is_overload(&self, case: &Case) -> bool {
        case.p * self.k > MAX_PROB as f64 * UNIT
    }

    /// `dualpi2_roll`: also at a draw of `p` itself.
    fn rolls(&mut self, p: f64) -> bool {
        (self.random.next_bits() >> 32) as f64 * UNIT <= p
    }

    /// True with probability p'^2: two random numbers up to p'.
    fn rolls_squared(&mut self, case: &Case) -> bool {
        self.rolls(case.p) && self.rolls(case.p)
    }

    /// `dualpi2_scalable_marking`.
    fn coupled(&mut self, case: &Case) -> Verdict {
        if self.is_short(case) {
            return Verdict::Pass;
        }
        if self.is_overload(case) {
            let drops = self.drop_on_overload && self.rolls_squared(case);
            return if drops { Verdict::Drop } else { Verdict::Mark };
        }
        if self.rolls(case.p * self.k) { Verdict::Mark } else { Verdict::Pass }
    }
}

impl Judge for Linux {
    type Law = Integers;

    fn new(setup: &Setup) -> Linux {
        Linux {
            k: setup.params.number("k"),
            step_thresh: setup.params.time("step_thresh"),
            drop_on_overload: setup.params.switch("drop_on_overload"),
            mtu: setup.mtu,
            random: Random::new(setup.seed),
        }
    }

    /// `must_drop`, then `do_step_aqm`.
    fn l4s(&mut self, case: &Case) -> Verdict {
        match self.coupled(case) {
            Verdict::Pass if case.sojourn > self.step_thresh => Verdict::Mark,
            verdict => verdict,
        }
    }

    /// `dualpi2_classic_marking`.
    fn classic(&mut self, case: &Case) -> Verdict {
        if self.is_short(case) || !self.rolls_squared(case) {
            return Verdict::Pass;
        }
        let must_drop = case.ecn == Ecn::NotEct || self.is_overload(case);
        if must_drop { Verdict::Drop } else { Verdict::Mark }
    }
}
