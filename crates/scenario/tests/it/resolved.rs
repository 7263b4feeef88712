//! Resolved documents: every form and every default, from text and from JSON alike.

use sojourn_scenario::source::Cdf;
use sojourn_scenario::{
    AckThinning, Buffer, Capacity, Chance, Change, Control, Discipline, Distribution, Document,
    EcnFault, EcnFaultKind, EcnRequest, Jitter, Loss, Profile, PrrRule, Reorder, Ring, Scenario,
    Schedule, Slots, Source, Spacing,
};
use sojourn_transport::Noise;
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const EVERYTHING: &str = include_str!("../everything.toml");

fn read(file: &str) -> std::io::Result<String> {
    match file {
        "cell.trace" => Ok("0\n0\r\n5\n20\n".to_owned()),
        "some.sizes" => Ok("100 0\n300 1\n".to_owned()),
        _ => panic!("{file} is not named"),
    }
}

fn resolve(text: &str) -> Scenario {
    let document = Document::from_toml("everything.toml", text);
    let scenario = document.and_then(|document| document.resolve(&read));
    scenario.unwrap_or_else(|errors| panic!("{errors}"))
}

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn change<T>(from: u64, to: u64, value: T) -> Change<T> {
    Change { from: ms(from), to: ms(to), value }
}

#[test]
fn the_document() {
    let scenario = resolve(EVERYTHING);
    assert_eq!(scenario.title, "Everything: \"quoted\", \\, ümlaut");
    assert_eq!(scenario.duration, Duration::from_secs(100));
    assert_eq!(scenario.seed, i64::MAX as u64);
    assert_eq!(scenario.spread, Duration::from_secs(5));
    assert!(scenario.flows.iter().all(|flow| flow.start_jitter == Duration::from_millis(2)));
    assert!(scenario.flows.iter().all(|flow| flow.noise == [Noise::Busy; 2]));
    assert_eq!(scenario.record.interval, Duration::ZERO);
    assert_eq!(scenario.record.spike_window, Duration::from_secs(2));
    assert_eq!(scenario.measure.from, Duration::from_secs(5));
    let Control::Algorithm { kind, params, .. } = &scenario.controls[1] else {
        panic!("it is reno")
    };
    assert_eq!((kind.as_str(), params.number("beta")), ("reno", 0.7));
}

#[test]
fn links_in_their_order() {
    let links = resolve(EVERYTHING).links;
    let names: Vec<_> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["radio", "cell", "fixed", "wide", "bare", "shaped"]);
    let buffers: Vec<_> = links.iter().map(|link| link.buffer).collect();
    let right = [
        Buffer::Bytes(Bytes(300_000)),
        Buffer::Packets(100),
        Buffer::Time(Duration::from_millis(50)),
        Buffer::Unlimited,
        Buffer::Default,
        Buffer::Default,
    ];
    assert_eq!(buffers, right);
    assert_eq!(links[0].loss, Loss::Random(Schedule::constant(0.01)));
    let gilbert = Loss::GilbertElliott { p: 0.01, r: 0.2, loss_bad: 1.0, loss_good: 0.001 };
    assert_eq!(links[1].loss, gilbert);
    assert_eq!(links[2].loss, Loss::Periodic(1000));
    let seconds = |at| Instant::ZERO + Duration::from_secs(at);
    let step = |at, value| Change { from: seconds(at), to: seconds(at), value };
    let ramp = Change { from: seconds(10), to: seconds(12), value: 0.5 };
    let changes = vec![step(5, 1.0), step(8, 0.001), ramp];
    assert_eq!(links[3].loss, Loss::Random(Schedule { start: 0.0, changes }));
    let plain = Jitter { span: Duration::from_millis(1), ..Jitter::default() };
    assert_eq!((links[0].jitter, links[0].overhead), (plain, Bytes(14)));
    let ring = Ring { packets: 3, hold_time: Duration::from_millis(1) };
    assert_eq!((links[0].ring, links[1].ring), (Some(ring), None));
    assert_eq!(links[0].queue.params.time("target"), Duration::from_millis(10));
}

