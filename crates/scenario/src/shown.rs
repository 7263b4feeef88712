//! Escaping of untrusted text in messages for a terminal.

use std::borrow::Cow;

/// Escapes each character that controls a terminal, breaks the line or changes the direction of
/// text: `\x1b`.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if controls(c) { escape(c) } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// As above for text whose only control characters are of C1. `annotate_snippets` replaces the
/// others in a source line, and its own styles contain escape characters.
pub(crate) fn shown_c1(text: String) -> String {
    let is_c1 = |c| ('\u{80}'..='\u{9f}').contains(&c);
    if !text.contains(is_c1) {
        return text;
    }
    text.chars().map(|c| if is_c1(c) { escape(c) } else { c.to_string() }).collect()
}

fn escape(c: char) -> String {
    match c {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\0'..='\u{ff}' => format!("\\x{:02x}", u32::from(c)),
        _ => format!("\\u{:04x}", u32::from(c)),
    }
}

/// C0, DEL, C1, line separators, and Unicode's Bidi_Control.
fn controls(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || ('\u{2066}'..='\u{2069}').contains(&c)
}
