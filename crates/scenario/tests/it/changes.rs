//! Changes by `--set` and `--control`.

use sojourn_scenario::{Capacity, Change, Control, Document, EcnRequest, Errors, Scenario};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const TEXT: &str = r#"
duration = "60s"
controls = ["reno"]
[link.bottleneck]
rate = "60Mbit"
queue = "codel"
[flow.upload]
path = ["bottleneck"]
"#;

fn document() -> Document {
    Document::from_toml("test.toml", TEXT).expect("it is sound")
}

fn resolve(document: &Document) -> Result<Scenario, Errors> {
    document.resolve(&|file| Err(std::io::Error::other(format!("{file} is not there"))))
}

fn after(changes: &[&str]) -> Scenario {
    let mut document = document();
    for change in changes {
        document.set(change).unwrap_or_else(|errors| panic!("{change}\n{errors}"));
    }
    resolve(&document).unwrap_or_else(|errors| panic!("{changes:?}\n{errors}"))
}

/// The first problem, as `origin:line:column message`.
fn first(errors: &Errors) -> String {
    let item = errors.items().remove(0);
    let at = item.position.expect("a change is a text");
    format!("{}:{}:{} {}", item.origin, at.line, at.column, item.message)
}

fn refused_at_once(change: &str) -> String {
    let mut document = document();
    let before = document.to_toml();
    let errors = document.set(change).expect_err(change);
    assert_eq!(document.to_toml(), before, "a refused change leaves the document as it was");
    first(&errors)
}

fn refused_later(changes: &[&str]) -> String {
    let mut document = document();
    changes.iter().for_each(|change| document.set(change).expect(change));
    first(&resolve(&document).expect_err("the change is wrong"))
}

#[test]
fn values_are_toml_or_bare_text() {
    assert_eq!(after(&["duration=5s"]).duration, Duration::from_secs(5));
    assert_eq!(after(&["duration = \"5s\""]).duration, Duration::from_secs(5));
    assert_eq!(after(&["seed=7"]).seed, 7);
    assert_eq!(after(&["title=2026"]).title, "2026");
    assert_eq!(after(&["title=nan = not a number"]).title, "nan = not a number");
    let ecn = after(&["flow.upload.host.ecn=false"]).flows[0].transport.ecn;
    assert_eq!(ecn, EcnRequest::Never);
    assert_eq!(after(&["controls=[\"reno\", \"cubic\"]"]).controls.len(), 2);
    let source = after(&["flow.upload.source={ kind = \"file\", size = \"1MB\" }"]);
    let file = &source.flows[0].source;
    assert_eq!((file.info().name, file.params().data("size")), ("file", Bytes(1_000_000)));
}

#[test]
fn a_short_value_becomes_its_table() {
    let scenario = after(&[
        "link.bottleneck.rate.steps.0.at=30s",
        "link.bottleneck.rate.steps.0.rate=20Mbit",
        "link.bottleneck.queue.ecn=true",
        "controls.0.beta=0.7",
    ]);
    let Capacity::Rate(rate) = &scenario.links[0].rate else { panic!("it has a rate") };
    let at = Instant::ZERO + Duration::from_secs(30);
    assert_eq!(rate.start, Rate::from_mbit(60));
    assert_eq!(rate.changes, [Change { from: at, to: at, value: Rate::from_mbit(20) }]);
    assert!(scenario.links[0].queue.params.switch("ecn"));
    let Control::Algorithm { params, .. } = &scenario.controls[0] else { panic!("it is reno") };
    assert_eq!(params.number("beta"), 0.7);
}

#[test]
fn a_queue_in_a_queue_is_set_by_its_keys() {
    let scenario = after(&[
        "link.bottleneck.queue=drr",
        "link.bottleneck.queue.inner=codel",
        "link.bottleneck.queue.inner.ecn=true",
        "link.bottleneck.queue.flows=16",
    ]);
    let queue = &scenario.links[0].queue;
    assert_eq!((queue.kind.as_str(), queue.params.integer("flows")), ("drr", 16));
    assert_eq!(queue.inner[0].kind, "codel");
    assert!(queue.inner[0].params.switch("ecn"));
}

#[test]
fn lists_grow_by_one_place() {
    let scenario = after(&["link.back.delay=5ms", "flow.upload.back.0=back", "controls.1=cubic"]);
    assert_eq!(scenario.flows[0].back, [1]);
    assert_eq!(scenario.controls[1].name(), "cubic");
    assert_eq!(
        refused_at_once("flow.upload.path.2=back"),
        "--set:1:18 `flow.upload.path` has no place `2`"
    );
}

