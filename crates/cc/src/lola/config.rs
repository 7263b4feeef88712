//! LoLa's parameters, by the paper's names. Parameters that the paper does not name have
//! their names from the published module, without its prefix.

use sojourn_units::params::{Key, Kind, keys};
use sojourn_units::{Bytes, Duration};

use super::arithmetic::Arithmetic;
use crate::contract::Setup;

/// The source of values used in all of the paper's experiments.
const PAPER: &str = "Hock et al. 2017, section V-A";
/// The source of values from the authors' implementation, for gaps in the paper.
const MODULE: &str = "TCP LoLa's Linux module, version 1.5";

/// The parameters with ranges and sources. The paper gives values only; the ranges are the
/// physically possible ones.
pub(super) const PARAMS: &[Key] = keys! {
    /// queueing delay above which the queue counts as standing; the same for all flows
    q_low: Kind::Time(Duration::from_millis(1), Duration::from_micros(1), Duration::from_secs(10)),
        PAPER;
    /// queueing delay above which the link counts as congested; the same for all flows
    q_target: Kind::Time(
        Duration::from_millis(5),
        Duration::from_micros(1),
        Duration::from_secs(10),
    ),
        PAPER;
    /// time for which the window is held before its reduction
    t_sync: Kind::Time(Duration::from_millis(250), Duration::ZERO, Duration::from_secs(10)),
        "Hock et al. 2017, sections III-D and V-A";
    /// length of the filter of the minimum round-trip time
    t_measure: Kind::Time(Duration::from_millis(40), Duration::ZERO, Duration::from_secs(10)),
        "Hock et al. 2017, equation 4 and section V-A";
    /// factor applied by a tailored decrease to the window that just fills the path
    gamma: Kind::Number(973.0 / 1024.0, 0.1, 1.0),
        "Hock et al. 2017, sections III-E and V-A: 973/1024";
    /// slowness of X(t) = (t/phi)^3: milliseconds per cube root of a byte
    phi: Kind::Number(35.0, 1.0, 10_000.0), "Hock et al. 2017, equation 2 and section V-A";
    /// steepness of the cubic increase, in segments per second cubed
    c: Kind::Number(0.4, 0.001, 100.0), "Hock et al. 2017, equation 1";
    /// factor applied to the window after a loss, as in CUBIC
    beta: Kind::Number(0.7, 0.1, 0.95),
        "TCP LoLa's Linux module, version 1.5: 717/1024; RFC 9438 section 4.6";
    /// minimum window after a tailored decrease, in packets
    cwnd_min: Kind::Integer(5, 1, 1_000), MODULE;
    /// tailored decreases without a round-trip time near the minimum until the minimum is reset;
    /// zero: never
    base_timeout: Kind::Integer(100, 0, 100_000), "Hock et al. 2017, section IV";
    /// greatest distance that counts as near the minimum round-trip time
    base_delay_epsilon: Kind::Time(
        Duration::from_micros(100),
        Duration::ZERO,
        Duration::from_secs(10),
    ),
        MODULE;
    /// formulas in floats, or in integers with 20 bits of fraction, as in Sojourn's program for the
    /// Linux kernel
    arithmetic: Kind::Choice("exact", &["exact", "integer"]), "bpf/lola.h";
};

/// The parameters in the algorithm's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) q_low: Duration,
    pub(super) q_target: Duration,
    pub(super) t_sync: Duration,
    pub(super) t_measure: Duration,
    /// Payload of a full packet.
    pub(super) mss: Bytes,
    /// With the parameters that have no unit.
    pub(super) arithmetic: Arithmetic,
    pub(super) cwnd_min: Bytes,
    pub(super) base_timeout: u64,
    pub(super) base_delay_epsilon: Duration,
}

impl Config {
    pub(super) fn new(setup: &Setup) -> Config {
        let p = &setup.params;
        Config {
            q_low: p.time("q_low"),
            q_target: p.time("q_target"),
            t_sync: p.time("t_sync"),
            t_measure: p.time("t_measure"),
            mss: setup.mss,
            arithmetic: Arithmetic::new(p),
            cwnd_min: setup.mss * p.integer("cwnd_min"),
            base_timeout: p.integer("base_timeout"),
            base_delay_epsilon: p.time("base_delay_epsilon"),
        }
    }
}
