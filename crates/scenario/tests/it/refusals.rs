//! Refused scenarios: position, message and help of each error, in the table `refusals.txt`.
//! `UPDATE=1 cargo test -p sojourn-scenario refusals` rewrites it, for review.

use sojourn_scenario::{Document, Errors, Known};

use crate::generated::generated;

/// A valid scenario; each case changes one line of it.
const SOUND: &str = r#"title = "A sound scenario"
duration = "60s"
controls = ["reno"]

[link.bottleneck]
rate = "60Mbit"
delay = "25ms"
queue = "codel"

[link.back]
delay = "25ms"

[flow.upload]
path = ["bottleneck"]
back = ["back"]
source = "bulk"
"#;

fn resolve(text: &str) -> Result<(), Errors> {
    let read = |file: &str| match file {
        "empty.trace" => Ok(String::new()),
        "word.trace" => Ok("1\n2\nthree\n".to_owned()),
        "falling.trace" => Ok("5\n4\n".to_owned()),
        "gap.trace" => Ok("1\n\n2\n".to_owned()),
        "zero.trace" => Ok("0\n0\n".to_owned()),
        "negative.trace" => Ok("-1\n".to_owned()),
        "bare.csv" => Ok("0,60000000\n1,20000000\n".to_owned()),
        "rates.csv" => Ok("0,60Mbit\n1,20Mbit\n".to_owned()),
        "half.sizes" => Ok("0 0\n1000 0.5\n".to_owned()),
        "word.sizes" => Ok("0 0\n1kB 1\n".to_owned()),
        _ => Err(std::io::Error::other("no such file")),
    };
    Document::from_toml("sound.toml", text)?.resolve(&read).map(drop)
}

/// The valid scenario with its line `line` replaced.
fn with_line(line: usize, text: &str) -> String {
    let mut lines: Vec<_> = SOUND.lines().collect();
    lines[line - 1] = text;
    lines.join("\n") + "\n"
}

/// The errors of a scenario, in the table's format.
fn block(text: &str) -> String {
    let Err(errors) = resolve(text) else { return "  accepted\n".to_owned() };
    let show = |item: sojourn_scenario::Item| {
        let at = item.position.expect("text has positions");
        format!("  {}:{} {}\n       {}\n", at.line, at.column, item.message, item.help)
    };
    errors.items().into_iter().map(show).collect()
}

/// The table with all its answers recomputed.
fn answered(table: &str) -> String {
    let mut text = String::new();
    for line in table.lines().filter(|line| !line.starts_with(' ')) {
        text.push_str(line);
        text.push('\n');
        let case = line.split_once(':').and_then(|(n, new)| Some((n.parse().ok()?, new)));
        if let Some((number, new)) = case {
            text.push_str(&block(&with_line(number, &new.trim_start().replace("\\n", "\n"))));
        }
    }
    text
}

#[test]
fn the_table_holds() {
    generated("crates/scenario/tests/refusals.txt", |table| {
        let answered = answered(table);
        assert!(!answered.contains("  accepted"), "the table lists refusals only:\n{answered}");
        answered
    });
}

#[test]
fn the_sound_scenario_is_sound() {
    resolve(SOUND).unwrap_or_else(|errors| panic!("{errors}"));
}

#[test]
fn a_scenario_needs_links_and_flows() {
    let messages = |text: &str| -> Vec<String> {
        let errors = resolve(text).expect_err("nothing runs without links and flows");
        errors.items().into_iter().map(|item| item.message).collect()
    };
    let missing = |key: &str| format!("the scenario has no `{key}`");
    assert_eq!(messages(""), [missing("duration"), missing("link"), missing("flow")]);
    assert_eq!(
        messages("duration = \"1s\"\nlink = {}\nflow = {}\n"),
        ["there is no link", "there is no flow"]
    );
}

/// A page cannot be built with stacks, so that a program says itself how to do without.
#[test]
fn a_program_without_stacks_names_its_own_remedy() {
    let document = Document::from_toml("it.toml", &format!("{SOUND}stack = \"noq\"\n"));
    let document = document.expect("it is TOML");
    let help = |known: &Known| {
        let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let errors = document.resolve_known(known, &read).expect_err("there are no stacks");
        errors.items().into_iter().map(|item| item.help).collect::<Vec<_>>().join("\n")
    };
    assert!(help(&Known::default()).contains("`make install` builds it with all"));
    let own = Known { without_stacks: "remove `stack`", ..Known::default() };
    assert_eq!(help(&own), "remove `stack`");
}

/// The terminal output shows the line of the scenario and the line of the trace.
#[test]
fn errors_show_the_line() {
    let text = with_line(6, r#"rate = { trace = "word.trace" }"#);
    let errors = resolve(&text).expect_err("the trace is malformed");
    let right = r#"
error: the trace `word.trace` is malformed in line 3: `three` is not a whole number of milliseconds
 --> sound.toml:6:18
  |
6 | rate = { trace = "word.trace" }
  |                  ^^^^^^^^^^^^
  |
 ::: word.trace:3:1
  |
3 | three
  | ^^^^^
  |
  = help: a mahimahi trace has in each line the time at which a packet may leave, in whole milliseconds that never decrease; a table has rows such as `0,60Mbit`"#;
    assert_eq!(errors.to_string(), right.trim_start());
    assert!(errors.to_ansi().contains("\u{1b}["), "the coloured form has colours");
}
