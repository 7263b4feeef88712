//! Parameters and registry entry.

use sojourn_units::params::{Kind, Params, parameters};
use sojourn_units::{Bytes, Duration, Rate};

use crate::contract::{EcnUse, Info, Needs, Setup};

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "scream",
    title: "SCReAM v2: media with a window, against loss, delay, and ECN marks, L4S included",
    source: "draft-ietf-ccwg-rfc8298bis-screamv2-01",
    params: Config::KEYS,
    ordered: &[("qdelay_target_lo", "qdelay_target_hi")],
    needs: Needs { ecn: EcnUse::L4s, receive_times: true, media: true, prr: false, ..Needs::BASE },
    random: false,
};

/// The needs with these parameters.
pub(super) fn needs(params: &Params) -> Needs {
    let ecn = match params.choice("ecn") {
        "l4s" => EcnUse::L4s,
        "classic" => EcnUse::Classic,
        _ => EcnUse::None,
    };
    Needs { ecn, ..INFO.needs }
}

const MS: u64 = 1_000_000;

const fn time(default_ms: u64, most_ms: u64) -> Kind {
    Kind::Time(Duration(default_ms * MS), Duration(MS), Duration(most_ms * MS))
}

const fn factor(default: f64) -> Kind {
    Kind::Number(default, 0.01, 1.0)
}

parameters! {
    /// Values of the parameters, times in seconds.
    pub(super) struct Config(Setup);

    /// the size of the flow's packets
    // Deviation (draft-ietf-ccwg-rfc8298bis-screamv2-01): MSS is the size of the flow's packets,
    // 1,200 bytes by default; the draft has 1,000.
    own mss: f64 = |setup| setup.mss.as_f64();
    /// whether the response to marks is that of L4S
    own is_l4s: bool = |setup| setup.params.choice("ecn") == "l4s";
    /// `MIN_REF_WND`, in which a packet fits
    own least_ref_wnd: f64 =
        |setup| setup.params.data("min_ref_wnd").as_f64().max(setup.mss.as_f64());
    /// response to marks: in proportion (L4S), once a round trip (classic), or no ECN
    ecn = Kind::Choice("l4s", &["l4s", "classic", "none"]), "draft section 4.2.1, IS_L4S";
    /// target of the queueing delay, and its minimum
    qdelay_target_lo: f64 = time(60, 10_000), "draft section 4.2.2, QDELAY_TARGET_LO";
    /// maximum of the target beside loss-based flows
    qdelay_target_hi: f64 = time(400, 10_000), "draft section 4.2.2, QDELAY_TARGET_HI";
    /// minimum reference window
    min_ref_wnd = Kind::Data(Bytes(3000), Bytes(500), Bytes(1_000_000)),
        "draft section 4.2.2, MIN_REF_WND";
    /// window factor after a loss
    beta_loss: f64 = factor(0.7), "draft section 4.2.2, BETA_LOSS";
    /// window factor after a mark of classic ECN
    beta_ecn: f64 = factor(0.8), "draft section 4.2.2, BETA_ECN";
    /// growth of the window in a round trip, as a share of it, long after congestion
    mul_increase_factor: f64 = Kind::Number(0.02, 0.0, 1.0),
        "draft section 4.2.2, MUL_INCREASE_FACTOR";
    /// round trips after congestion until that growth is reached
    post_congestion_delay_rtts: f64 = Kind::Number(100.0, 1.0, 10_000.0),
        "draft section 4.2.2, POST_CONGESTION_DELAY_RTT";
    /// greatest window, as a multiple of the bytes in flight
    bytes_in_flight_head_room: f64 = Kind::Number(1.5, 1.0, 10.0),
        "draft section 4.2.2, BYTES_IN_FLIGHT_HEAD_ROOM";
    /// round-trip time below which flows get equal shares
    virtual_rtt: f64 = time(25, 1000), "draft section 4.2.2, VIRTUAL_RTT";
    /// whether variation of the queueing delay slows growth and shrinks the head room
    reduce_jitter: bool = Kind::Switch(false), "draft section 4.2.1.4, REDUCE_JITTER";
    /// pacing rate as a multiple of the media rate
    packet_pacing_headroom: f64 = Kind::Number(1.5, 1.0, 10.0),
        "draft section 4.3.2, PACKET_PACING_HEADROOM";
    /// minimum pacing rate, before the head room
    rate_pace_min: f64 = Kind::Rate(Rate(50_000), Rate(1000), Kind::FASTEST),
        "draft section 4.3.2, RATE_PACE_MIN";
    /// bytes of a packet beside the media
    packet_overhead: f64 = Kind::Data(Bytes(20), Bytes(0), Bytes(1000)),
        "draft section 4.4, PACKET_OVERHEAD";
    /// whether a standing queueing delay resets the base delay
    clock_drift: bool = Kind::Switch(false), "draft section 4.5.1";
    /// whether losses count only above a rate of 1 %, or with a queue, and a policer is detected
    conditional_loss: bool = Kind::Switch(false), "draft section 4.5.2";
    /// whether the window shrinks less while the media rate is below the acknowledged rate
    reduce_undershoot: bool = Kind::Switch(false), "draft section 4.5.3";
    /// whether the target of the queueing delay rises beside loss-based flows
    competing_flows: bool = Kind::Switch(false),
        "draft section 4.5.4; off by default as enableSbd in EricssonResearch/scream";
}
