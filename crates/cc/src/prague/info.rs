//! Prague's registry entry and its parameters, by the draft's names.

use sojourn_params::{Kind, Param};
use sojourn_units::Duration;

use crate::contract::{EcnUse, Info, Needs};

/// The draft's name with a section.
macro_rules! draft {
    ($place:literal) => {
        concat!("draft-briscoe-iccrg-prague-congestion-control-04", $place)
    };
}

/// Registry entry.
pub(super) const INFO: Info = Info {
    name: "prague",
    title: "Prague: the scalable controller of L4S, DCTCP adapted to the Internet",
    source: draft!("; Huitema, \"A Low Latency Internet with L4S\", 2022"),
    params: &[
        G,
        ALPHA_INIT,
        RTT_VIRT_MIN,
        D,
        CWR,
        MAX_BURST_DELAY,
        RESPONSE,
        SUSPECT_EPOCH,
        ARITHMETIC,
        CLASSIC_FALLBACK,
    ],
    ordered: &[],
    needs: Needs {
        ecn: EcnUse::L4s,
        // Linux's module has `cong_control`, which replaces PRR.
        prr: false,
        ..Needs::BASE
    },
    random: false,
};

const G: Param = Param {
    name: "g",
    kind: Kind::Number(1.0 / 16.0, 1.0 / 1024.0, 1.0),
    doc: "weight of the newest round trip in alpha",
    source: draft!(" section 2.3.2; Linux PRAGUE_SHIFT_G"),
};

const ALPHA_INIT: Param = Param {
    name: "alpha_init",
    kind: Kind::Number(1.0, 0.0, 1.0),
    doc: "alpha at the first mark, which reduces by this alpha and ends slow start",
    source: "Linux prague_init; picoquic's prague.c begins at zero",
};

const RTT_VIRT_MIN: Param = Param {
    name: "rtt_virt_min",
    kind: Kind::Time(Duration::from_millis(25), Duration::ZERO, Duration::from_secs(1)),
    doc: "virtual round-trip time of flows with a shorter one, so that they get no larger share \
          of the link; 0s: none",
    source: draft!(" section 2.4.4; Linux prague_rtt_target"),
};

const D: Param = Param {
    name: "d",
    kind: Kind::Integer(500, 0, 1_000_000_000),
    doc: "round trips after slow start before `rtt_virt_min` takes effect",
    source: draft!(" section 2.4.4; Linux prague_rtt_transition"),
};

const CWR: Param = Param {
    name: "cwr",
    kind: Kind::Choice("virtual", &["virtual", "linux"]),
    doc: "time without another reduction if the round-trip time is below rtt_virt_min: a virtual \
          round trip; or as in Linux a real one, and one more if the next mark arrives before the \
          virtual one is over",
    source: draft!(" section 2.4.4; L4STeam Linux prague_enter_cwr, module version 0.7"),
};

const MAX_BURST_DELAY: Param = Param {
    name: "max_burst_delay",
    kind: Kind::Time(Duration::from_micros(250), Duration::ZERO, Duration::from_secs(1)),
    doc: "greatest duration of a burst at the pacing rate; one packet may always leave",
    source: draft!(" section 2.5.2; Linux prague_burst_shift"),
};

const RESPONSE: Param = Param {
    name: "response",
    kind: Kind::Choice("mark", &["mark", "epoch"]),
    doc: "reduce at the first mark of a round trip, by the present alpha; or at the end of an \
          epoch with marks, as for a loss if more than half of its packets were marked, because \
          alpha follows a sudden onset too late",
    source: draft!(" section 2.4.2; Huitema 2022 and picoquic's prague.c"),
};

const SUSPECT_EPOCH: Param = Param {
    name: "suspect_epoch",
    kind: Kind::Switch(false),
    doc: "set alpha to 1/8 after an epoch with more than half of its packets marked, if alpha was \
          below 1/8 and the epoch lasted longer than the smoothed round trip: packets sent after a \
          pause met their own burst. The stack of that text has it, with `response = \"epoch\"`; \
          the draft, Linux and udp_prague do not",
    source: "Huitema 2022, what was edited in; picoquic's prague.c",
};

const ARITHMETIC: Param = Param {
    name: "arithmetic",
    kind: Kind::Choice("exact", &["exact", "integer"]),
    doc: "formulas in floats, or in integers with 20 bits of fraction, as in Sojourn's program for \
          the Linux kernel",
    source: "bpf/prague.h",
};

const CLASSIC_FALLBACK: Param = Param {
    name: "classic_fallback",
    kind: Kind::Switch(false),
    doc: "detect a classic ECN queue from the variation and depth of the round-trip time, and \
          reduce the window for its marks nearly as for a loss",
    source: "Briscoe and Ahmed, \"TCP Prague Fall-back on Detection of a Classic ECN AQM\", 2019; \
             L4STeam Linux prague_ecn_fallback, off by default",
};
