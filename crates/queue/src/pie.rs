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

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Backlog, DropReason, Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};
use crate::random::Random;

mod control;
mod dq_rate;

use control::Control;
use dq_rate::DqRate;

keys! {
    /// Target queueing delay
    pub(crate) const TARGET =
        target: Kind::Time(Duration::from_millis(15), Duration::ZERO, Duration::MAX),
            "RFC 8033 section 4.2, QDELAY_REF";
    /// Time between two updates of the drop probability
    // Linux counts in microseconds and cannot be set lower.
    pub(crate) const TUPDATE =
        tupdate: Kind::Time(Duration::from_millis(15), Duration::from_micros(1), Duration::MAX),
            "RFC 8033 section 4.2, T_UPDATE";
    /// Integral gain in Hz, for the delay above target
    // tc-pie(8) sets both gains in sixteenths, from 0 to 32 (`pie_calculate_probability`).
    pub(crate) const ALPHA = alpha: Kind::Number(0.125, 0.0, 2.0),
        "RFC 8033 section 4.2; range of tc-pie(8), 0 to 32 sixteenths";
    /// Proportional gain in Hz, for the delay's change since the last update
    pub(crate) const BETA = beta: Kind::Number(1.25, 0.0, 2.0),
        "RFC 8033 section 4.2; range of tc-pie(8), 0 to 32 sixteenths";
    /// Marks ECN-capable packets CE instead of dropping them, up to mark_ecnth
    pub(crate) const ECN = ecn: Kind::Switch(false), "RFC 8033 section 5.1; tc-pie(8)";
    /// Computes the delay from the queued bytes and the dequeue rate, not from timestamps
    pub(crate) const DQ_RATE_ESTIMATOR = dq_rate_estimator: Kind::Switch(false),
        "RFC 8033 sections 4.3 and 5.2; tc-pie(8)";
}

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "pie",
    title: "PIE: drops arrivals at random to keep the queueing delay at target",
    source: "RFC 8033",
    params: keys! {
        TARGET;
        TUPDATE;
        ALPHA;
        BETA;
        /// Duration of a burst into a calm queue that passes without drops
        max_burst: Kind::Time(Duration::from_millis(150), Duration::ZERO, Duration::MAX),
            "RFC 8033 section 4.4, MAX_BURST";
        ECN;
        /// Drop probability above which ECN-capable packets are dropped too
        mark_ecnth: Kind::Number(0.1, 0.0, 1.0), "RFC 8033 section 5.1";
        DQ_RATE_ESTIMATOR;
    },
    // tc-pie(8): limit.
    default_packets: 1000,
    random: true,
    ..Info::BASE
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
}

impl<P: Packet> FifoPolicy<P> for PiePolicy {
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

    fn enqueue(
        &mut self,
        buffer: &mut Buffer<P>,
        now: Instant,
        mut packet: P,
        drops: Drops<'_, P>,
    ) {
        self.update(now, buffer.fifo.backlog());
        if !buffer.admits(packet.size()) {
            self.accu_prob = 0.0;
            return drops(packet, DropReason::Full);
        }
        if self.judge(buffer.fifo.backlog()) {
            if !self.may_mark(&packet) {
                return drops(packet, DropReason::Aqm);
            }
            packet.mark_ce();
        }
        buffer.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, buffer: &mut Buffer<P>, now: Instant, _drops: Drops<'_, P>) -> Option<P> {
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