#[test]
fn malformed_changes_are_refused_at_once() {
    assert_eq!(refused_at_once("duration"), "--set:1:1 `duration` has no `=`");
    assert_eq!(
        refused_at_once("duration.x=1"),
        "--set:1:10 `duration` is a string, which has no keys"
    );
    assert_eq!(
        refused_at_once("controls=[1"),
        "--set:1:10 `[1` is malformed: unclosed array, expected `]`"
    );
    assert!(refused_at_once("=1").starts_with("--set:1:1 `` is not a path of keys"));
    assert!(refused_at_once("a\nb=1").starts_with("--set:1:1 "));
}

#[test]
fn wrong_changes_are_shown_where_they_were_made() {
    assert_eq!(
        refused_later(&["link.bottleneck.rat=10Mbit"]),
        "--set:1:17 `link.bottleneck` has no key `rat`"
    );
    assert_eq!(
        refused_later(&["link.bottleneck.rate=10Mbps"]),
        "--set:1:22 `rate` is `10Mbps`: bps is ambiguous (tc reads it as bytes)"
    );
    assert_eq!(
        refused_later(&["link.bottleneck.rate={ start = \"1Mbit\", stpes = [] }"]),
        "--set:1:41 `link.bottleneck.rate` has no key `stpes`"
    );
    assert_eq!(
        refused_later(&[
            "spread=40s",
            "link.bottleneck.delay={ start = \"0s\", steps = [{ at = \"30s\", delay = \"1s\" }] }"
        ]),
        "--set:1:55 `at` is 30s, which `spread` may move to 70s"
    );
}

#[test]
fn controllers_take_the_place_of_the_list() {
    let mut document = document();
    document.set_controls(&["cubic", "bbr"]);
    let names: Vec<_> =
        resolve(&document).unwrap().controls.iter().map(|c| c.name().to_owned()).collect();
    assert_eq!(names, ["cubic", "bbr"]);
    document.set_controls(&["cubic", "bbbr"]);
    let errors = resolve(&document).unwrap_err();
    assert_eq!(first(&errors), "--control:1:7 there is no controller `bbbr`");
}

const OWN: &str = r#"
duration = "60s"
[link.bottleneck]
rate = "60Mbit"
[flow.one]
control = "reno"
path = ["bottleneck"]
[flow.two]
control = "none"
path = ["bottleneck"]
source = { kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }
"#;

#[test]
fn flows_that_name_their_own_controller_give_it_up() {
    let mut document = Document::from_toml("own.toml", OWN).unwrap();
    document.set_controls(&["cubic"]);
    let scenario = resolve(&document).unwrap();
    assert_eq!(scenario.flows[0].control, None);
    assert_eq!(scenario.flows[1].control, Some(Control::None));
}

#[test]
fn one_flow_without_a_controller_keeps_those_of_the_others() {
    let three = format!("{OWN}[flow.three]\npath = [\"bottleneck\"]\n");
    let mut document = Document::from_toml("own.toml", &three).unwrap();
    document.set_controls(&["cubic"]);
    let scenario = resolve(&document).unwrap();
    assert_eq!(scenario.flows[0].control.as_ref().map(Control::name), Some("reno"));
    assert_eq!(scenario.flows[2].control, None);
}

#[test]
fn a_controller_gets_what_it_needs() {
    assert_eq!(
        refused_later(&["controls.0=dctcp", "flow.upload.host.ecn=false"]),
        "--set:1:12 `dctcp` needs exact counts of ECN marks, which flow `upload` does not have"
    );
    after(&["controls.0=cubic", "flow.upload.host.ecn=false"]);
    assert_eq!(
        refused_later(&["controls.0=dctcp", "flow.upload.host.ecn_feedback=classic"]),
        "--set:1:12 `dctcp` needs exact counts of ECN marks, which flow `upload` does not have"
    );
    after(&["controls.0=cubic", "flow.upload.host.ecn_feedback=classic"]);
}

#[test]
fn datagrams_need_a_rate_of_their_own() {
    let mut document = Document::from_toml("own.toml", OWN).unwrap();
    document.set("flow.two.source=bulk").unwrap();
    let errors = resolve(&document).unwrap_err();
    assert_eq!(
        first(&errors),
        "own.toml:9:11 without a controller, the source must have a rate of its own"
    );
}

#[test]
fn a_controller_that_the_scenario_lists_keeps_its_parameters() {
    let text = TEXT.replace(r#"["reno"]"#, r#"["reno", { kind = "cubic", beta = 0.8 }]"#);
    let mut document = Document::from_toml("test.toml", &text).expect("it is sound");
    document.set_controls(&["cubic", "bbr"]);
    let scenario = resolve(&document).expect("it stays sound");
    let Control::Algorithm { params, .. } = &scenario.controls[0] else { panic!("it is one") };
    assert_eq!(params.number("beta"), 0.8);
    assert_eq!(scenario.controls[1].name(), "bbr");
}
