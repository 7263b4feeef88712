//! CUBIC in whole packets and ticks, as Linux 6.18 computes it (`net/ipv4/tcp_cubic.c`).
//!
//! Deviation (RFC 9438 section 4.3): with `arithmetic = "linux"`, Reno's estimate keeps its slope
//! of 3 (1 - beta) / (1 + beta) above the window before the reduction, where the section has 1.
//! Deviation (RFC 9438 section 4.2): with `arithmetic = "linux"`, the growth is computed at most
//! once in a tick, and not again for 28 ms while the window stays the same.

use sojourn_units::{Duration, Instant};

use crate::contract::Setup;

/// A tick of the kernel (jiffy) with CONFIG_HZ=250, Debian's choice.
const TICK: Duration = Duration::from_millis(4);
const TICKS_A_SECOND: u64 = 250;
/// Shares and times have ten bits of fraction: units of 1/1024, and of 1/1024 s.
const BITS: u32 = 10;
/// Packets to acknowledge for each packet of growth: at least two, and a hundred windows at the
/// plateau.
const FASTEST: u64 = 2;
const PLATEAU: u64 = 100;
/// The same before the first reduction: at most twenty, which is 5 % a round trip.
const FIRST: u64 = 20;
/// The greatest distance from the plateau, in 1/1024 s: 12 days.
const LONGEST: u64 = 1 << 30;
/// Linux reduces to no less than two packets.
const LEAST: u64 = 2;

/// The state of `struct bictcp` that governs the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux {
    c: u64,
    beta: u64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// Packets acknowledged for each packet of growth.
    per_packet: u64,
    /// Packets acknowledged since the window grew.
    credit: u64,
    /// The window before the last reduction; zero before the first.
    last_max: u64,
    /// The window and the tick of the last computation.
    last: (u64, u64),
    epoch: Option<Epoch>,
}

/// The time since a reduction.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    begin: u64,
    /// Time to the plateau in 1/1024 s, and its window.
    k: u64,
    plateau: u64,
    /// Reno's window, and the packets acknowledged since it grew.
    reno: u64,
    acked: u64,
}

impl Linux {
    pub(super) fn new(setup: &Setup) -> Linux {
        let q10 = |name| scaled(setup.params.number(name));
        Linux {
            c: q10("c").max(1),
            beta: q10("beta"),
            fast_convergence: setup.params.switch("fast_convergence"),
            tcp_friendliness: setup.params.switch("tcp_friendliness"),
            per_packet: FASTEST,
            credit: 0,
            last_max: 0,
            last: (0, 0),
            epoch: None,
        }
    }

    /// The window after a reduction by `share` (`cubictcp_recalc_ssthresh`).
    pub(super) fn reduced(&mut self, cwnd: u64, share: f64) -> u64 {
        let is_lower = cwnd < self.last_max && self.fast_convergence;
        self.last_max = if is_lower { shared(cwnd, (1 << BITS) + self.beta) / 2 } else { cwnd };
        self.epoch = None;
        self.credit = 0;
        shared(cwnd, scaled(share)).max(LEAST)
    }

    /// Forgets all after a timeout (`bictcp_reset`).
    pub(super) fn reset(&mut self) {
        self.last_max = 0;
        self.last = (0, 0);
        self.epoch = None;
        self.credit = 0;
        self.per_packet = FASTEST;
    }

    /// Excludes a time in which the sender was idle (`cubictcp_cwnd_event`): the ticks between its
    /// ends.
    pub(super) fn exclude(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = &mut self.epoch {
            let ticks = tick(now) - tick(now.saturating_sub(idle));
            epoch.begin = (epoch.begin + ticks).min(tick(now));
        }
    }

    /// Packets by which the window grows (`tcp_cong_avoid_ai`).
    pub(super) fn growth(&mut self, now: Instant, cwnd: u64, acked: u64, rtt: Duration) -> u64 {
        self.compute(tick(now), cwnd, acked, rtt);
        let mut grown = 0;
        // Credit from a time with slower growth counts as one packet.
        if self.credit >= self.per_packet {
            (self.credit, grown) = (0, 1);
        }
        self.credit = self.credit.saturating_add(acked);
        grown += self.credit / self.per_packet;
        self.credit %= self.per_packet;
        grown
    }

