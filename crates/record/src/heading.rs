//! The names of figures in tables and pictures.

/// Words of keys that a heading has in short.
const SHORT: &[(&str, &str)] = &[
    ("queue delay", "queue"),
    ("frame delay", "frame"),
    ("playout delay", "playout"),
    ("rtt", "RTT"),
    ("utilisation", "util."),
    ("response", "resp."),
    ("completion p", "compl. p"),
    ("completion mean", "compl. mean"),
    ("slowdown", "slowd."),
    ("dropped packets", "drops"),
    ("marked packets", "marks"),
    ("retransmitted packets", "re-sent"),
    ("started transfers", "started"),
    ("completed transfers", "done"),
    ("played frames", "played"),
    ("avoidable share", "avoidable"),
    ("quality mos", "MOS"),
    ("goodput share", "share"),
    ("jain", "Jain"),
];

/// The heading of the figures with this key: its words without the unit, such as `queue p99`.
pub fn heading(key: &str) -> String {
    let unit = ["_bps", "_bytes", "_s"].into_iter().find(|unit| key.ends_with(unit));
    let words = key.strip_suffix(unit.unwrap_or_default()).unwrap_or(key).replace('_', " ");
    SHORT.iter().fold(words, |text, (long, short)| text.replace(long, short))
}
