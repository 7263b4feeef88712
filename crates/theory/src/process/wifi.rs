//! WiFi: the rate that the received signal strength permits, under fading.
//!
//! The channel is the finite-state Markov channel of H. S. Wang and N. Moayeri,
//! "Finite-State Markov Channel: A Useful Model for Radio Communication Channels" (IEEE
//! Transactions on Vehicular Technology 44(1), 1995). Thresholds divide the signal-to-noise
//! ratio A of a Rayleigh channel with mean rho into states. The level crossing rate of each
//! threshold (their equation for N) and the probability of each state (p) give the
//! transition rates to the neighbours. The states are the modulation and coding schemes 0
//! to 7 of IEEE 802.11n, with one stream at 20 MHz, and an outage below the first of them.
//!
//! Deviation (IEEE 802.11-03/940r4, TGn channel models): the crossings are those of Clarke's
//! Doppler spectrum, as Wang and Moayeri have them, with a Doppler frequency of the TGn
//! models, whose spectrum is bell-shaped. One ratio holds for all of the 20 MHz, and rates
//! follow it at once and without errors.

use rand_core::RngCore;
use sojourn_units::params::{Key, Kind, Params, keys};
use sojourn_units::{Duration, Instant, Rate};

use super::{pick, uniform};
use crate::capacity::Step;

/// The minimum signal-to-noise ratio in dB of each scheme, and its rate in kbit/s.
///
/// Ratios: the receiver's minimum sensitivity at 20 MHz (IEEE Std 802.11-2020, table 19-23:
/// -82, -79, -77, -74, -70, -66, -65, -64 dBm) over thermal noise of -101 dBm, minus the
/// noise figure of 10 dB and the margin of 5 dB that the standard's figures assume
/// (17.3.10.2).
/// Rates: table 19-27, guard interval 800 ns.
pub(crate) const SCHEMES: [(f64, u64); 8] = [
    (4.0, 6_500),
    (7.0, 13_000),
    (9.0, 19_500),
    (12.0, 26_000),
    (16.0, 39_000),
    (20.0, 52_000),
    (21.0, 58_500),
    (22.0, 65_000),
];

pub(super) const PARAMS: &[Key] = keys! {
    /// mean signal-to-noise ratio in dB
    snr: Kind::Number(20.0, -10.0, 60.0),
        "our choice: at 20 dB every scheme is in use, and an outage is rare (2.5 %)";
    /// greatest Doppler frequency in Hz
    doppler: Kind::Number(6.0, 0.01, 10_000.0),
        "IEEE 802.11-03/940r4 (TGn channel models): movement indoors at 1.2 km/h, which is 6 Hz at \
         5.25 GHz";
};

/// A WiFi link under Rayleigh fading.
#[derive(Debug, Clone, PartialEq)]
pub struct Wifi {
    /// Probability of each state: the outage, then the schemes.
    shares: Vec<f64>,
    /// Upward crossings of each threshold per second (downward crossings are as frequent).
    /// The first state has no threshold below it.
    crossings: Vec<f64>,
}

impl Wifi {
    pub(super) fn new(params: &Params) -> Wifi {
        let mean = from_db(params.number("snr"));
        // In units of the mean; the last state has no upper threshold.
        let levels: Vec<f64> = SCHEMES.iter().map(|(db, _)| from_db(*db) / mean).collect();
        let above = |level: f64| libm::exp(-level);
        let crossing = |level: &f64| {
            let spread = (2.0 * std::f64::consts::PI * level).sqrt();
            spread * params.number("doppler") * above(*level)
        };
        let edges: Vec<f64> = [1.0].into_iter().chain(levels.iter().map(|l| above(*l))).collect();
        let shares = (0..edges.len()).map(|k| edges[k] - edges.get(k + 1).unwrap_or(&0.0));
        Wifi { shares: shares.collect(), crossings: levels.iter().map(crossing).collect() }
    }

    /// Probability of each rate.
    pub fn shares(&self) -> Vec<(Rate, f64)> {
        (0..self.shares.len()).map(|state| (rate(state), self.shares[state])).collect()
    }

    /// Rates of leaving a state downwards and upwards, per second: the crossings of its
    /// thresholds over its probability (Wang and Moayeri's transition probabilities, for
    /// short steps of time).
    fn leaving(&self, state: usize) -> (f64, f64) {
        let crossing = |threshold: Option<usize>| {
            threshold.and_then(|k| self.crossings.get(k)).map_or(0.0, |n| n / self.shares[state])
        };
        (crossing(state.checked_sub(1)), crossing(Some(state)))
    }

    /// Upward and downward crossings of a threshold are equally frequent.
    pub(super) fn changes_a_second(&self) -> f64 {
        2.0 * self.crossings.iter().sum::<f64>()
    }

    pub(super) fn steps(&self, random: &mut impl RngCore, until: Instant) -> Vec<Step> {
        let mut state = pick(&self.shares, random);
        let mut now = Instant::ZERO;
        let mut steps = Vec::new();
        while now < until {
            steps.push((now, rate(state)));
            let (down, up) = self.leaving(state);
            // Stays are exponential, as in any Markov chain; 1 - u is never zero.
            let stay = -libm::log(1.0 - uniform(random)) / (down + up);
            now += Duration::from_secs_f64(stay).max(Duration(1));
            state = if uniform(random) * (down + up) < down { state - 1 } else { state + 1 };
        }
        steps
    }
}

fn rate(state: usize) -> Rate {
    Rate(state.checked_sub(1).map_or(0, |scheme| SCHEMES[scheme].1 * 1_000))
}

fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}
