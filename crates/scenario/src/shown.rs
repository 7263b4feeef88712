//! Text of foreign origin in messages that reach a terminal.

use std::borrow::Cow;

/// The text with an escape in place of each character that controls a terminal, breaks the
/// line or turns the direction of text: `\x1b`.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if controls(c) { escape(c) } else { c.to_string() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// The same where the only ones left are of C1: `annotate_snippets` replaces the others in
/// a source line, whose own styles hold escape characters.
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
