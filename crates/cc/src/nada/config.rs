//! Parameters and registry entry.

use sojourn_units::Duration;
use sojourn_units::params::{Kind, Params, parameters};

use crate::contract::{EcnUse, Info, Needs};

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "nada",
    title: "NADA: media by one congestion signal of delay, losses and marks",
    source: "RFC 8698",
    params: Config::KEYS,
    needs: Needs {
        ecn: EcnUse::None,
        receive_times: true,
        every_packet: true,
        media: true,
        prr: false,
        ..Needs::BASE
    },
    ..Info::BASE
};

/// The needs with these parameters: marks are optional.
pub(super) fn needs(params: &Params) -> Needs {
    let ecn = if params.switch("ecn") { EcnUse::Classic } else { EcnUse::None };
    Needs { ecn, ..INFO.needs }
}

const MS: u64 = 1_000_000;

const TABLE: &str = "RFC 8698 table 2";

const fn time(ms: u64) -> Kind {
    Kind::Time(Duration(ms * MS), Duration(MS), Duration(10_000 * MS))
}

const fn number(default: f64, most: f64) -> Kind {
    Kind::Number(default, 0.000_1, most)
}

parameters! {
    /// Values of the parameters, times in seconds.
    pub(super) struct Config;

    /// whether packets carry ECT(0), so that marks count in the congestion signal
    ecn = Kind::Switch(false), "RFC 8698 section 4.2";
    /// weight of priority
    prio: f64 = number(1.0, 100.0), TABLE;
    /// reference congestion level
    xref: f64 = time(10), TABLE;
    /// scaling parameter of the gradual rate update
    kappa: f64 = number(0.5, 10.0), TABLE;
    /// scaling parameter of the change of the congestion signal
    eta: f64 = number(2.0, 10.0), TABLE;
    /// upper bound of the round-trip time in the gradual rate update
    tau: f64 = time(500), TABLE;
    /// target interval of the rate updates
    delta: f64 = time(100), TABLE;
    /// observation window for losses, delays and the receiving rate
    logwin: Duration = time(500), TABLE;
    /// queueing delay below which the rate may ramp up
    qeps: f64 = time(10), TABLE;
    /// bound of the filtering delay
    dfilt: f64 = time(120), TABLE;
    /// upper bound of the ratio of increase in the ramp-up
    gamma_max: f64 = number(0.5, 10.0), TABLE;
    /// upper bound of the self-inflicted queueing delay in the ramp-up
    qbound: f64 = time(50), TABLE;
    /// loss intervals for which the delay is warped
    multiloss: f64 = number(7.0, 1000.0), TABLE;
    /// queueing delay above which it is warped
    qth: f64 = time(50), TABLE;
    /// scaling parameter of the warping
    lambda: f64 = number(0.5, 10.0), TABLE;
    /// reference ratio of losses
    plrref: f64 = number(0.01, 1.0), TABLE;
    /// reference ratio of marks
    pmrref: f64 = number(0.01, 1.0), TABLE;
    /// reference delay penalty of losses
    dloss: f64 = time(10), TABLE;
    /// reference delay penalty of marks
    dmark: f64 = time(2), TABLE;
    /// smoothing factor of the ratios of losses and marks
    alpha: f64 = number(0.1, 1.0), TABLE;
    /// scaling parameter of the sending rate by the queue of the sender
    beta_s: f64 = number(0.1, 10.0), TABLE;
    /// scaling parameter of the encoder's rate by the same queue
    beta_v: f64 = number(0.1, 10.0), TABLE;
}
