//! PIE: proportional integral controller enhanced (RFC 8033).
//!
//! PIE drops arrivals at random ([`Pie::judge`]). The control loop in [`control`] computes
//! the drop probability from the queueing delay. The delay is the sojourn time of the last
//! dequeued packet or, optionally, the backlog over the dequeue rate of [`dq_rate`] (RFC
//! 8033 section 4.3 allows either).
//!
//! Of the optional elements of section 5, this implements marking, the estimate of the
//! dequeue rate, derandomisation and the cap on adjustments.
//!
//! Deviation (RFC 8033 section 5.3): PIE is always active, as in Linux. The section, which is
//! optional, turns it on at a third of the buffer, which would leave the delay of a large buffer
//! uncontrolled.

use sojourn_params::{Kind, Param};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Backlog, DropReason, Info, Packet, Setup};
use crate::fifo::{FifoPolicy, FifoQueue, LimitedFifo};
use crate::random::Random;
use crate::slow_path::{SlowPath, drop_full};

mod control;
mod dq_rate;

use control::Control;
use dq_rate::DqRate;

pub(crate) const TARGET: Param = Param {
    name: "target",
    kind: Kind::Time(Duration::from_millis(15), Duration::ZERO, Duration::MAX),
    doc: "Target queueing delay",
    source: "RFC 8033 section 4.2, QDELAY_REF",
};

pub(crate) const TUPDATE: Param = Param {
    name: "tupdate",
    // Linux counts in microseconds and cannot be set lower.
    kind: Kind::Time(Duration::from_millis(15), Duration::from_micros(1), Duration::MAX),
    doc: "Time between two updates of the drop probability",
    source: "RFC 8033 section 4.2, T_UPDATE",
};

// tc-pie(8) sets both gains in sixteenths, from 0 to 32 (`pie_calculate_probability`).
pub(crate) const ALPHA: Param = Param {
    name: "alpha",
    kind: Kind::Number(0.125, 0.0, 2.0),
    doc: "Integral gain in Hz, for the delay above target",
    source: "RFC 8033 section 4.2; range of tc-pie(8), 0 to 32 sixteenths",
};

pub(crate) const BETA: Param = Param {
    name: "beta",
    kind: Kind::Number(1.25, 0.0, 2.0),
    doc: "Proportional gain in Hz, for the delay's change since the last update",
    source: "RFC 8033 section 4.2; range of tc-pie(8), 0 to 32 sixteenths",
};

const MAX_BURST: Param = Param {
    name: "max_burst",
    kind: Kind::Time(Duration::from_millis(150), Duration::ZERO, Duration::MAX),
    doc: "Duration of a burst into a calm queue that passes without drops",
    source: "RFC 8033 section 4.4, MAX_BURST",
};

pub(crate) const ECN: Param = Param {
    name: "ecn",
    kind: Kind::Switch(false),
    doc: "Marks ECN-capable packets CE instead of dropping them, up to mark_ecnth",
    source: "RFC 8033 section 5.1; tc-pie(8)",
};

const MARK_ECNTH: Param = Param {
    name: "mark_ecnth",
    kind: Kind::Number(0.1, 0.0, 1.0),
    doc: "Drop probability above which ECN-capable packets are dropped too",
    source: "RFC 8033 section 5.1",
};

pub(crate) const DQ_RATE_ESTIMATOR: Param = Param {
    name: "dq_rate_estimator",
    kind: Kind::Switch(false),
    doc: "Computes the delay from the queued bytes and the dequeue rate, not from timestamps",
    source: "RFC 8033 sections 4.3 and 5.2; tc-pie(8)",
};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "pie",
    title: "PIE: drops arrivals at random to keep the queueing delay at target",
    source: "RFC 8033",
    params: &[TARGET, TUPDATE, ALPHA, BETA, MAX_BURST, ECN, MARK_ECNTH, DQ_RATE_ESTIMATOR],
    // tc-pie(8): limit.
    default_packets: 1000,
    random: true,
    ordered: &[],
    inner: &[],
    shaper: None,
};

/// A FIFO controlled by PIE.
pub(crate) type Pie<P> = FifoQueue<P, PiePolicy>;

/// The control loop and its state.
pub struct PiePolicy {
    control: Control,
    latency: Latency,
    /// Sum of the drop probabilities since the last drop (`accu_prob_`).
    accu_prob: f64,
    ecn: bool,
    mark_ecnth: f64,
    mtu: Bytes,
    random: Random,
}

/// Source of the current queueing delay.
enum Latency {
    /// The sojourn time of the last packet dequeued.
    Timestamp(Duration),
    /// Little's law.
    DqRate(DqRate),
}

impl Latency {
    /// `current_qdelay`, in seconds.
    fn qdelay(&self, backlog: Backlog) -> f64 {
        match self {
            Latency::Timestamp(sojourn) => sojourn.as_secs_f64(),
            Latency::DqRate(rate) => rate.qdelay(backlog.bytes),
        }
    }