#[test]
fn packets_overtake_and_come_twice() {
    let links = resolve(EVERYTHING).links;
    let ms = Duration::from_millis;
    let chance = |probability, correlation| Chance { probability, correlation };
    assert_eq!(links[0].reorder, Reorder::Early { chance: chance(0.01, 0.0), gap: 1 });
    assert_eq!(links[0].duplicate, chance(0.001, 0.0));
    let jitter = Jitter { span: ms(2), reorder: true, correlation: 0.25, ..Jitter::default() };
    assert_eq!(links[1].jitter, jitter);
    assert_eq!(links[1].reorder, Reorder::Late { chance: chance(0.02, 0.5), late: ms(10) });
    assert_eq!(links[1].duplicate, chance(0.01, 0.25));
    assert_eq!(links[2].reorder, Reorder::Early { chance: chance(1.0, 0.0), gap: 5 });
    let may: Vec<_> = links.iter().map(|link| link.may_reorder()).collect();
    assert_eq!(may, [true, true, true, false, false, false]);
    assert_eq!((links[3].reorder, links[3].duplicate), (Reorder::None, Chance::default()));
}

#[test]
fn wires_damage_ecn_and_acknowledgements() {
    let links = resolve(EVERYTHING).links;
    let fault = |kind, probability| Some(EcnFault { kind, probability });
    assert_eq!(links[0].ecn, fault(EcnFaultKind::Rewrite, 1.0));
    assert_eq!(links[3].ecn, fault(EcnFaultKind::Bleach, 0.5));
    let thinning = |every, gap_ms| Some(AckThinning { every, gap: Duration::from_millis(gap_ms) });
    assert_eq!(links[0].ack_thinning, thinning(8, 5));
    assert_eq!((links[3].ack_thinning, links[1].ack_thinning), (thinning(4, 1), None));
    let slots = Slots {
        least: Duration::from_micros(800),
        most: Some(Duration::from_millis(10)),
        packets: 42,
        bytes: Bytes(64_000),
        filter_acks: true,
    };
    assert_eq!((links[3].slots, links[0].slots), (Some(slots), None));
    let plain: Vec<_> = links.iter().map(|link| link.is_plain()).collect();
    assert_eq!(plain, [false, false, false, false, true, true]);
}

/// A shaper over priority over fair queueing over an AQM: each with its parameters, defaults
/// included.
#[test]
fn queues_stand_in_queues() {
    let links = resolve(EVERYTHING).links;
    let link = links.iter().find(|link| link.name == "shaped").expect("it is there");
    let htb = &link.queue;
    assert_eq!((htb.kind.as_str(), htb.params.data("burst")), ("htb", Bytes(15_000)));
    let [prio] = &htb.inner[..] else { panic!("{htb:?}") };
    assert_eq!((prio.kind.as_str(), prio.params.switch("acks")), ("prio", true));
    let [first, drr] = &prio.inner[..] else { panic!("{prio:?}") };
    assert_eq!((first.kind.as_str(), drr.kind.as_str()), ("codel", "drr"));
    assert_eq!((drr.params.integer("flows"), drr.params.data("quantum")), (64, Bytes(1500)));
    let [codel] = &drr.inner[..] else { panic!("{drr:?}") };
    assert_eq!((first.params.switch("ecn"), codel.params.switch("ecn")), (false, true));
    // 1000 for codel (tc-codel(8)), and 10240 for all flows of drr.
    assert_eq!((htb.depth(), htb.default_packets()), (4, 11_240));
    let plain = resolve(&EVERYTHING.replace("first = \"codel\", ", "")).links;
    let first = &plain.iter().find(|link| link.name == "shaped").unwrap().queue.inner[0].inner[0];
    assert_eq!(first, &Discipline::plain("droptail").unwrap());
}

#[test]
fn steps_and_ramps_become_one_list() {
    let links = resolve(EVERYTHING).links;
    let Capacity::Rate(rate) = &links[0].rate else { panic!("it has a rate") };
    assert_eq!(rate.start, Rate::from_mbit(60));
    let right = [
        change(10_000, 12_000, Rate::from_mbit(5)),
        change(30_000, 30_000, Rate::ZERO),
        change(31_000, 31_000, Rate::from_mbit(20)),
    ];
    assert_eq!(rate.changes, right);
    let delay = |n| Duration::from_millis(n);
    // A change may start when another is complete.
    let right = [
        change(1_000, 2_000, delay(30)),
        change(2_000, 3_000, delay(25)),
        change(3_000, 3_000, delay(20)),
    ];
    assert_eq!(links[0].delay.changes, right);
    let Capacity::Trace(trace) = &links[1].rate else { panic!("it has a trace") };
    assert_eq!(
        (trace.file.as_str(), &trace.opportunities_ms[..]),
        ("cell.trace", &[0, 0, 5, 20][..])
    );
    assert_eq!(trace.spacing, Spacing::Burst);
    let normal = Jitter {
        span: Duration::from_micros(100),
        distribution: Distribution::Normal,
        ..Jitter::default()
    };
    assert_eq!(links[2].jitter, normal);
    let shaper = links[5].shaper.as_ref().expect("its rate changes");
    let mbit = Rate::from_mbit;
    let right = [change(9_000, 9_000, mbit(20)), change(10_000, 11_000, mbit(60))];
    assert_eq!((shaper.start, &shaper.changes[..]), (mbit(50), &right[..]));
    assert_eq!(links[5].rates().as_ref(), Some(shaper));
    assert_eq!(links[4].rate, Capacity::Unlimited);
}

