//! Errors escape the control characters of a document before they reach the terminal.

use sojourn_scenario::{Document, Errors};

/// Sequences that clear the screen, in C0 and as one C1 character; DEL; and an override of the text
/// direction.
const HOSTILE: &str = "a\u{1b}[2Jb\u{9b}2Jc\u{7f}d\u{202e}e";

fn refused(origin: &str, text: &str) -> Errors {
    let read = |_: &str| Err(std::io::Error::other("no such file"));
    match Document::from_toml(origin, text) {
        Ok(document) => document.resolve(&read).map(drop).unwrap_err(),
        Err(errors) => errors,
    }
}

fn require_harmless(errors: &Errors) {
    let plain = errors.to_string();
    let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!plain.contains(is_bad), "{plain:?}");
    assert!(!plain.lines().any(|line| line.starts_with("forged")), "{plain}");
    // Every escape character starts a colour: digits and semicolons up to an `m`.
    for style in errors.to_ansi().split('\u{1b}').skip(1) {
        let rest = style.trim_start_matches(|c: char| "[;".contains(c) || c.is_ascii_digit());
        assert!(rest.starts_with('m'), "{style:?}");
    }
}

#[test]
fn escapes_are_shown_as_text() {
    let quoted = "\"a\\u001b[2Jb\\u009b2Jc\\u007fd\\u202ee\\nforged\"";
    for text in [
        format!("{quoted} = 1\n"),
        format!("title = 1 # {HOSTILE}\n"),
        format!("title = {HOSTILE}\n"),
        format!("duration = {quoted}\n"),
        format!("controls = [{quoted}]\n"),
        format!("[link.{quoted}]\ndelay = \"1ms\"\n"),
        format!("[link.a]\nrate = {{ trace = {quoted} }}\ndelay = \"1ms\"\n"),
    ] {
        require_harmless(&refused(&format!("{HOSTILE}\nforged.toml"), &text));
    }
    let named = refused(&format!("{HOSTILE}\nforged.toml"), "title = 1\n").to_string();
    assert!(named.contains(r"a\x1b[2Jb\x9b2Jc\x7fd\u202ee\nforged.toml:1:9"), "{named}");
}
