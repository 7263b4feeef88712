//! Parameters and registry entry.

use sojourn_units::params::{Kind, parameters};
use sojourn_units::{Duration, Rate};

use crate::contract::{Info, Needs};

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "gcc",
    title: "Google Congestion Control: media by the trend of the one-way delay, and by losses",
    source: "draft-ietf-rmcat-gcc-02",
    params: Config::KEYS,
    needs: Needs { receive_times: true, media: true, prr: false, ..Needs::BASE },
    ..Info::BASE
};

const MS: u64 = 1_000_000;

parameters! {
    /// Values of the parameters.
    pub(super) struct Config;

    /// first rate, limited by the encoder's least and greatest
    start_rate: f64 = Kind::Rate(Rate(300_000), Rate(1000), Kind::FASTEST),
        "libwebrtc, kDefaultStartBitrateBps: 300 kbit/s";
    /// packets sent within this time are one group
    burst_time: Duration = Kind::Time(Duration(5 * MS), Duration(MS), Duration(100 * MS)),
        "draft section 5.2";
    /// variance of the state noise of the arrival-time filter, in ms^2
    q: f64 = Kind::Number(1e-3, 1e-9, 1.0), "draft section 5.6, q";
    /// first error covariance of the filter, in ms^2
    e_0: f64 = Kind::Number(0.1, 1e-6, 100.0), "draft section 5.6, e(0)";
    /// coefficient of the smoothed noise variance
    chi: f64 = Kind::Number(0.01, 0.001, 0.1), "draft section 5.6: 0.1 to 0.001";
    /// groups whose delay variations add up before the over-use detector compares them; 1 is the
    /// text of the draft
    max_num_deltas: u64 = Kind::Integer(60, 1, 1000), "libwebrtc, kMaxNumDeltas: 60";
    /// first threshold of the over-use detector, in ms
    del_var_th_0: f64 = Kind::Number(12.5, 6.0, 600.0), "draft section 5.6, del_var_th(0)";
    /// time above the threshold until over-use is signalled
    overuse_time_th: Duration = Kind::Time(Duration(10 * MS), Duration(MS), Duration(1000 * MS)),
        "draft section 5.6, overuse_time_th";
    /// gain of the threshold while it rises
    k_u: f64 = Kind::Number(0.01, 1e-6, 1.0), "draft section 5.6, K_u";
    /// gain of the threshold while it falls
    k_d: f64 = Kind::Number(0.000_18, 1e-6, 1.0), "draft section 5.6, K_d";
    /// time over which the incoming rate is measured
    window: Duration = Kind::Time(Duration(1000 * MS), Duration(500 * MS), Duration(1000 * MS)),
        "draft section 5.6, T: 0.5 s to 1 s";
    /// factor of the incoming rate after over-use
    beta: f64 = Kind::Number(0.85, 0.5, 0.95), "draft section 5.6, beta";
    /// pacing rate as a multiple of the media rate
    pacing_factor: f64 = Kind::Number(2.5, 1.0, 10.0), "libwebrtc, kDefaultPaceMultiplier: 2.5";
}
