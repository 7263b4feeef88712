//! Prague's registry entry and its parameters, by the draft's names.

use sojourn_units::Duration;
use sojourn_units::params::{Kind, keys};

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
    params: keys! {
        /// weight of the newest round trip in alpha
        g: Kind::Number(1.0 / 16.0, 1.0 / 1024.0, 1.0),
            draft!(" section 2.3.2; Linux PRAGUE_SHIFT_G");
        /// alpha at the first mark, which reduces by this alpha and ends slow start
        alpha_init: Kind::Number(1.0, 0.0, 1.0),
            "Linux prague_init; picoquic's prague.c begins at zero";
        /// virtual round-trip time of flows with a shorter one, so that they get no larger share of
        /// the link; 0s: none
        rtt_virt_min: Kind::Time(Duration::from_millis(25), Duration::ZERO, Duration::from_secs(1)),
            draft!(" section 2.4.4; Linux prague_rtt_target");
        /// round trips after slow start before `rtt_virt_min` takes effect
        d: Kind::Integer(500, 0, 1_000_000_000),
            draft!(" section 2.4.4; Linux prague_rtt_transition");
        /// time without another reduction if the round-trip time is below rtt_virt_min: a virtual
        /// round trip; or as in Linux a real one, and one more if the next mark arrives before the
        /// virtual one is over
        cwr: Kind::Choice("virtual", &["virtual", "linux"]),
            draft!(" section 2.4.4; L4STeam Linux prague_enter_cwr, module version 0.7");
        /// greatest duration of a burst at the pacing rate; one packet may always leave
        max_burst_delay: Kind::Time(
            Duration::from_micros(250),
            Duration::ZERO,
            Duration::from_secs(1),
        ),
            draft!(" section 2.5.2; Linux prague_burst_shift");
        /// reduce at the first mark of a round trip, by the present alpha; or at the end of an
        /// epoch with marks, as for a loss if more than half of its packets were marked, because
        /// alpha follows a sudden onset too late
        response: Kind::Choice("mark", &["mark", "epoch"]),
            draft!(" section 2.4.2; Huitema 2022 and picoquic's prague.c");
        /// set alpha to 1/8 after an epoch with more than half of its packets marked, if alpha was
        /// below 1/8 and the epoch lasted longer than the smoothed round trip: packets sent after a
        /// pause met their own burst. The stack of that text has it, with `response = "epoch"`; the
        /// draft, Linux and udp_prague do not
        suspect_epoch: Kind::Switch(false), "Huitema 2022, what was edited in; picoquic's prague.c";
        /// formulas in floats, or in integers with 20 bits of fraction, as in Sojourn's program for
        /// the Linux kernel
        arithmetic: Kind::Choice("exact", &["exact", "integer"]), "bpf/prague.h";
        /// detect a classic ECN queue from the variation and depth of the round-trip time, and
        /// reduce the window for its marks nearly as for a loss
        classic_fallback: Kind::Switch(false),
            "Briscoe and Ahmed, \"TCP Prague Fall-back on Detection of a Classic ECN AQM\", 2019; \
             L4STeam Linux prague_ecn_fallback, off by default";
    },
    needs: Needs {
        ecn: EcnUse::L4s,
        // Linux's module has `cong_control`, which replaces PRR.
        prr: false,
        ..Needs::BASE
    },
    ..Info::BASE
};
