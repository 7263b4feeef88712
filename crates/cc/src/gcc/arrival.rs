//! Groups of packets (draft section 5.2) and the arrival-time filter (sections 5.1 and 5.3).

use sojourn_units::Instant;

use super::config::Config;
use crate::contract::Received;

/// Milliseconds from nanoseconds.
fn ms(ns: i128) -> f64 {
    ns as f64 / 1e6
}

/// A group of packets that left in one burst.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Departures of its first and of its last packet.
    first_sent: Instant,
    sent: Instant,
    /// Arrival of its last packet.
    received: Instant,
}

impl Group {
    fn of(packet: &Received) -> Group {
        let Received { sent_at, received_at, .. } = *packet;
        Group { first_sent: sent_at, sent: sent_at, received: received_at }
    }

    /// The inter-group delay variation from `before` to this group, in ms.
    fn variation(&self, before: &Group) -> f64 {
        let arrivals = i128::from(self.received.0) - i128::from(before.received.0);
        let departures = i128::from(self.sent.0) - i128::from(before.sent.0);
        ms(arrivals - departures)
    }
}

/// A measured delay variation, with the times of its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variation {
    /// d(i) in ms.
    pub(super) d: f64,
    /// T(i) - T(i-1) in ms.
    pub(super) sent_delta: f64,
    /// Arrival of the group.
    pub(super) at: Instant,
}

/// Forms groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    current: Option<Group>,
    before: Option<Group>,
}

impl Groups {
    /// Adds a packet. Returns the variation of the group that it ends.
    pub(super) fn add(&mut self, packet: &Received, config: &Config) -> Option<Variation> {
        let Some(mut group) = self.current else {
            self.current = Some(Group::of(packet));
            return None;
        };
        // A packet that was reordered belongs to no group.
        if packet.sent_at < group.first_sent {
            return None;
        }
        let burst = config.burst_time;
        let is_sent_together = packet.sent_at.since(group.first_sent) <= burst;
        // A queue that empties at once: the inter-arrival time is short, and the delay falls.
        let close = packet.received_at.since(group.received) < burst;
        let is_burst = close && Group::of(packet).variation(&group) < 0.0;
        if is_sent_together || is_burst {
            group.sent = group.sent.max(packet.sent_at);
            group.received = group.received.max(packet.received_at);
            self.current = Some(group);
            return None;
        }
        let before = self.before.replace(group);
        self.current = Some(Group::of(packet));
        let before = before?;
        Some(Variation {
            d: group.variation(&before),
            sent_delta: ms(i128::from(group.sent.0) - i128::from(before.sent.0)),
            at: group.received,
        })
    }
}

/// K, the groups over which f_max is the greatest rate. The draft leaves it open; libwebrtc has 60
/// (OveruseEstimator, kMinFramePeriodHistoryLength).
const K: usize = 60;

/// The Kalman filter of section 5.3, in ms.
#[derive(Debug)]
pub(super) struct Filter {
    /// m_hat.
    pub(super) m: f64,
    e: f64,
    var_v: f64,
    /// Groups so far.
    groups: u64,
    /// The last K times between departures of groups.
    deltas: std::collections::VecDeque<f64>,
}

impl Filter {
    pub(super) fn new(config: &Config) -> Filter {
        Filter {
            m: 0.0,
            e: config.e_0,
            var_v: 1.0,
            groups: 0,
            deltas: std::collections::VecDeque::new(),
        }
    }

    pub(super) fn add(&mut self, of: &Variation, config: &Config) {
        if self.deltas.len() == K {
            self.deltas.pop_front();
        }
        self.deltas.push_back(of.sent_delta.max(0.001));
        // f_max, in groups a ms.
        let least = self.deltas.iter().copied().fold(f64::MAX, f64::min);
        let f_max = 1.0 / least;
        let z = of.d - self.m;
        // An outlier counts as three standard deviations in the variance, and whole in the estimate.
        let bound = 3.0 * libm::sqrt(self.var_v);
        let limited = z.clamp(-bound, bound);
        let alpha = libm::pow(1.0 - config.chi, 30.0 / (1000.0 * f_max));
        self.var_v = (alpha * self.var_v + (1.0 - alpha) * limited * limited).max(1.0);
        let spread = self.e + config.q;
        let k = spread / (self.var_v + spread);
        self.m += z * k;
        self.groups += 1;
        self.e = (1.0 - k) * spread;
    }

    /// The estimate that the detector compares.
    ///
    /// Deviation (draft-ietf-rmcat-gcc-02 section 5.4): the detector compares the delay that up to
    /// 60 groups add (`max_num_deltas`), as in libwebrtc. The draft compares the delay variation of
    /// one group, which exceeds the threshold of 6 ms or more only at a rate far above the
    /// capacity; `max_num_deltas = 1` is its text.
    pub(super) fn trend(&self, config: &Config) -> f64 {
        self.m * self.groups.min(config.max_num_deltas) as f64
    }
}
