//! The wire behind a link: delay, jitter, loss; order is kept.

use sojourn_ring::Ring;
use sojourn_scenario::Loss;
use sojourn_units::{Duration, Instant};

use crate::packet::Packet;
use crate::seed::Uniform;

/// Packets under way, in the order of arrival. One event stands for all.
#[derive(Debug)]
pub(crate) struct DelayLine {
    packets: Ring<Packet>,
    last_arrival: Instant,
    pub(crate) delay: Duration,
    jitter: Duration,
    draws: Uniform,
}

impl DelayLine {
    pub(crate) fn new(delay: Duration, jitter: Duration, draws: Uniform) -> DelayLine {
        DelayLine { packets: Ring::default(), last_arrival: Instant::ZERO, delay, jitter, draws }
    }

    /// Takes a packet; returns its arrival where it is the only one.
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, packet: Packet) -> Option<Instant> {
        let mut arrival = now + self.delay;
        if self.jitter > Duration::ZERO {
            arrival += Duration(self.draws.below(self.jitter.0 + 1));
        }
        // Where the delay shrinks, packets queue behind those already under way.
        self.last_arrival = self.last_arrival.max(arrival);
        self.packets.push(packet).leave_link(self.last_arrival);
        (self.packets.len() == 1).then_some(self.last_arrival)
    }

    /// The packet that arrives next.
    #[inline]
    pub(crate) fn first(&self) -> Option<&Packet> {
        self.packets.first()
    }

    /// It has arrived. Returns when the next one will.
    #[inline]
    pub(crate) fn advance(&mut self) -> Option<Instant> {
        self.packets.skip(1);
        self.packets.first().map(|next| next.stamp)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.packets.len() as u64
    }
}

/// Loss.
#[derive(Debug)]
pub(crate) struct Losses {
    model: Loss,
    bad: bool,
    /// Packets since the last that was lost periodically.
    since: u64,
    draws: Uniform,
}

impl Losses {
    pub(crate) fn new(model: Loss, draws: Uniform) -> Losses {
        Losses { model, bad: false, since: 0, draws }
    }

    /// Whether the next packet is lost.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> bool {
        !matches!(self.model, Loss::None) && self.draw()
    }

    #[inline(never)]
    fn draw(&mut self) -> bool {
        match self.model {
            Loss::None => false,
            Loss::Random(p) => self.draws.next() < p,
            Loss::Periodic(every) => {
                self.since = (self.since + 1) % every;
                self.since == 0
            }
            Loss::GilbertElliott { p, r, loss_bad, loss_good } => {
                let flips = self.draws.next() < if self.bad { r } else { p };
                self.bad ^= flips;
                self.draws.next() < if self.bad { loss_bad } else { loss_good }
            }
        }
    }
}
