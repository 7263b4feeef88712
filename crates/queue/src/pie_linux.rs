//! PIE as in Linux (`net/sched/sch_pie.c` and `include/net/pie.h` of 6.12), in the kernel's
//! integers.
//!
//! [`crate::pie`] follows RFC 8033 instead.
//!
//! - Deviation (RFC 8033 4.2): as in Linux, each update above 250 ms of delay adds 2 % to the
//!   probability, which may exceed one; the probability decays by 1/64, not 2 %, while the queue is
//!   empty, and stays if the delay is zero with packets waiting; the first update comes after 0.5 s.
//! - Deviation (RFC 8033 4.4): as in Linux, the burst allowance shrinks by the time between
//!   dequeues, not at each update, and returns only at an update.
//! - Deviation (RFC 8033 4.1): as in Linux, the queue is calm by the latest delay, not by that of the
//!   last update, and fewer than two full packets are exempt, not at most two.
//! - Deviation (RFC 8033 5.4): as in Linux, a mark after the probabilities summed to 8.5 leaves the
//!   sum: the next arrivals are marked too, until one is dropped.
//! - Deviation (Linux sch_pie.c): updates begin 0.5 s after the start, and not at a tick.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Backlog, DropReason, Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};
use crate::pie;
use crate::random::Random;

mod control;

use control::{Control, MAX_PROB};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "pie_linux",
    title: "PIE as in Linux: its updates, its burst allowance, its integers",
    source: "net/sched/sch_pie.c, Linux 6.12; RFC 8033",
    params: keys! {
        pie::TARGET;
        pie::TUPDATE;
        // In sixteenths, as the kernel has them.
        pie::ALPHA;
        pie::BETA;
        pie::ECN;
        /// Scales the drop probability of a packet by its size over the largest one
        bytemode: Kind::Switch(false), "RFC 8033 section 5.4; tc-pie(8)";
        pie::DQ_RATE_ESTIMATOR;
        /// Tick of the kernel's timer: the time between two updates is `tupdate` in whole ticks,
        /// and one more; 0s: exactly `tupdate`
        tick: Kind::Time(Duration::from_millis(4), Duration::ZERO, Duration::from_secs(1)),
            "Linux with 250 ticks a second: usecs_to_jiffies, and calc_index of \
             kernel/time/timer.c, by which no timer is early";
    },
    // tc-pie(8): limit.
    default_packets: 1000,
    random: true,
    ..Info::BASE
};

/// A FIFO controlled by Linux's PIE.
pub(crate) type PieLinux<P> = FifoQueue<P, PieLinuxPolicy>;

/// The control loop, and the decisions on arrivals.
pub struct PieLinuxPolicy {
    control: Control,
    tupdate: Duration,
    next_update: Instant,
    ecn: bool,
    bytemode: bool,
    mtu: Bytes,
    random: Random,
}

impl PieLinuxPolicy {
    /// `pie_timer`: performs the updates due by `now`. The backlog has been the same since the
    /// last one.
    #[inline]
    fn update(&mut self, now: Instant, backlog: Backlog) {
        if self.next_update <= now {
            self.update_slow(now, backlog.bytes);
        }
    }

    #[cold]
    fn update_slow(&mut self, now: Instant, backlog: Bytes) {
        let due = now.since(self.next_update).0 / self.tupdate.0 + 1;
        self.control.update(due, backlog);
        self.next_update += self.tupdate * due;
    }

    /// `pie_drop_early`.
    fn drops_early(&mut self, backlog: Bytes, size: Bytes) -> bool {
        if self.control.is_in_burst() || self.control.is_calm() || backlog < self.mtu * 2 {
            return false;
        }
        let mut prob = self.control.prob;
        if self.bytemode && size <= self.mtu {
            prob = size.0 * (prob / self.mtu.0.max(1));
        }
        let sum = &mut self.control.accu_prob;
        *sum = if prob == 0 { 0 } else { sum.wrapping_add(prob) };
        match *sum {
            sum if sum < MAX_PROB / 100 * 85 => return false,
            sum if sum >= MAX_PROB / 2 * 17 => return true,
            _ => {}
        }
        let drops = self.random.next_bits() >> 8 < prob;
        if drops {
            self.control.accu_prob = 0;
        }
        drops
    }
}

/// The time between two updates: the timer's delay in ticks (`pie_timer`) ends in a later tick than
/// the one in which it is set.
fn between_updates(tupdate: Duration, tick: Duration) -> Duration {
    if tick == Duration::ZERO {
        return tupdate;
    }
    Duration(tick.0.saturating_mul(tupdate.0.div_ceil(tick.0).saturating_add(1)))
}

impl<P: Packet> FifoPolicy<P> for PieLinuxPolicy {
    fn new(setup: &Setup) -> PieLinuxPolicy {
        PieLinuxPolicy {
            control: Control::new(&setup.params),
            tupdate: between_updates(setup.params.time("tupdate"), setup.params.time("tick")),
            // `pie_init`.
            next_update: Instant::ZERO + Duration::from_millis(500),
            ecn: setup.params.switch("ecn"),
            bytemode: setup.params.switch("bytemode"),
            mtu: setup.mtu,
            random: Random::new(setup.seed),
        }
    }

    /// `pie_qdisc_enqueue`.
    fn enqueue(
        &mut self,
        buffer: &mut Buffer<P>,
        now: Instant,
        mut packet: P,
        drops: Drops<'_, P>,
    ) {
        self.update(now, buffer.fifo.backlog());
        if !buffer.admits(packet.size()) {
            self.control.accu_prob = 0;
            return drops(packet, DropReason::Full);
        }
        if self.drops_early(buffer.fifo.backlog().bytes, packet.size()) {
            let marks = self.ecn && self.control.prob <= MAX_PROB / 10;
            if !marks || !packet.ecn().is_capable() {
                self.control.accu_prob = 0;
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
        let backlog = buffer.fifo.backlog().bytes;
        self.control.on_dequeued(now, packet.enqueued_at(), packet.size(), backlog);
        Some(packet)
    }

    fn after_drop(&mut self, _now: Instant, backlog: Backlog) {
        if backlog.packets == 0 {
            self.control.on_emptied();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On Linux 6.1 with 250 ticks a second, `pie_calculate_probability` runs each 20 ms by default.
    #[test]
    fn updates_are_a_tick_late() {
        let ms = Duration::from_millis;
        assert_eq!(between_updates(ms(15), ms(4)), ms(20));
        assert_eq!(between_updates(ms(16), ms(4)), ms(20));
        assert_eq!(between_updates(ms(15), ms(1)), ms(16));
        assert_eq!(between_updates(ms(15), Duration::ZERO), ms(15));
        assert_eq!(between_updates(Duration::MAX, ms(4)), Duration::MAX);
    }
}
