//! Parameters and registry entry.

use sojourn_units::Duration;
use sojourn_units::params::{Kind, Param, Params};

use crate::contract::{EcnUse, Info, Needs};

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "nada",
    title: "NADA: media by one congestion signal of delay, losses and marks",
    source: "RFC 8698",
    params: PARAMS,
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

const fn time(name: &'static str, ms: u64, doc: &'static str) -> Param {
    let kind = Kind::Time(Duration(ms * MS), Duration(MS), Duration(10_000 * MS));
    Param { name, kind, doc, source: "RFC 8698 table 2" }
}

const fn number(name: &'static str, default: f64, most: f64, doc: &'static str) -> Param {
    let kind = Kind::Number(default, 0.000_1, most);
    Param { name, kind, doc, source: "RFC 8698 table 2" }
}

const PARAMS: &[Param] = &[
    Param {
        name: "ecn",
        kind: Kind::Switch(false),
        doc: "whether packets carry ECT(0), so that marks count in the congestion signal",
        source: "RFC 8698 section 4.2",
    },
    number("prio", 1.0, 100.0, "weight of priority"),
    time("xref", 10, "reference congestion level"),
    number("kappa", 0.5, 10.0, "scaling parameter of the gradual rate update"),
    number("eta", 2.0, 10.0, "scaling parameter of the change of the congestion signal"),
    time("tau", 500, "upper bound of the round-trip time in the gradual rate update"),
    time("delta", 100, "target interval of the rate updates"),
    time("logwin", 500, "observation window for losses, delays and the receiving rate"),
    time("qeps", 10, "queueing delay below which the rate may ramp up"),
    time("dfilt", 120, "bound of the filtering delay"),
    number("gamma_max", 0.5, 10.0, "upper bound of the ratio of increase in the ramp-up"),
    time("qbound", 50, "upper bound of the self-inflicted queueing delay in the ramp-up"),
    number("multiloss", 7.0, 1000.0, "loss intervals for which the delay is warped"),
    time("qth", 50, "queueing delay above which it is warped"),
    number("lambda", 0.5, 10.0, "scaling parameter of the warping"),
    number("plrref", 0.01, 1.0, "reference ratio of losses"),
    number("pmrref", 0.01, 1.0, "reference ratio of marks"),
    time("dloss", 10, "reference delay penalty of losses"),
    time("dmark", 2, "reference delay penalty of marks"),
    number("alpha", 0.1, 1.0, "smoothing factor of the ratios of losses and marks"),
    number("beta_s", 0.1, 10.0, "scaling parameter of the sending rate by the queue of the sender"),
    number("beta_v", 0.1, 10.0, "scaling parameter of the encoder's rate by the same queue"),
];

/// Values of the parameters, times in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) prio: f64,
    pub(super) xref: f64,
    pub(super) kappa: f64,
    pub(super) eta: f64,
    pub(super) tau: f64,
    pub(super) delta: f64,
    pub(super) logwin: Duration,
    pub(super) qeps: f64,
    pub(super) dfilt: f64,
    pub(super) gamma_max: f64,
    pub(super) qbound: f64,
    pub(super) multiloss: f64,
    pub(super) qth: f64,
    pub(super) lambda: f64,
    pub(super) plrref: f64,
    pub(super) pmrref: f64,
    pub(super) dloss: f64,
    pub(super) dmark: f64,
    pub(super) alpha: f64,
    pub(super) beta_s: f64,
    pub(super) beta_v: f64,
}

impl Config {
    pub(super) fn new(params: &Params) -> Config {
        let seconds = |name| params.time(name).as_secs_f64();
        let number = |name| params.number(name);
        Config {
            prio: number("prio"),
            xref: seconds("xref"),
            kappa: number("kappa"),
            eta: number("eta"),
            tau: seconds("tau"),
            delta: seconds("delta"),
            logwin: params.time("logwin"),
            qeps: seconds("qeps"),
            dfilt: seconds("dfilt"),
            gamma_max: number("gamma_max"),
            qbound: seconds("qbound"),
            multiloss: number("multiloss"),
            qth: seconds("qth"),
            lambda: number("lambda"),
            plrref: number("plrref"),
            pmrref: number("pmrref"),
            dloss: seconds("dloss"),
            dmark: seconds("dmark"),
            alpha: number("alpha"),
            beta_s: number("beta_s"),
            beta_v: number("beta_v"),
        }
    }
}
