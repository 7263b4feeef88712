//! Rapid's parameters, and the transport features that it needs with them.

use sojourn_units::params::{Key, Kind, Params, keys};
use sojourn_units::{Duration, Rate};

use crate::contract::Needs;

pub(super) const PARAMS: &[Key] = keys! {
    /// packets of a p-stream (N)
    packets: Kind::Integer(30, 5, 200),
        "Konda and Kaur 2009: some 30; a trend must be told from its noise";
    /// ratio of the probing rates of consecutive packets; 30 packets then probe from 0.57 to 2
    /// times the mean rate
    spread: Kind::Number(1.045, 1.001, 1.5), "ours; PathChirp's spread factor, which is 1.2";
    /// time to rise to a greater estimate
    tau: Kind::Time(Duration::from_millis(200), Duration::ZERO, Duration::from_secs(60)),
        "TR11-007 section VI, figure 8";
    /// time to fall to a smaller estimate; 0s: at once, as in the paper of 2009. Stable if it is
    /// less than tau
    eta: Kind::Time(Duration::from_millis(175), Duration::ZERO, Duration::from_secs(60)),
        "TR11-007 section VI, figure 8; footnotes 3 and 6";
    /// how the rate follows the estimate: 63 % of the way after tau (eta), or in a ramp that lasts
    /// tau (eta)
    filter: Kind::Choice("exponential", &["exponential", "linear"]),
        "TR11-007 section II.A: the first is the formula, the second what the text says";
    /// source of the estimate: the p-streams, or a signal of the bottleneck, which only a
    /// simulation can give
    estimator: Kind::Choice("probe", &["probe", "ideal"]),
        "TR11-007 section II.A, where a p-stream returns a perfect estimate";
    /// an excursion of the delay ends when the delay has fallen to its height divided by this
    decrease_factor: Kind::Number(1.5, 1.0, 100.0),
        "PathChirp (Ribeiro et al. 2003), section 3: 1.5";
    /// greatest difference of delays that count as equal: the resolution of the timestamps
    resolution: Kind::Time(Duration::from_nanos(2), Duration::ZERO, Duration::from_millis(1)),
        "both times are in whole nanoseconds here";
    /// factor applied to the rate after a congestion event
    beta: Kind::Number(0.5, 0.1, 0.95), "RFC 5681 section 3.1, equation 4";
    /// mean rate of the first p-stream, which probes up to 39 times as fast; the next one leaves
    /// after its feedback
    initial_rate: Kind::Rate(Rate::from_mbit(25), Rate(10_000), Rate::from_mbit(100_000)),
        "ours: 30 packets in some 14 ms";
};

/// Needs with the default parameters. Rapid does not use ECN.
pub(super) const NEEDS: Needs =
    Needs { receive_times: true, every_packet: true, prr: false, ..Needs::BASE };

/// Whether the bottleneck itself reports the available bandwidth.
pub(super) fn is_ideal(params: &Params) -> bool {
    params.choice("estimator") == "ideal"
}

/// Needs of the chosen estimator.
pub(super) fn needs(params: &Params) -> Needs {
    let signal = is_ideal(params);
    Needs { signal, receive_times: !signal, ..NEEDS }
}
