//! Differentiated services codepoints by name.

/// The codepoints that have names, the default first (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC
/// 8622).
const CODEPOINTS: &[(&str, u8)] = &[
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

/// The names of codepoints, the default first.
pub const DSCP_NAMES: &[&str] = &names();

const fn names() -> [&'static str; CODEPOINTS.len()] {
    let mut names = [""; CODEPOINTS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = CODEPOINTS[at].0;
        at += 1;
    }
    names
}

/// The codepoint of this name, one of [`DSCP_NAMES`].
pub fn dscp(name: &str) -> Option<u8> {
    CODEPOINTS.iter().find(|(known, _)| *known == name).map(|(_, codepoint)| *codepoint)
}