    /// `bictcp_update`.
    ///
    /// Deviation (Linux `bictcp_update`): `rtt` is the least round-trip time of the connection.
    /// Linux forgets its own (`delay_min`) at a timeout.
    fn compute(&mut self, now: u64, cwnd: u64, acked: u64, rtt: Duration) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        let (last_cwnd, last_tick) = self.last;
        let since = now.saturating_sub(last_tick);
        if last_cwnd == cwnd && since <= TICKS_A_SECOND / 32 {
            return;
        }
        if self.epoch.is_none() || since > 0 {
            self.last = (cwnd, now);
            let epoch = *self.epoch.get_or_insert_with(|| {
                let rise = self.last_max.saturating_sub(cwnd);
                let cubed = ((1 << (4 * BITS)) / self.c).saturating_mul(rise);
                Epoch {
                    begin: now,
                    k: cube_root(cubed),
                    plateau: self.last_max.max(cwnd),
                    reno: cwnd,
                    acked,
                }
            });
            let rise = epoch.target(self.c, now, rtt).saturating_sub(cwnd);
            self.per_packet = cwnd.checked_div(rise).unwrap_or(cwnd.saturating_mul(PLATEAU));
            if self.last_max == 0 {
                self.per_packet = self.per_packet.min(FIRST);
            }
        }
        if let Some(epoch) = self.epoch.as_mut().filter(|_| self.tcp_friendliness) {
            let scale = 8 * ((1 << BITS) + self.beta) / 3 / ((1 << BITS) - self.beta).max(1);
            let per_packet = (cwnd.saturating_mul(scale) >> 3).max(1);
            let grown = epoch.acked.saturating_sub(1) / per_packet;
            epoch.acked -= grown * per_packet;
            epoch.reno = epoch.reno.saturating_add(grown);
            if let Some(ahead) = epoch.reno.checked_sub(cwnd).filter(|ahead| *ahead > 0) {
                self.per_packet = self.per_packet.min(cwnd / ahead);
            }
        }
        self.per_packet = self.per_packet.max(FASTEST);
    }

    /// Name of the phase in recordings.
    pub(super) fn phase(&self, cwnd: u64) -> &'static str {
        match &self.epoch {
            None => "recovery",
            Some(epoch) if epoch.reno >= cwnd => "reno_friendly",
            Some(epoch) if cwnd < epoch.plateau => "concave",
            Some(_) => "convex",
        }
    }
}

impl Epoch {
    /// The cubic function, one least round-trip time ahead.
    fn target(&self, c: u64, now: u64, rtt: Duration) -> u64 {
        let since = now.saturating_sub(self.begin);
        let t = ((since + rtt.0.div_ceil(TICK.0)) << BITS) / TICKS_A_SECOND;
        let offset = t.abs_diff(self.k).min(LONGEST);
        let rise = (u128::from(c) * u128::from(offset).pow(3)) >> (4 * BITS);
        let rise = u64::try_from(rise).unwrap_or(u64::MAX);
        if t < self.k {
            self.plateau.saturating_sub(rise)
        } else {
            self.plateau.saturating_add(rise)
        }
    }
}

/// A share of a window, in units of 1/1024.
fn shared(cwnd: u64, share: u64) -> u64 {
    u64::try_from((u128::from(cwnd) * u128::from(share)) >> BITS).unwrap_or(u64::MAX)
}

/// A share in units of 1/1024.
fn scaled(share: f64) -> u64 {
    (share * f64::from(1 << BITS) + 0.5) as u64
}

fn tick(at: Instant) -> u64 {
    at.0 / TICK.0
}

/// The cube root, rounded down.
///
/// Deviation (Linux `cubic_root`): the cube root is exact; Linux's is within 0.2 %.
fn cube_root(cubed: u64) -> u64 {
    libm::cbrt(cubed as f64) as u64
}

#[cfg(test)]
mod tests {
    use sojourn_units::params::Params;
    use sojourn_units::{Bytes, Duration, Instant};

    use super::super::Cubic;
    use super::Linux;
    use crate::contract::Setup;

    /// Linux, `cubictcp_cwnd_event`: both ends of an idle period are in whole ticks, so that 7 ms from
    /// 1003 ms on count as two.
    #[test]
    fn an_idle_period_counts_the_ticks_between_its_ends() {
        let params = Params::defaults(Cubic::INFO.params);
        let (mss, initial_window) = (Bytes(1448), Bytes(14_480));
        let (paced, round_recovery, seed) = (false, false, 1);
        let mut linux =
            Linux::new(&Setup { mss, initial_window, paced, round_recovery, seed, params });
        let begun = Instant::ZERO + Duration::from_millis(1_003);
        linux.growth(begun, 10, 1, Duration::from_millis(10));
        linux.exclude(begun + Duration::from_millis(7), Duration::from_millis(7));
        assert_eq!(linux.epoch.map(|epoch| epoch.begin), Some(252));
    }
}
