//! DualPI2 after the pseudocode of RFC 9332 appendix A, with the overload extension of
//! section A.2.
//!
//! The RFC's figures omit some details or leave them open:
//!
//! - Deviation (RFC 9332 appendix A): p' is clamped to between 0 and 1, which the figures omit for
//!   clarity, and p_CL is at most 1, without which the counter of `recur` would grow without limit
//!   under overload.
//! - Deviation (RFC 9332 appendix A.1): the scheduler is weighted round robin by bytes, as in
//!   Linux, which bounds the L queue's priority (section 4.2.2), or a time-shifted FIFO (`scheduler
//!   = "ts-fifo"`). The C queue's weight of 1/16 is our choice.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Duration, Ecn};

use crate::contract::{Info, Setup};
use crate::dualq::pi::Real;
use crate::dualq::{Case, DualQ, Judge, Verdict, declared};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "dualpi2",
    title: "DualPI2: an L4S queue beside a Classic one, coupled, by the RFC's pseudocode",
    source: "RFC 9332 appendix A",
    params: keys! {
        declared::TARGET;
        declared::tupdate(
            Duration::from_millis(15),
            "RFC 9332 appendix A.1: min(target, RTT_max / 3)",
        );
        declared::alpha(0.15, "RFC 9332 appendix A.1: 0.1 Tupdate / RTT_max^2, RTT_max 100 ms");
        declared::beta(3.0, "RFC 9332 appendix A.1: 0.3 / RTT_max");
        declared::K;
        /// Sojourn time above which the L queue's own AQM begins to mark
        min_th: Kind::Time(Duration::from_micros(800), Duration::ZERO, Duration::MAX),
            "RFC 9332 appendix A.1, minTh";
        /// Width above min_th of the ramp to full marking by the L queue's own AQM; 0: a step
        range: Kind::Time(Duration::from_micros(400), Duration::ZERO, Duration::MAX),
            "RFC 9332 appendix A.1";
        /// Packets in the L queue up to which its own AQM never marks
        th_len: Kind::Integer(1, 0, u32::MAX as u64), "RFC 9332 appendix A.1, Th_len";
        declared::DROP_ON_OVERLOAD;
        declared::SCHEDULER;
        declared::classic_protection(0.0625, "ours; RFC 9332 section 4.2.2 asks for some");
        declared::TSHIFT;
    },
    // Deviation (RFC 9332 appendix A.1): the buffer is 10,000 packets by default, as in Linux; the
    // RFC's 250 ms depend on the link's rate.
    default_packets: 10_000,
    ..Info::BASE
};

/// The coupled queues of RFC 9332.
pub(crate) type DualPi2<P> = DualQ<P, Rfc>;

/// Deterministic marking, without random numbers.
pub struct Rfc {
    k: f64,
    min_th: Duration,
    range: Duration,
    th_len: u64,
    drop_on_overload: bool,
    /// `lq.count` and `cq.count` of `recur`.
    l_count: f64,
    c_count: f64,
}

impl Rfc {
    /// p_CL, at most p_Lmax = 1.
    fn p_cl(&self, case: &Case) -> f64 {
        (self.k * case.p).min(1.0)
    }

    /// Whether marking all of the L queue is not enough: p_CL has reached p_Lmax, and p_C
    /// has reached p_Cmax = 1/k^2.
    fn is_overload(&self, case: &Case) -> bool {
        self.drop_on_overload && self.p_cl(case) >= 1.0
    }

    /// The L queue's own AQM: `laqm`, with p'_L from 0 to 1.
    fn laqm(&self, case: &Case) -> f64 {
        // As in the pseudocode, the queue length excludes the dequeued packet.
        if case.behind.packets <= self.th_len || case.sojourn <= self.min_th {
            return 0.0;
        }
        let beyond = case.sojourn.saturating_sub(self.min_th);
        if beyond >= self.range { 1.0 } else { beyond.0 as f64 / self.range.0 as f64 }
    }
}

/// `recur`: returns true at even intervals, in a fraction `likelihood` of the calls.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    let is_due = *count > 1.0;
    if is_due {
        *count -= 1.0;
    }
    is_due
}

impl Judge for Rfc {
    type Law = Real;

    fn new(setup: &Setup) -> Rfc {
        Rfc {
            k: setup.params.number("k"),
            min_th: setup.params.time("min_th"),
            range: setup.params.time("range"),
            th_len: setup.params.integer("th_len"),
            drop_on_overload: setup.params.switch("drop_on_overload"),
            l_count: 0.0,
            c_count: 0.0,
        }
    }

    /// RFC 9332 appendix A.2: marks by the greater of the native and the coupled
    /// probability; under overload, first applies the Classic drop probability.
    fn l4s(&mut self, case: &Case) -> Verdict {
        let p_cl = self.p_cl(case);
        if !self.is_overload(case) {
            let p_l = self.laqm(case).max(p_cl);
            return if recur(&mut self.l_count, p_l) { Verdict::Mark } else { Verdict::Pass };
        }
        if recur(&mut self.l_count, case.p * case.p) {
            return Verdict::Drop;
        }
        if recur(&mut self.l_count, p_cl) { Verdict::Mark } else { Verdict::Pass }
    }

    /// RFC 9332 appendix A.2, p_C = p'^2: drops Not-ECT packets, and all packets under
    /// overload; marks otherwise.
    fn classic(&mut self, case: &Case) -> Verdict {
        if !recur(&mut self.c_count, case.p * case.p) {
            return Verdict::Pass;
        }
        let must_drop = case.ecn == Ecn::NotEct || self.is_overload(case);
        if must_drop { Verdict::Drop } else { Verdict::Mark }
    }
}