#[test]
fn flows_and_sources() {
    let flows = resolve(EVERYTHING).flows;
    assert_eq!((&flows[0].path[..], &flows[0].back[..]), (&[0, 1][..], &[2, 4, 5][..]));
    assert_eq!((flows[0].control.as_ref(), flows[0].stop), (None, None));
    assert_eq!((flows[2].start, flows[2].stop), (ms(5_000), Some(ms(100_000))));
    let sources: Vec<_> = flows.into_iter().take(8).map(|flow| flow.source).collect();
    let right = [
        source("bulk", &[]),
        source("file", &[("size", data(1_000_000))]),
        source("files", &[("size", data(1 << 20)), ("count", Value::Integer(4)), think(1)]),
        source(
            "on-off",
            &[
                ("rate", Value::Rate(Rate::from_mbit(111))),
                ("on", Value::Time(Duration::from_millis(100))),
                ("off", Value::Time(Duration::from_millis(350))),
                ("distribution", Value::Choice("exponential".into())),
            ],
        ),
        source(
            "request",
            &[
                ("request", data(257)),
                ("response", data(1_000_000)),
                ("count", Value::Integer(4)),
                ("batch", Value::Integer(1)),
            ],
        ),
        source(
            "request",
            &[
                ("request", data(64)),
                ("response", data(64)),
                ("interval", Value::Time(Duration::from_secs(1))),
                ("batch", Value::Integer(1)),
            ],
        ),
        source(
            "ping",
            &[("interval", Value::Time(Duration::from_millis(200))), ("size", data(84))],
        ),
        source(
            "poisson",
            &[
                ("load", Value::Rate(Rate::from_mbit(1))),
                ("count", Value::Integer(4)),
                ("sizes", Value::Choice("file".into())),
            ],
        )
        .with_sizes(Cdf::new(vec![(100.0, 0.0), (300.0, 1.0)]).expect("it is valid")),
    ];
    assert_eq!(sources, right);
}

/// A source with these keys, and no others.
fn source(name: &str, values: &[(&str, Value)]) -> Source {
    let info =
        sojourn_scenario::source::infos().find(|info| info.name == name).expect("it is listed");
    let mut params = Params::empty();
    for (key, value) in values {
        params.set(info.params, key, value.clone()).expect("it is declared");
    }
    Source::new(name, params).expect("it is listed")
}

fn data(bytes: u64) -> Value {
    Value::Data(Bytes(bytes))
}

fn think(seconds: u64) -> (&'static str, Value) {
    ("think", Value::Time(Duration::from_secs(seconds)))
}

#[test]
fn one_table_may_stand_for_many_flows() {
    let flows = resolve(EVERYTHING).flows.split_off(10);
    let starts: Vec<_> = flows.iter().map(|flow| (flow.name.as_str(), flow.start)).collect();
    let right = [("crowd-1", 2_000), ("crowd-2", 2_250), ("crowd-3", 2_500), ("crowd-4", 2_750)];
    assert_eq!(starts, right.map(|(name, at)| (name, ms(at))));
    for flow in &flows {
        assert_eq!((&flow.path, &flow.source), (&flows[0].path, &flows[0].source));
    }
}

#[test]
fn a_count_of_one_changes_nothing() {
    let counted = EVERYTHING.replace("count = 4\nstagger = \"1s\"", "count = 1");
    assert_ne!(counted, EVERYTHING);
    let flow = resolve(&counted).flows.pop().expect("there are flows");
    assert_eq!((flow.name.as_str(), flow.start), ("crowd", ms(2_000)));
}