    /// Records a dequeued packet of `size`, which left `backlog` behind.
    fn on_dequeued(&mut self, now: Instant, size: Bytes, sojourn: Duration, backlog: Backlog) {
        match self {
            Latency::Timestamp(last) => *last = sojourn,
            Latency::DqRate(rate) => rate.on_dequeued(now, size, backlog.bytes),
        }
        self.note_if_empty(backlog);
    }

    /// Deviation (RFC 8033 section 4.3): the delay of an empty queue is zero, as in Linux
    /// (`pie_process_dequeue`), and not the last packet's sojourn time, which no later dequeue
    /// corrects.
    fn note_if_empty(&mut self, backlog: Backlog) {
        if let (Latency::Timestamp(last), 0) = (self, backlog.packets) {
            *last = Duration::ZERO;
        }
    }
}

impl PiePolicy {
    #[inline]
    fn update(&mut self, now: Instant, backlog: Backlog) {
        if self.control.is_due(now) {
            self.control.update(now, self.latency.qdelay(backlog));
        }
    }

    /// Whether to drop or mark an arrival: `drop_early()` of RFC 8033, after the burst
    /// allowance (section 4.4).
    fn judge(&mut self, backlog: Backlog) -> bool {
        // Deviation (RFC 8033 section 5.4): the accumulated drop probability pauses during the
        // burst allowance, as in Linux.
        if self.control.allows_burst(self.latency.qdelay(backlog)) {
            return false;
        }
        // Section 4.1: do not drop from a calm queue or one of two packets.
        //
        // Deviation (RFC 8033 section 4.1): the two packets, up to which a queue drops none, are of
        // the largest size, as in Linux; the RFC has MEAN_PKTSIZE.
        if self.control.is_calm() || backlog.bytes <= self.mtu * 2 {
            return false;
        }
        self.rolls()
    }

    /// Section 5.4: draws a drop; the probability summed since the last drop bounds their spacing.
    fn rolls(&mut self) -> bool {
        let drop_prob = self.control.drop_prob();
        if drop_prob <= 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += drop_prob;
        let hits = match self.accu_prob {
            accu_prob if accu_prob < 0.85 => false,
            accu_prob if accu_prob >= 8.5 => true,
            _ => self.random.rolls(drop_prob),
        };
        if hits {
            self.accu_prob = 0.0;
        }
        hits
    }

    /// Section 5.1.
    fn may_mark<P: Packet>(&self, packet: &P) -> bool {
        self.ecn && packet.ecn().is_capable() && self.control.drop_prob() <= self.mark_ecnth
    }

    #[inline(never)]
    fn enqueue_slow<P: Packet>(
        &mut self,
        buffer: &mut LimitedFifo<P>,
        now: Instant,
        SlowPath(packet): &mut SlowPath<P>,
        drops: &mut dyn FnMut(P, DropReason),
    ) {
        if !buffer.admits(packet.size()) {
            self.accu_prob = 0.0;
            return drop_full(&SlowPath(*packet), drops);
        }
        if self.judge(buffer.fifo.backlog()) {
            if !self.may_mark(packet) {
                return drops(*packet, DropReason::Aqm);
            }
            packet.mark_ce();
        }
        buffer.fifo.push(now, *packet);
    }
}

impl FifoPolicy for PiePolicy {
    fn new(setup: &Setup) -> PiePolicy {
        let estimates = setup.params.switch("dq_rate_estimator");
        PiePolicy {
            control: Control::new(&setup.params),
            latency: if estimates {
                Latency::DqRate(DqRate::default())
            } else {
                Latency::Timestamp(Duration::ZERO)
            },
            accu_prob: 0.0,
            ecn: setup.params.switch("ecn"),
            mark_ecnth: setup.params.number("mark_ecnth"),
            mtu: setup.mtu,
            random: Random::new(setup.seed),
        }
    }

    #[inline]
    fn enqueue<P: Packet>(
        &mut self,
        buffer: &mut LimitedFifo<P>,
        now: Instant,
        packet: P,
        drops: &mut dyn FnMut(P, DropReason),
    ) {
        self.update(now, buffer.fifo.backlog());
        self.enqueue_slow(buffer, now, &mut SlowPath(packet), drops);
    }

    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        buffer: &mut LimitedFifo<P>,
        now: Instant,
        _drops: &mut dyn FnMut(P, DropReason),
    ) -> Option<P> {
        self.update(now, buffer.fifo.backlog());
        let packet = buffer.fifo.pop()?;
        let sojourn = now.since(packet.enqueued_at());
        self.latency.on_dequeued(now, packet.size(), sojourn, buffer.fifo.backlog());
        Some(packet)
    }

    fn after_drop(&mut self, _now: Instant, backlog: Backlog) {
        // A drop is not a departure, so the dequeue rate does not count it.
        self.latency.note_if_empty(backlog);
    }
}
