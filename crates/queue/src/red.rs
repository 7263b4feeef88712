//! RED: random early detection (Floyd and Jacobson, "Random Early Detection
//! Gateways for Congestion Avoidance", IEEE/ACM Transactions on Networking,
//! August 1993).
//!
//! The implementation follows figure 2 of the paper, with the second of its two ways to
//! space marks (section 7): uniformly, by the count of packets since the last mark. The
//! queue is measured in packets, or in bytes over the largest packet (section 4's variant).

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Backlog, DropReason, Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};
use crate::random::Random;

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "red",
    title: "RED: drops or marks at random, more often with a longer average queue",
    source: "Floyd and Jacobson, IEEE/ACM ToN, August 1993",
    params: keys! {
        /// Average queue in packets at which marking begins
        min_th: Kind::Number(5.0, 0.0, f64::MAX), "Floyd and Jacobson 1993, section 5";
        /// Average queue in packets at which every packet is marked
        max_th: Kind::Number(15.0, 0.0, f64::MAX), "Floyd and Jacobson 1993, section 5";
        /// Probability of a mark just below max_th
        max_p: Kind::Number(0.02, 0.0, 1.0), "Floyd and Jacobson 1993, section 5: 1/50";
        /// Weight of the current queue in its average
        // With a weight of 0 the average would ignore the queue.
        w_q: Kind::Number(0.002, 1e-9, 1.0), "Floyd and Jacobson 1993, section 6";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th
        gentle: Kind::Switch(false),
            "Floyd: Recommendation on using the gentle_ variant of RED, 2000";
        /// Unit of the queue; bytes count as parts of the largest packet, and larger packets are
        /// marked more often
        unit: Kind::Choice("packets", &["packets", "bytes"]), "Floyd and Jacobson 1993, section 4";
        /// Rate by which the average falls while the queue is empty; set it to the link's
        bandwidth: Kind::Rate(Rate::from_mbit(10), Rate(1), Rate::MAX),
            "Floyd and Jacobson 1993, section 4 (s); tc-red(8)";
        /// Marks ECN-capable packets CE instead of dropping them
        ecn: Kind::Switch(false), "tc-red(8)";
        /// Drops all packets, ECN-capable ones too, if every packet would be marked
        harddrop: Kind::Switch(false), "RFC 3168 section 7; tc-red(8)";
    },
    // Linux's default transmit queue length.
    default_packets: 1000,
    random: true,
    ordered: &[("min_th", "max_th")],
    ..Info::BASE
};

/// A FIFO controlled by RED.
pub(crate) type Red<P> = FifoQueue<P, RedPolicy>;

/// The average queue, and the marking by it.
pub struct RedPolicy {
    average: Average,
    marking: Marking,
    ecn: bool,
    harddrop: bool,
    /// Size of the largest packet, if the queue is measured in bytes.
    packet_bytes: Option<f64>,
}

/// The average queue.
struct Average {
    avg: f64,
    w_q: f64,
    /// Start of the idle period: `q_time`.
    idle_since: Option<Instant>,
    /// Whether it learns that the queue is idle.
    ///
    /// Deviation (Floyd and Jacobson 1993, section 4): in a class of HTB or DRR, the average does
    /// not decay while the queue is empty. Linux's RED starts an idle period when it is asked for a
    /// packet and has none (`red_dequeue`), which such classes never are (`htb_dequeue_tree`).
    sees_idle: bool,
    /// Transmission time of a packet: `s`.
    ///
    /// Deviation (Floyd and Jacobson 1993, section 4): the average of an idle queue decays by
    /// `bandwidth` and the largest packet, as in tc-red(8); the paper has a "typical transmission
    /// time".
    s: Duration,
}

impl Average {
    /// Updates the average with the queue length `q` at an arrival.
    fn update(&mut self, now: Instant, q: f64) {
        match self.idle_since.take() {
            // An idle period counts as m small packets that arrived at an empty queue.
            Some(since) => {
                let m = now.since(since).0 as f64 / self.s.0 as f64;
                self.avg *= libm::pow(1.0 - self.w_q, m);
            }
            None => self.avg += self.w_q * (q - self.avg),
        }
    }
}

/// The decision on an arrival.
enum Verdict {
    Pass,
    /// This packet is marked early, at random.
    Early,
    /// Every packet is marked.
    Forced,
}