#[test]
fn transports() {
    let flows = resolve(EVERYTHING).flows;
    let [tcp, quic, custom] = [0, 1, 2].map(|flow: usize| flows[flow].transport.clone());
    assert_eq!((tcp.profile, tcp.mss, tcp.header), (Profile::Tcp, Bytes(1448), Bytes(52)));
    assert_eq!((tcp.min_rto, tcp.pacing), (Duration::from_millis(200), false));
    assert_eq!((tcp.receive_window, tcp.sack_ranges), (None, 3));
    assert_eq!(tcp.ecn, EcnRequest::Always);
    assert_eq!((tcp.prr, tcp.quick_acks, quic.prr), (Some(PrrRule::Rfc9937), 0, None));
    assert_eq!((quic.profile, quic.mss, quic.header), (Profile::Quic, Bytes(1420), Bytes(55)));
    assert_eq!((quic.ack_delay, quic.pacing), (Duration::from_millis(25), true));
    assert_eq!((custom.mss, custom.header), (Bytes(1200), Bytes(55)));
    assert_eq!((custom.receive_window, custom.ack_every), (Some(Bytes(6 << 20)), 10));
    assert_eq!((tcp.tso, tcp.gro), (Bytes::ZERO, Duration::ZERO));
    assert_eq!((custom.tso, custom.gro), (Bytes(14_000), Duration::from_micros(50)));
}

#[test]
fn text_and_json_mean_the_same() {
    let document = Document::from_toml("everything.toml", EVERYTHING).unwrap();
    let scenario = document.resolve(&read).unwrap();
    let built = Document::from_json("python", document.to_json()).unwrap();
    assert_eq!(built.resolve(&read).unwrap(), scenario);
    assert_eq!(built.to_toml(), document.to_toml());
}

#[test]
fn what_is_written_reads_the_same() {
    let document = Document::from_toml("everything.toml", EVERYTHING).unwrap();
    let written = document.to_toml();
    assert_eq!(resolve(&written), resolve(EVERYTHING));
    let again = Document::from_toml("written.toml", &written).unwrap();
    assert_eq!(again.to_toml(), written, "writing what was written changes nothing");
}

#[test]
fn strings_of_every_kind_are_written_and_read() {
    let mut document = Document::from_toml("everything.toml", EVERYTHING).unwrap();
    let title = "tab \t, newline \n, return \r, delete \u{7f}, bell \u{7}, \u{1f600}, '''\"\"\"";
    document.set(&format!("title={title}")).unwrap();
    assert_eq!(resolve(&document.to_toml()).title, title);
}

#[test]
fn errors_of_a_built_document_name_the_keys() {
    let value = serde_json::json!({
        "duration": "1s",
        "controls": ["reno"],
        "link": { "a": { "rate": "1Mbps", "delay": null } },
        "flow": { "f": { "path": ["a"] } },
    });
    let errors = Document::from_json("scenario", value).unwrap().resolve(&read).unwrap_err();
    let item = errors.items().remove(0);
    assert_eq!((item.origin.as_str(), item.path.as_str()), ("scenario", "link.a.rate"));
    assert_eq!(item.position, None);
    assert!(errors.to_string().contains("--> scenario: link.a.rate"), "{errors}");
}

#[test]
fn what_is_no_table_is_no_document() {
    assert!(Document::from_json("scenario", serde_json::json!([1])).is_err());
    let mut deep = serde_json::json!({});
    for _ in 0..1000 {
        deep = serde_json::json!({ "a": deep });
    }
    assert!(Document::from_json("scenario", deep).is_err());
}

#[test]
fn shipped_scenarios_resolve() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).expect("scenarios ship").map(|file| file.unwrap().path());
    let scenarios: Vec<_> = files.filter(|f| f.extension().is_some_and(|e| e == "toml")).collect();
    assert!(!scenarios.is_empty());
    for path in scenarios {
        let read = |file: &str| std::fs::read_to_string(path.with_file_name(file));
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let scenario = Document::from_toml(&path.display().to_string(), &text)
            .and_then(|document| document.resolve(&read));
        scenario.unwrap_or_else(|errors| panic!("{errors}"));
    }
}

/// A list may contain the same controller several times; each run has a unique name.
#[test]
fn runs_have_names() {
    let text = r#"
duration = "1s"
controls = ["reno", "cubic", { kind = "cubic", beta = 0.8, c = 1 }, "cubic", { kind = "dctcp", g = 0.5 }]
[link.a]
rate = "1Mbit"
[flow.f]
path = ["a"]
"#;
    let document = Document::from_toml("test.toml", text).expect("it is sound");
    let scenario =
        document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into())).expect("it is sound");
    assert_eq!(scenario.labels(), ["reno", "cubic", "cubic beta=0.8 c=1", "cubic #2", "dctcp"]);
}
