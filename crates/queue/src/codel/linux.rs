//! CoDel's control loop as Linux computes it (`include/net/codel_impl.h`), for FQ-CoDel.
//!
//! Its arithmetic is part of its behaviour. 1/sqrt(count) has 16 bits and improves by one
//! Newton step a drop, which a sudden rise of `count` throws off for a while. Time has
//! units of 1024 ns.
//! Deviation (Linux codel_impl.h): the clock does not wrap; the kernel's does after 73 minutes.

use sojourn_units::{Bytes, Duration, Instant};

use crate::codel::control::{Control, mark_capable};
use crate::contract::{Backlog, DropReason, Drops, Packet};
use crate::fifo::Fifo;
use crate::fq_codel::FlowControl;

/// `CODEL_SHIFT`: log2 of the nanoseconds in a unit of time.
const SHIFT: u32 = 10;

fn at(time: Instant) -> u64 {
    time.0 >> SHIFT
}

/// The sojourn time of a packet enqueued at `since`.
fn waited(now: Instant, since: Instant) -> u64 {
    at(now).saturating_sub(at(since))
}

fn units(span: Duration) -> u64 {
    span.0 >> SHIFT
}

/// `codel_vars`.
#[derive(Default)]
pub struct State {
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    /// 1/sqrt(count), in units of 2^-16.
    rec_inv_sqrt: u16,
    dropping: bool,
}

/// A packet taken from the queue, and whether to drop it.
struct Head<P> {
    packet: Option<P>,
    drop: bool,
}

impl FlowControl for State {
    const FORGETS_NEW_FLOWS: bool = true;

    /// `codel_dequeue`. The backlog is that of all flows, and `others` the part outside of
    /// `fifo`.
    #[inline]
    fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        others: Bytes,
        drops: Drops<'_, P>,
    ) -> Option<P> {
        let mut head = self.take(now, control, fifo, others);
        if self.dropping {
            self.dropping = head.drop;
            if head.drop && at(now) >= self.drop_next {
                head = self.go_on_dropping(now, control, fifo, others, head, drops);
            }
        } else if head.drop {
            head = self.start_dropping(now, control, fifo, others, head, drops);
        }
        let mut packet = head.packet?;
        if waited(now, packet.enqueued_at()) > units(control.ce_threshold) {
            mark_capable(&mut packet);
        }
        Some(packet)
    }

    /// `fq_codel_drop`.
    fn is_too_fat(before: Backlog, dropped: Backlog) -> bool {
        dropped.bytes.0 < before.bytes.0 / 2
    }

    /// Packets dropped for want of room raise the signal too (`fq_codel_drop`).
    fn on_overload(&mut self, dropped: u64) {
        self.count = self.count.wrapping_add(dropped as u32);
    }
}

impl State {
    /// The next packet with `codel_should_drop`.
    #[inline]
    fn take<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        others: Bytes,
    ) -> Head<P> {
        let packet = fifo.pop();
        let above = packet.as_ref().is_some_and(|packet| {
            let sojourn = waited(now, packet.enqueued_at());
            sojourn >= units(control.target) && others + fifo.backlog().bytes > control.mtu
        });
        if !above {
            self.first_above_time = None;
            return Head { packet, drop: false };
        }
        let until = *self.first_above_time.get_or_insert(at(now) + units(control.interval));
        Head { packet, drop: at(now) > until }
    }

    #[cold]
    fn start_dropping<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        others: Bytes,
        mut head: Head<P>,
        drops: Drops<'_, P>,
    ) -> Head<P> {
        if let Some(packet) = head.packet.as_mut()
            && !control.marks(packet)
        {
            drops(*packet, DropReason::Aqm);
            head = self.take(now, control, fifo, others);
        }
        self.dropping = true;
        let delta = self.count.wrapping_sub(self.lastcount);
        let recent = at(now).saturating_sub(self.drop_next) < 16 * units(control.interval);
        if delta > 1 && recent {
            self.count = delta;
            self.newton_step();
        } else {
            self.count = 1;
            self.rec_inv_sqrt = u16::MAX;
        }
        self.lastcount = self.count;
        self.drop_next = at(now);
        self.control_law(control);
        head
    }

    /// Unlike RFC 8289, a drop that ends the dropping state adds to `count`.
    #[cold]
    fn go_on_dropping<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        others: Bytes,
        mut head: Head<P>,
        drops: Drops<'_, P>,
    ) -> Head<P> {
        while self.dropping && at(now) >= self.drop_next {
            let Some(packet) = head.packet.as_mut() else { break };
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if control.marks(packet) {
                self.control_law(control);
                break;
            }
            drops(*packet, DropReason::Aqm);
            head = self.take(now, control, fifo, others);
            self.dropping = head.drop;
            if self.dropping {
                self.control_law(control);
            }
        }
        head
    }

    /// `codel_control_law`: advances `drop_next` by interval/sqrt(count).
    fn control_law(&mut self, control: &Control) {
        let interval = units(control.interval).min(u64::from(u32::MAX));
        self.drop_next += (interval * u64::from(self.rec_inv_sqrt)) >> 16;
    }

    fn newton_step(&mut self) {
        let inverse = u32::from(self.rec_inv_sqrt) << 16;
        self.rec_inv_sqrt = (newton_step(inverse, self.count) >> 16) as u16;
    }
}

/// One Newton step from `inverse` to 1/sqrt(count), in units of 2^-32 (`codel_Newton_step`,
/// `cobalt_newton_step`). If `count` rose by much, count/sqrt(count)^2 exceeds 3, and the result
/// is as arbitrary as in the kernel.
pub(crate) fn newton_step(inverse: u32, count: u32) -> u32 {
    let inverse = u64::from(inverse);
    let squared = (inverse * inverse) >> 32;
    let factor = (3_u64 << 32).wrapping_sub(u64::from(count) * squared) >> 2;
    (factor.wrapping_mul(inverse) >> 31) as u32
}
