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
    title: "Prague: the scalable controller of L4S, DCTCP made for the Internet",
    source: draft!("; Huitema, \"A Low Latency Internet with L4S\", 2022"),
    params: &[G, ALPHA_INIT, RTT_VIRT_MIN, D, CWR, MAX_BURST_DELAY, RESPONSE, SUSPECT_EPOCH],
    ordered: &[],
    needs: Needs {
        ecn: EcnUse::L4s,
        rate_samples: true,
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
    doc: "alpha with the first mark, which is answered by it and ends slow start",
    source: "Linux prague_init; picoquic's prague.c begins at zero",
};

const RTT_VIRT_MIN: Param = Param {
    name: "rtt_virt_min",
    kind: Kind::Time(Duration::from_millis(25), Duration::ZERO, Duration::from_secs(1)),
    doc: "round-trip time that shorter ones count as, so that they get no more of the link; \
          0s for each its own",
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
    doc: "how long marks are not answered again where the round-trip time is below rtt_virt_min: \
          for a virtual round trip; or as in Linux for a real one, and where the next mark comes \
          before the virtual one is over, for one more",
    source: draft!(" section 2.4.4; L4STeam Linux prague_enter_cwr, module version 0.7"),
};

const MAX_BURST_DELAY: Param = Param {
    name: "max_burst_delay",
    kind: Kind::Time(Duration::from_micros(250), Duration::ZERO, Duration::from_secs(1)),
    doc: "how long a burst may take at the pacing rate; one packet always leaves",
    source: draft!(" section 2.5.2; Linux prague_burst_shift"),
};

const RESPONSE: Param = Param {
    name: "response",
    kind: Kind::Choice("mark", &["mark", "epoch"]),
    doc: "reduce at the first mark of a round trip, by alpha as it is then; or when an epoch that \
          had marks ends, as a loss where more than half of its packets were marked, since alpha \
          follows a sudden onset too late",
    source: draft!(" section 2.4.2; Huitema 2022 and picoquic's prague.c"),
};

const SUSPECT_EPOCH: Param = Param {
    name: "suspect_epoch",
    kind: Kind::Switch(true),
    doc: "count an epoch with more than half of its packets marked as 1/8 where alpha was below \
          1/8 and the epoch lasted longer than the smoothed round trip: what was sent after a \
          pause met its own burst",
    source: "Huitema 2022, what was edited in; picoquic's prague.c",
};
