//! CoDel's control loop over one FIFO: estimator, set point, control law.

use sojourn_units::params::{Key, Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{DropReason, Drops, Packet, Setup};
use crate::fifo::Fifo;

keys! {
    /// Acceptable minimum sojourn time over an interval
    pub(crate) const TARGET =
        target: Kind::Time(Duration::from_millis(5), Duration::ZERO, Duration::MAX),
            "RFC 8289 section 4.3";
    /// Time that the sojourn time must stay above target before the first drop; a long round-trip
    /// time among the link's flows
    // Linux counts in microseconds; no shorter interval can be configured.
    pub(crate) const INTERVAL =
        interval: Kind::Time(Duration::from_millis(100), Duration::from_micros(1), Duration::MAX),
            "RFC 8289 section 4.2";
    /// Marks every ECN-capable packet whose sojourn time is above this; off by default
    pub(crate) const CE_THRESHOLD =
        ce_threshold: Kind::Time(Duration::MAX, Duration::ZERO, Duration::MAX), "tc-codel(8)";
}

/// The switch between marking and dropping.
pub(crate) const fn ecn(default: bool, source: &'static str) -> Key {
    Key::new("ecn", Kind::Switch(default), "Marks ECN-capable packets CE instead of dropping them")
        .from(source)
}

/// The settings of a control loop; FQ-CoDel shares one set among all flows.
pub struct Control {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// `maxpacket_` of RFC 8289 section 5.3.
    pub(super) mtu: Bytes,
    ecn: bool,
    pub(super) ce_threshold: Duration,
}

impl Control {
    pub(crate) fn new(setup: &Setup) -> Control {
        Control {
            target: setup.params.time("target"),
            interval: setup.params.time("interval"),
            mtu: setup.mtu,
            ecn: setup.params.switch("ecn"),
            ce_threshold: setup.params.time("ce_threshold"),
        }
    }

    /// Time of the next drop, after `count` drops in the dropping state (RFC 8289 section
    /// 3.3). Gaps shrink as 1/sqrt(count), because this lowers the throughput of a
    /// loss-based sender linearly with time.
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        let gap = self.interval.0 as f64 / libm::sqrt(f64::from(count));
        // Round first, so that comparisons use whole nanoseconds.
        t + Duration((gap + 0.5) as u64)
    }

    /// Marks `packet` instead of dropping it, if `ecn` is on and the packet is ECN-capable.
    #[inline]
    pub(super) fn marks<P: Packet>(&self, packet: &mut P) -> bool {
        self.ecn && mark_capable(packet)
    }

    /// Marks `packet` if it waited longer than `ce_threshold`: DCTCP's step marking (RFC
    /// 8257 section 3.1), independent of the control loop.
    #[inline]
    fn mark_above_threshold<P: Packet>(&self, now: Instant, packet: &mut P) {
        if now.since(packet.enqueued_at()) > self.ce_threshold {
            mark_capable(packet);
        }
    }
}

/// Marks an ECN-capable packet; returns whether it is one.
#[inline]
pub(super) fn mark_capable<P: Packet>(packet: &mut P) -> bool {
    let is_capable = packet.ecn().is_capable();
    if is_capable {
        packet.mark_ce();
    }
    is_capable
}

/// CoDel's state for one queue (RFC 8289 section 5.2).
#[derive(Default)]
pub struct State {
    /// Time at which the sojourn time will have been above target for an interval; `None`
    /// while it is below.
    first_above_time: Option<Instant>,
    /// Time of the next drop in the dropping state.
    drop_next: Instant,
    /// Drops since the start of the dropping state, plus the count carried over from the
    /// previous one.
    count: u32,
    /// Value of `count` at the start of the dropping state.
    lastcount: u32,
    /// Whether in the dropping state.
    dropping: bool,
}

/// A packet taken from the queue, and the estimator's verdict on it
/// (`dodequeueResult` of RFC 8289 section 5.1).
struct Head<P> {
    packet: Option<P>,
    ok_to_drop: bool,
}

impl State {
    /// The next packet to transmit (`dequeue` of RFC 8289 section 5.5).
    #[inline]
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        drops: Drops<'_, P>,
    ) -> Option<P> {
        let mut head = self.dodequeue(now, control, fifo);
        if self.dropping {
            self.dropping = head.ok_to_drop;
            if self.dropping && now >= self.drop_next {
                head = self.go_on_dropping(now, control, fifo, head, drops);
            }
        } else if head.ok_to_drop {
            head = self.start_dropping(now, control, fifo, head, drops);
        }
        let mut packet = head.packet?;
        control.mark_above_threshold(now, &mut packet);
        Some(packet)
    }

    /// Takes one packet and judges it (RFC 8289 section 5.6).
    #[inline]
    fn dodequeue<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
    ) -> Head<P> {
        let packet = fifo.pop();
        let above = packet.as_ref().is_some_and(|packet| {
            // With one MTU or less behind this packet the queue is as short as a slow link
            // needs to stay busy, at any sojourn time.
            now.since(packet.enqueued_at()) >= control.target && fifo.backlog().bytes > control.mtu
        });
        Head { packet, ok_to_drop: self.above_for_an_interval(now, control, above) }
    }

    /// Whether the sojourn time has been `above` target for an interval.
    #[inline]
    fn above_for_an_interval(&mut self, now: Instant, control: &Control, above: bool) -> bool {
        if !above {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + control.interval)
    }

    /// Enters the dropping state with a first drop or mark.
    fn start_dropping<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        mut head: Head<P>,
        drops: Drops<'_, P>,
    ) -> Head<P> {
        if let Some(packet) = head.packet.as_mut()
            && !control.marks(packet)
        {
            drops(*packet, DropReason::Aqm);
            head = self.dodequeue(now, control, fifo);
        }
        self.dropping = true;
        // If the last dropping state ended recently, resume at the drop rate that held the
        // queue then. If `drop_next` still lies ahead, `now.since` is zero, which is
        // recent.
        let delta = self.count - self.lastcount;
        let recent = now.since(self.drop_next) < control.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.lastcount = self.count;
        self.drop_next = control.control_law(now, self.count);
        head
    }

    /// Drops or marks the packets that are due. Several drops may be due after a long gap
    /// between dequeues, but at most one mark, since the marked packet is delivered.
    fn go_on_dropping<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        mut head: Head<P>,
        drops: Drops<'_, P>,
    ) -> Head<P> {
        while self.dropping && now >= self.drop_next {
            let Some(packet) = head.packet.as_mut() else { break };
            if control.marks(packet) {
                self.schedule_next(control);
                break;
            }
            drops(*packet, DropReason::Aqm);
            head = self.dodequeue(now, control, fifo);
            self.dropping = head.ok_to_drop;
            if self.dropping {
                self.schedule_next(control);
            }
        }
        head
    }

    /// Counts a drop or mark and schedules the next one, counted from `drop_next` and not
    /// from now: late dequeues must not lower the drop rate.
    fn schedule_next(&mut self, control: &Control) {
        self.count = self.count.saturating_add(1);
        self.drop_next = control.control_law(self.drop_next, self.count);
    }
}
