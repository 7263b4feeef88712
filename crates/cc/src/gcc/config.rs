//! Parameters and registry entry.

use sojourn_params::{Kind, Param, Params};
use sojourn_units::{Duration, Rate};

use crate::contract::{Info, Needs};

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "gcc",
    title: "Google Congestion Control: media by the trend of the one-way delay, and by losses",
    source: "draft-ietf-rmcat-gcc-02",
    params: PARAMS,
    ordered: &[],
    needs: Needs { receive_times: true, media: true, prr: false, ..Needs::BASE },
    random: false,
};

const MS: u64 = 1_000_000;

const PARAMS: &[Param] = &[
    Param {
        name: "start_rate",
        kind: Kind::Rate(Rate(300_000), Rate(1000), Kind::FASTEST),
        doc: "first rate, limited by the encoder's least and greatest",
        source: "libwebrtc, kDefaultStartBitrateBps: 300 kbit/s",
    },
    Param {
        name: "burst_time",
        kind: Kind::Time(Duration(5 * MS), Duration(MS), Duration(100 * MS)),
        doc: "packets sent within this time are one group",
        source: "draft section 5.2",
    },
    Param {
        name: "q",
        kind: Kind::Number(1e-3, 1e-9, 1.0),
        doc: "variance of the state noise of the arrival-time filter, in ms^2",
        source: "draft section 5.6, q",
    },
    Param {
        name: "e_0",
        kind: Kind::Number(0.1, 1e-6, 100.0),
        doc: "first error covariance of the filter, in ms^2",
        source: "draft section 5.6, e(0)",
    },
    Param {
        name: "chi",
        kind: Kind::Number(0.01, 0.001, 0.1),
        doc: "coefficient of the smoothed noise variance",
        source: "draft section 5.6: 0.1 to 0.001",
    },
    Param {
        name: "max_num_deltas",
        kind: Kind::Integer(60, 1, 1000),
        doc: "groups whose delay variations add up before the over-use detector compares them; 1 \
              is the text of the draft",
        source: "libwebrtc, kMaxNumDeltas: 60",
    },
    Param {
        name: "del_var_th_0",
        kind: Kind::Number(12.5, 6.0, 600.0),
        doc: "first threshold of the over-use detector, in ms",
        source: "draft section 5.6, del_var_th(0)",
    },
    Param {
        name: "overuse_time_th",
        kind: Kind::Time(Duration(10 * MS), Duration(MS), Duration(1000 * MS)),
        doc: "time above the threshold until over-use is signalled",
        source: "draft section 5.6, overuse_time_th",
    },
    Param {
        name: "k_u",
        kind: Kind::Number(0.01, 1e-6, 1.0),
        doc: "gain of the threshold while it rises",
        source: "draft section 5.6, K_u",
    },
    Param {
        name: "k_d",
        kind: Kind::Number(0.000_18, 1e-6, 1.0),
        doc: "gain of the threshold while it falls",
        source: "draft section 5.6, K_d",
    },
    Param {
        name: "window",
        kind: Kind::Time(Duration(1000 * MS), Duration(500 * MS), Duration(1000 * MS)),
        doc: "time over which the incoming rate is measured",
        source: "draft section 5.6, T: 0.5 s to 1 s",
    },
    Param {
        name: "beta",
        kind: Kind::Number(0.85, 0.5, 0.95),
        doc: "factor of the incoming rate after over-use",
        source: "draft section 5.6, beta",
    },
    Param {
        name: "pacing_factor",
        kind: Kind::Number(2.5, 1.0, 10.0),
        doc: "pacing rate as a multiple of the media rate",
        source: "libwebrtc, kDefaultPaceMultiplier: 2.5",
    },
];

/// Values of the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) start_rate: f64,
    pub(super) burst_time: Duration,
    pub(super) q: f64,
    pub(super) e_0: f64,
    pub(super) chi: f64,
    pub(super) max_num_deltas: u64,
    pub(super) del_var_th_0: f64,
    pub(super) overuse_time_th: Duration,
    pub(super) k_u: f64,
    pub(super) k_d: f64,
    pub(super) window: Duration,
    pub(super) beta: f64,
    pub(super) pacing_factor: f64,
}

impl Config {
    pub(super) fn new(params: &Params) -> Config {
        Config {
            start_rate: params.rate("start_rate").as_f64(),
            burst_time: params.time("burst_time"),
            q: params.number("q"),
            e_0: params.number("e_0"),
            chi: params.number("chi"),
            max_num_deltas: params.integer("max_num_deltas"),
            del_var_th_0: params.number("del_var_th_0"),
            overuse_time_th: params.time("overuse_time_th"),
            k_u: params.number("k_u"),
            k_d: params.number("k_d"),
            window: params.time("window"),
            beta: params.number("beta"),
            pacing_factor: params.number("pacing_factor"),
        }
    }
}
