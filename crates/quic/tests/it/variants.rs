//! Conditions of the four downloads that the published test does not state, and their effect on the
//! two missed figures: the third table of `docs/quic.md`.

use crate::common::{link, run};
use crate::downloads::{downloads, seconds};
use crate::table::Table;

const STEP: &str = r#"{ kind = "threshold", ce_threshold = "1ms" }"#;

/// The changes of a row: the transport, and text that replaces other text in the scenario, which
/// may be that of the controller.
struct Variant {
    name: &'static str,
    transport: &'static str,
    changes: &'static [(&'static str, &'static str)],
}

const BASE: &str = r#"{ stack = "noq", mtu = "1440B", ack_every = 1 }"#;
const TWO: &str = r#"{ stack = "noq", mtu = "1440B", ack_every = 2 }"#;
/// The model of QUIC with the rule of picoquic until August 2022, which may reduce once more for losses
/// of packets that left before the last reduction (docs/deviations.md).
const TWICE: &str = r#"{ profile = "quic", mss = "1378B", header = "62B", ack_every = 1, recovery_period = "picoquic-2022" }"#;
const TWICE_OF_FIVE: &str = r#"{ profile = "quic", mss = "1378B", header = "62B", ack_every = 5, recovery_period = "picoquic-2022" }"#;
const PRAGUE: &str = "\"prague\"";
const RENO: &str = "\"reno\"";

const VARIANTS: &[Variant] = &[
    Variant { name: "as above", transport: BASE, changes: &[] },
    Variant {
        name: "an acknowledgement for 2 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 2 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 3 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 3 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 4 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 4 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 5 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 5 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 6 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 6 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 8 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 8 }"#,
        changes: &[],
    },
    Variant {
        name: "an acknowledgement for 10 packets",
        transport: r#"{ stack = "noq", mtu = "1440B", ack_every = 10 }"#,
        changes: &[],
    },
    Variant {
        name: "packets of 1228 bytes",
        transport: r#"{ stack = "noq", mtu = "1228B", ack_every = 1 }"#,
        changes: &[],
    },
    Variant {
        name: "packets of 1500 bytes",
        transport: r#"{ stack = "noq", mtu = "1500B", ack_every = 1 }"#,
        changes: &[],
    },
    Variant {
        name: "quinn",
        transport: r#"{ stack = "quinn", mtu = "1440B", ack_every = 1 }"#,
        changes: &[],
    },
    Variant {
        name: "a buffer of 10 ms",
        transport: BASE,
        changes: &[("buffer = \"20ms\"", "buffer = \"10ms\"")],
    },
    Variant {
        name: "a buffer of 25 ms, as the published round trips show",
        transport: BASE,
        changes: &[("buffer = \"20ms\"", "buffer = \"25ms\"")],
    },
    Variant {
        name: "a buffer of 40 ms",
        transport: BASE,
        changes: &[("buffer = \"20ms\"", "buffer = \"40ms\"")],
    },
    Variant {
        name: "1 Mbit/s for the acknowledgements",
        transport: BASE,
        changes: &[("[link.up]\nrate = \"10Mbit\"", "[link.up]\nrate = \"1Mbit\"")],
    },
    Variant {
        name: "marks by Linux's DualPI2",
        transport: BASE,
        changes: &[(STEP, "\"dualpi2_linux\"")],
    },
    Variant {
        name: "marks above 1.16 ms, the time of one packet",
        transport: BASE,
        changes: &[("ce_threshold = \"1ms\"", "ce_threshold = \"1.16ms\"")],
    },
    Variant {
        name: "Prague begins with alpha = 0, as the published stack",
        transport: BASE,
        changes: &[(PRAGUE, "{ kind = \"prague\", alpha_init = 0 }")],
    },
    Variant {
        name: "the same, and an acknowledgement for 2 packets",
        transport: TWO,
        changes: &[(PRAGUE, "{ kind = \"prague\", alpha_init = 0 }")],
    },
    Variant {
        name: "bursts of 1 ms, and an acknowledgement for 2 packets",
        transport: TWO,
        changes: &[(PRAGUE, "{ kind = \"prague\", max_burst_delay = \"1ms\" }")],
    },
    Variant {
        name: "Prague by epochs, as the published stack",
        transport: BASE,
        changes: &[(PRAGUE, "{ kind = \"prague\", response = \"epoch\", suspect_epoch = true }")],
    },
    Variant {
        name: "whole packets in the window, as in Linux",
        transport: BASE,
        changes: &[(RENO, "{ kind = \"reno\", arithmetic = \"linux\" }")],
    },
    Variant {
        name: "the model, which may reduce twice for one overflow, as the published stack",
        transport: TWICE,
        changes: &[],
    },
    Variant {
        name: "the same, and an acknowledgement for 5 packets",
        transport: TWICE_OF_FIVE,
        changes: &[],
    },
];

/// A time and the packets dropped and marked; `None` if the variant does not change the scenario.
fn figures(control: &str, variant: &Variant, queue: &str, is_base: bool) -> Option<String> {
    let base = downloads(control, variant.transport, "1ms", "").replace(STEP, queue);
    let text = variant.changes.iter().fold(base.clone(), |text, (old, new)| text.replace(old, new));
    let is_changed = text != base || (variant.changes.is_empty() && variant.transport != BASE);
    if !is_base && !is_changed {
        return None;
    }
    let summary = run(&text, 1).0;
    let down = link(&summary, "down");
    let (dropped, marked) = (down.dropped_packets, down.marked_packets);
    Some(format!("{:.2} s, {dropped} lost, {marked} marked", seconds(&summary)))
}

#[test]
fn conditions_and_the_missed_figures() {
    let mut table = Table::new(&["condition", "New Reno, no marks", "Prague, marks at 1 ms"]);
    for (place, variant) in VARIANTS.iter().enumerate() {
        let of = |control, queue| figures(control, variant, queue, place == 0).unwrap_or_default();
        let reno = of(RENO, "\"droptail\"");
        table.row(&[variant.name.to_owned(), reno, of(PRAGUE, STEP)]);
    }
    table.publish_in("quic.md");
}
