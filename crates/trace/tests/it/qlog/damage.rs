//! Damaged files: everything before the damage, its place, and a reason with a remedy.

use proptest::prelude::*;
use serde_json::json;
use sojourn_trace::qlog::{Figures, Log};

use super::made::{ack, lines, log, packet, shipped, stream};

fn message(file: &[u8]) -> String {
    let log = log(file);
    assert!(log.traces.is_empty());
    log.damage.expect("it is damaged").to_string()
}

#[test]
fn errors_name_the_fault_and_its_place() {
    for (file, said) in [
        ("{}", "byte 0 (line 1): not qlog: it has no `traces`"),
        ("{\"traces\": 1}", "byte 0 (line 1): not qlog: it has no `traces`"),
        ("", "byte 0 (line 1): the file ends where '{' belongs"),
        ("[]", "byte 0 (line 1): '[' where '{' belongs"),
        ("{\n 1: 2}", "byte 3 (line 2): a name is not text"),
        ("{\n \"a\" 2}", "byte 7 (line 2): '2' where ':' belongs"),
        ("{\n \"a\": nul}", "byte 11 (line 2): not JSON: the text ends within a value"),
        ("{\"traces\": [\n[]]}", "byte 13 (line 2): a trace is not an object"),
        (
            "\u{1e}{\"title\": 1}\n",
            "byte 1 (line 1): the first text is not a qlog header: it has no `trace`",
        ),
    ] {
        assert_eq!(message(file.as_bytes()), said, "{file}");
    }
    let deep = format!("{{\"traces\": [{{\"a\": {}", "[".repeat(1 << 20));
    assert_eq!(message(deep.as_bytes()), "byte 145 (line 1): nested too deeply");
}

/// jq writes such a file, without `--seq`.
#[test]
fn a_pretty_sequence_is_named_as_one() {
    let text = String::from_utf8(lines(&[packet(0.0, "sent", 0, json!([]))])).unwrap();
    let pretty = text.lines().map(|line| {
        let text: serde_json::Value = serde_json::from_str(line).unwrap();
        serde_json::to_string_pretty(&text).unwrap() + "\n"
    });
    let said = message(pretty.collect::<String>().as_bytes());
    assert!(said.contains("no record separators (RFC 7464)"), "{said}");
    assert!(said.contains("jq -c ."), "{said}");
}

#[test]
fn data_after_the_end_are_named() {
    let mut file = lines(&[packet(0.0, "sent", 0, json!([]))]);
    file.extend(b"{} {}\n");
    let found = log(&file);
    let damage = found.damage.expect("two texts on a line");
    assert_eq!((damage.line, damage.events), (3, 1));
    assert!(damage.to_string().ends_with("there are data after a JSON text"), "{damage}");
    let whole = log(b"{\"traces\": [{\"events\": [{}]}]}\n x");
    assert_eq!(
        whole.damage.expect("an x").to_string(),
        "byte 32 (line 2): there are data after a JSON text"
    );
}

/// Numbers that JSON does not have, or that no float holds, are unknown values.
#[test]
fn odd_numbers_are_unknown() {
    let many = format!("1{}", "0".repeat(400));
    for value in ["NaN", "Infinity", "-Infinity", "1e999", many.as_str()] {
        let mut file = lines(&[packet(0.0, "sent", 0, json!([]))]);
        let event = format!(
            "{{\"time\": {value}, \"name\": \"metrics_updated\", \"data\": {{\"latest_rtt\": 20, \
             \"cwnd\": {value}, \"x\": \"NaN \\\" 1e999\"}}}}\n"
        );
        file.extend(event.bytes());
        let found = log(&file);
        assert_eq!(found.damage, None, "{value}");
        assert_eq!(Figures::new(&[found], None).flows[0].rtts_s, [0.02], "{value}");
    }
}

/// JSON is UTF-8 without control characters (RFC 8259 sections 7 and 8.1); other bytes in a name
/// are no reason to stop.
#[test]
fn other_encodings_are_read() {
    let file = b"{\"traces\": [{\"title\": \"a\tcaf\xe9\", \"events\": [{}]}]}";
    let found = log(file);
    assert_eq!(found.damage, None);
    assert_eq!(Figures::new(&[found], None).title.as_deref(), Some("a caf\u{fffd}"));
}

/// The place is that in the file, whose text has three bytes for each of these four.
#[test]
fn damage_behind_another_encoding_has_its_place() {
    let file = b"{\"traces\": [\n{\"title\": \"\xe9\xe9\xe9\xe9\", \"events\": [{\n\"a\" 1}]}]}";
    let damage = log(file).damage.expect("a colon is missing");
    assert_eq!(damage.to_string(), "byte 48 (line 3): not JSON: expected `:`");
    let cut = b"{\"trace\": {}}\n{\"name\": \"\xe9\xe9\xe9\xe9";
    let damage = log(cut).damage.expect("it is cut");
    assert_eq!((damage.at_byte, damage.line), (cut.len() as u64, 2));
}

fn sound(log: &Log, file: &[u8]) {
    let Some(damage) = &log.damage else { return };
    assert!(damage.at_byte <= file.len() as u64, "{damage}");
    let before = &file[..damage.at_byte as usize];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
    assert_eq!(damage.line, line, "{damage}");
}

fn whole() -> Vec<u8> {
    lines(&[
        packet(0.0, "sent", 0, json!([stream(0, 0, 9)])),
        packet(10.0, "sent", 1, json!([stream(0, 9, 9)])),
        packet(40.0, "received", 0, json!([ack(json!([[0, 1]]))])),
    ])
}

#[test]
fn a_file_may_end_anywhere() {
    let two_paths = shipped("two-paths.sqlog");
    for whole in [whole(), two_paths] {
        let mut before = 0;
        for len in 0..=whole.len() {
            let found = log(&whole[..len]);
            sound(&found, &whole[..len]);
            let events = found.damage.as_ref().map_or(before, |damage| damage.events);
            assert!(events >= before, "{len}");
            before = events;
        }
    }
}

proptest! {
    #[test]
    fn faults_anywhere_have_their_place(
        at in 0_usize..600,
        cut in 0_usize..12,
        piece in prop::sample::select(vec![
            "null", "-1", "1e999", "[[", "}", "\"", "NaN", "{}", "\u{1e}", "\\", "[0,9e18]",
            "{\"traces\": [{\"events\": [", "99999999999999999999", "\"\\ud800\"", "\n",
        ]),
    ) {
        for whole in [whole(), shipped("two-paths.sqlog")] {
            let at = at.min(whole.len());
            let mut file = whole[..at].to_vec();
            file.extend(piece.bytes());
            file.extend(&whole[(at + cut).min(whole.len())..]);
            let found = log(&file);
            sound(&found, &file);
            let figures = Figures::new(&[found], None);
            prop_assert!(figures.flows.iter().all(|flow| flow.rtts_s.is_sorted()));
        }
    }
}
