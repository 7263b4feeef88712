//! Sizes: the parser refuses a scenario that is too large before it builds it, and handles others
//! in proportional time. The time limits are a hundred times the measured values: they catch
//! quadratic time, not a slow machine.

use std::fmt::Write as _;
use std::time::Duration;

use sojourn_scenario::{Document, Errors, Scenario};

const LINK: &str = "duration = \"1s\"\n[link.a]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n";

fn resolve(text: &str) -> Result<Scenario, Errors> {
    Document::from_toml("size.toml", text)?
        .resolve(&|_| Err(std::io::Error::other("no files here")))
}

/// The error messages, with their lines.
fn refused(text: &str) -> Vec<(usize, String)> {
    let items = resolve(text).expect_err("it is too large").items();
    items.into_iter().map(|item| (item.position.map_or(0, |p| p.line), item.message)).collect()
}

/// Runs `work`, and panics if it exceeds the time limit.
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(work()));
    hear.recv_timeout(limit).expect("it takes the square of its size, or failed")
}

fn flows(count: usize, table: impl Fn(usize) -> String) -> String {
    let mut text = LINK.to_owned();
    for flow in 0..count {
        let _ = writeln!(text, "[flow.f{flow}]\n{}", table(flow));
    }
    text
}

#[test]
fn copies_are_counted_before_they_are_made() {
    let text = flows(100, |_| "control = \"reno\"\npath = [\"a\"]\ncount = 1000000".to_owned());
    let told = refused(&text);
    assert_eq!(told[0], (12, "there are 100000000 flows; at most 1000000".to_owned()));
}

/// A name stands in charts, tables and files.
#[test]
fn names_have_a_length() {
    let text = |length| {
        flows(1, |_| "control = \"reno\"\npath = [\"a\"]".to_owned())
            .replace("f0", &"f".repeat(length))
    };
    assert!(resolve(&text(100)).is_ok());
    let told = refused(&text(101));
    assert!(told[0].1.ends_with("f` cannot name a flow"), "{told:?}");
}

/// Memory limits the data in flight; time limits the sizes here.
#[test]
fn sizes_have_limits() {
    let one = "control = \"reno\"\npath = [\"a\"]";
    let tables = refused(&flows(20_001, |_| one.to_owned()));
    assert_eq!(tables[0].1, "there are 20001 tables of flows; at most 20000");

    let long = vec!["\"a\""; 5_000_000 / 1000].join(", ");
    let hops = refused(&flows(1, |_| format!("control = \"reno\"\ncount = 1000\npath = [{long}]")));
    assert_eq!(hops[0].1, "there are 5000000 links on the paths of all flows; at most 4000000");

    let steps: String = (0..100_001).map(|i| format!("{{at=\"{i}us\",rate=\"1Mbit\"}},")).collect();
    let text = flows(1, |_| one.to_owned())
        .replace("\"1Mbit\"", &format!("{{ start = \"1Mbit\", steps = [{steps}] }}"));
    assert_eq!(refused(&text)[0].1, "there are 100001 changes; at most 100000");

    let controls = vec!["\"reno\""; 10_001].join(", ");
    let text = format!("controls = [{controls}]\n{}", flows(1, |_| "path = [\"a\"]".to_owned()));
    assert_eq!(refused(&text)[0].1, "there are 10001 controllers; at most 10000");

    let text = format!("{LINK}#{}", "x".repeat(4 << 20));
    let errors = resolve(&text).expect_err("it is too long");
    assert!(errors.to_string().contains("bytes long; at most 4194304"), "{errors}");
}

#[test]
fn ten_thousand_tables_are_read_at_once() {
    let each = |flow: usize| {
        format!("control = \"reno\"\npath = [\"l{flow}\"]\n[link.l{flow}]\ndelay = \"1ms\"")
    };
    let text = flows(10_000, each).replace("[link.a]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n", "");
    let scenario = within(Duration::from_secs(60), move || resolve(&text).expect("it is sound"));
    assert_eq!((scenario.flows.len(), scenario.links.len()), (10_000, 10_000));
    assert_eq!(scenario.flows[9_999].path, [9_999]);
}