/// The marking probability.
struct Marking {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    gentle: bool,
    /// Packets since the last mark, while the average is between the thresholds; -1 before
    /// that.
    count: i64,
    random: Random,
}

impl Marking {
    /// p_b for an average between the thresholds; at least 1 beyond them.
    fn p_b(&self, avg: f64) -> f64 {
        if avg < self.max_th {
            self.max_p * (avg - self.min_th) / (self.max_th - self.min_th)
        } else if self.gentle && avg < 2.0 * self.max_th {
            self.max_p + (1.0 - self.max_p) * (avg - self.max_th) / self.max_th
        } else {
            1.0
        }
    }

    /// Figure 2 of the paper; `share` is the packet's size over the largest.
    fn judge(&mut self, avg: f64, share: f64) -> Verdict {
        if avg < self.min_th {
            self.count = -1;
            return Verdict::Pass;
        }
        let p_b = self.p_b(avg);
        if p_b >= 1.0 {
            self.count = 0;
            return Verdict::Forced;
        }
        self.count += 1;
        let p_b = p_b * share;
        // A mark is due once count p_b has reached 1.
        let left = 1.0 - self.count as f64 * p_b;
        let is_due = left <= p_b || self.random.rolls(p_b / left);
        if !is_due {
            return Verdict::Pass;
        }
        self.count = 0;
        Verdict::Early
    }
}

impl RedPolicy {
    /// The queue in packets.
    fn queue(&self, backlog: Backlog) -> f64 {
        match self.packet_bytes {
            Some(largest) => backlog.bytes.as_f64() / largest,
            None => backlog.packets as f64,
        }
    }

    /// Returns true if `packet` must be dropped; marks it if it may be marked instead.
    fn drops<P: Packet>(&mut self, now: Instant, packet: &mut P, backlog: Backlog) -> bool {
        self.average.update(now, self.queue(backlog));
        let share = self.packet_bytes.map_or(1.0, |largest| packet.size().as_f64() / largest);
        let may_mark = self.ecn && packet.ecn().is_capable();
        let marks = match self.marking.judge(self.average.avg, share) {
            Verdict::Pass => return false,
            Verdict::Early => may_mark,
            Verdict::Forced => may_mark && !self.harddrop,
        };
        if marks {
            packet.mark_ce();
        }
        !marks
    }

    fn note_if_idle(&mut self, now: Instant, backlog: Backlog) {
        if backlog.packets == 0 && self.average.sees_idle {
            self.average.idle_since.get_or_insert(now);
        }
    }
}

impl<P: Packet> FifoPolicy<P> for RedPolicy {
    fn new(setup: &Setup) -> RedPolicy {
        let params = &setup.params;
        let s = params.rate("bandwidth").time_for(setup.mtu).max(Duration(1));
        let in_bytes = params.choice("unit") == "bytes";
        RedPolicy {
            average: Average {
                avg: 0.0,
                w_q: params.number("w_q"),
                idle_since: None,
                sees_idle: setup.is_asked_when_empty,
                s,
            },
            marking: Marking {
                min_th: params.number("min_th"),
                max_th: params.number("max_th"),
                max_p: params.number("max_p"),
                gentle: params.switch("gentle"),
                count: -1,
                random: Random::new(setup.seed),
            },
            ecn: params.switch("ecn"),
            harddrop: params.switch("harddrop"),
            packet_bytes: in_bytes.then(|| setup.mtu.max(Bytes(1)).as_f64()),
        }
    }

    fn enqueue(
        &mut self,
        buffer: &mut Buffer<P>,
        now: Instant,
        mut packet: P,
        drops: Drops<'_, P>,
    ) {
        if self.drops(now, &mut packet, buffer.fifo.backlog()) {
            drops(packet, DropReason::Aqm);
        } else if buffer.admits(packet.size()) {
            buffer.fifo.push(now, packet);
        } else {
            drops(packet, DropReason::Full);
        }
        // The queue may still be empty, if the packet was dropped.
        self.note_if_idle(now, buffer.fifo.backlog());
    }

    #[inline]
    fn dequeue(&mut self, buffer: &mut Buffer<P>, now: Instant, _drops: Drops<'_, P>) -> Option<P> {
        let packet = buffer.fifo.pop();
        self.note_if_idle(now, buffer.fifo.backlog());
        packet
    }

    fn after_drop(&mut self, now: Instant, backlog: Backlog) {
        self.note_if_idle(now, backlog);
    }
}
