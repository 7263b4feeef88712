//! DualPI2 as in Linux (`net/sched/sch_dualpi2.c`, since 6.17), with its defaults.
//!
//! Deviation (RFC 9332 appendix A): as in Linux, marking is random, and the L queue's own AQM is a
//! step that marks independently of the coupled probability; the pseudocode ([`crate::dualpi2`])
//! takes the greater of the two. The PI controller neither marks nor drops with less than two full
//! packets behind the packet.
//! Deviation (Linux sch_dualpi2.c): absent are dropping on arrival (`drop_enqueue`), the step in
//! packets and its `min_qlen_step`, `any_ect`, `memlimit` beside the link's own buffer, filters,
//! and the splitting of segmentation offloads. The probability is a float; the kernel has 32 bits.

use sojourn_params::{Kind, Param};
use sojourn_units::{Bytes, Duration, Ecn};

use crate::contract::{Info, Setup};
use crate::dualq::{Case, DualQ, Judge, Verdict, params};
use crate::random::Random;

const SOURCE: &str = "dualpi2_reset_default in Linux 6.17";

const STEP_THRESH: Param = Param {
    name: "step_thresh",
    kind: Kind::Time(Duration::from_millis(1), Duration::ZERO, Duration::MAX),
    doc: "Sojourn time above which every packet of the L queue is marked",
    source: SOURCE,
};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "dualpi2_linux",
    title: "DualPI2 as in Linux: its defaults, its step, its random decisions",
    source: "net/sched/sch_dualpi2.c, Linux 6.17; RFC 9332",
    params: &[
        params::TARGET,
        params::tupdate(Duration::from_millis(16), SOURCE),
        // 41/256 and 819/256.
        params::alpha(0.160_156_25, SOURCE),
        params::beta(3.199_218_75, SOURCE),
        params::K,
        STEP_THRESH,
        params::DROP_ON_OVERLOAD,
        params::SCHEDULER,
        params::classic_protection(0.1, SOURCE),
        params::TSHIFT,
    ],
    // tc-dualpi2(8): limit.
    default_packets: 10_000,
    random: true,
    ordered: &[],
    inner: &[],
    shaping: None,
};

/// The coupled queues of Linux.
pub(crate) type DualPi2Linux<P> = DualQ<P, Linux>;

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
        case.p * self.k > 1.0
    }

    /// True with probability p'^2: two random numbers below p'.
    fn rolls_squared(&mut self, case: &Case) -> bool {
        self.random.rolls(case.p) && self.random.rolls(case.p)
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
        if self.random.rolls(case.p * self.k) { Verdict::Mark } else { Verdict::Pass }
    }
}

impl Judge for Linux {
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