#[test]
fn thousands_of_problems_are_counted_and_the_first_are_shown() {
    for (text, message) in [
        ("x".to_owned() + &LINK.repeat(20_000), "the key `"),
        (
            LINK.to_owned() + &(0..100_000).map(|i| format!("x{i} = 1\n")).collect::<String>(),
            "has no",
        ),
        (flows(10_000, |f| format!("control = \"reno\"\npath = [\"b{f}\"]")), "there is no link"),
    ] {
        let errors = within(Duration::from_secs(30), move || resolve(&text).expect_err("wrong"));
        let shown = errors.to_string();
        assert_eq!(errors.items().len(), 100, "{message}");
        assert!(errors.more() > 5_000, "{message}: {}", errors.more());
        assert!(shown.contains(message), "{shown}");
        let more = shown.rsplit("and ").next().expect("a last line");
        assert_eq!(more, format!("{} more", errors.more() + 80));
    }
}

/// Errors truncate names and lines of megabytes.
#[test]
fn long_texts_are_cut_where_they_are_shown() {
    let name = "x".repeat(3_000_000);
    for text in [format!("{LINK}{name} = 1\n"), format!("{LINK}a = {{ {name} = 1 }}\n")] {
        let errors = resolve(&text).expect_err("there is no such key");
        assert!(errors.to_string().len() < 50_000, "{}", errors.to_string().len());
        assert!(errors.items().iter().all(|item| item.message.len() < 3000));
    }
}

/// An error in a long line has its column there, and the excerpt is near it.
#[test]
fn a_problem_in_a_long_line_has_its_column() {
    let text =
        format!("{LINK}[flow.f]\npath = [{}\"b\"]\ncontrol = \"reno\"\n", "\"a\", ".repeat(1000));
    let errors = resolve(&text).expect_err("there is no such link");
    let position = errors.items()[0].position.expect("it is text");
    assert_eq!((position.line, position.column), (6, 9 + 5 * 1000));
    assert!(errors.to_string().contains("\"a\", \"b\"]"), "{errors}");
}

/// Thousands of changes, each of which once copied the document.
#[test]
fn thousands_of_changes_are_made_at_once() {
    let text = flows(5_000, |_| "control = \"reno\"\npath = [\"a\"]".to_owned());
    let mut document = Document::from_toml("size.toml", &text).expect("it is TOML");
    let changed = within(Duration::from_secs(60), move || {
        for flow in 0..5_000 {
            document.set(&format!("flow.f{flow}.start=0.5s")).expect("it may be set");
        }
        document
    });
    let scenario =
        changed.resolve(&|_| Err(std::io::ErrorKind::NotFound.into())).expect("it is sound");
    assert!(scenario.flows.iter().all(|flow| flow.start.0 == 500_000_000));
}

/// A failed change leaves the document unchanged, at any depth.
#[test]
fn a_change_that_fails_is_taken_back() {
    let text = flows(1, |_| "control = \"reno\"\npath = [\"a\"]".to_owned());
    let mut document = Document::from_toml("size.toml", &text).expect("it is TOML");
    let before = document.to_toml();
    for change in [
        "link.a.rate.steps.1.at=1s",
        "link.b.rate.steps.7.at=1s",
        "link.a.delay.start.deeper=1",
        "flow.f0.path.3.x=1",
        "flow.f0.path.1.x.y.9.z=1",
    ] {
        if document.set(change).is_err() {
            assert_eq!(document.to_toml(), before, "{change}");
        } else {
            document = Document::from_toml("size.toml", &text).expect("it is TOML");
        }
    }
    assert!(document.set("link.a.rate.steps.1.at=1s").is_err());
}
