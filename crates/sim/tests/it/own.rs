//! A user's own controller, selected by name in a scenario.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::flow;
use sojourn_cc::{
    AnyController, Catalogue, Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Setup,
};
use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{RunSummary, Simulation};
use sojourn_units::params::{Key, Kind};
use sojourn_units::{Bytes, Instant};

const NEEDS: Needs = Needs {
    ecn: EcnUse::Classic,
    receive_times: false,
    rate_samples: false,
    ack_delay: false,
    every_packet: false,
    signal: false,
    media: false,
    prr: true,
    validation: false,
};

const MINE: Info = Info {
    name: "mine",
    title: "A controller of a user's own",
    source: "this test",
    params: &[Key::new("gain", Kind::Number(1.0, 0.5, 2.0), "what it is for").from("this test")],
    ordered: &[],
    needs: NEEDS,
    random: false,
};

/// Reno, wrapped by a type outside its crate.
struct Wrapped(AnyController);

impl Wrapped {
    fn boxed(setup: &Setup) -> Box<dyn Controller> {
        let reno = sojourn_cc::find("reno").expect("it ships");
        let params = sojourn_units::params::Params::defaults(reno.info.params);
        Box::new(Wrapped((reno.build)(&Setup { params, ..setup.clone() })))
    }
}

impl Controller for Wrapped {
    fn on_sent(&mut self, now: Instant, sent: &sojourn_cc::Sent) {
        self.0.on_sent(now, sent);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.0.on_feedback(now, feedback);
    }
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.0.on_timeout(now, in_flight);
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
}

fn text(control: &str, transport: &str) -> String {
    format!(
        "duration = \"10s\"\n[link.a]\nrate = \"10Mbit\"\ndelay = \"10ms\"\nbuffer = \"50ms\"\n\
         queue = {{ kind = \"codel\", ecn = true }}\n[link.b]\ndelay = \"10ms\"\n[flow.f]\n\
         path = [\"a\"]\nback = [\"b\"]\ncontrol = {control}\nhost = {transport}\n"
    )
}

fn resolve(catalogue: &Catalogue, control: &str, transport: &str) -> Result<Scenario, String> {
    let document = Document::from_toml("own.toml", &text(control, transport)).expect("it is TOML");
    let resolved = document.resolve_with(catalogue, &|_| Err(std::io::ErrorKind::NotFound.into()));
    resolved.map_err(|errors| errors.to_string())
}

fn run(scenario: &Scenario) -> RunSummary {
    Simulation::new(scenario, None, scenario.seed).finish().summary
}

fn with_mine() -> Catalogue {
    Catalogue::shipped().with(MINE, Wrapped::boxed).expect("its name is free")
}

#[test]
fn it_runs_as_what_ships_does() {
    let own = run(&resolve(&with_mine(), "\"mine\"", "\"rfc\"").expect("it is sound"));
    let shipped = run(&resolve(&with_mine(), "\"reno\"", "\"rfc\"").expect("it is sound"));
    assert_eq!((own.control.as_str(), flow(&own, "f").control.as_str()), ("mine", "mine"));
    let figures = |summary: &RunSummary| {
        let f = flow(summary, "f");
        (f.sent_packets, f.marked_packets, f.goodput_bps, f.rtt_p99_s, f.retransmitted_packets)
    };
    assert_eq!(figures(&own), figures(&shipped));
    assert!(flow(&own, "f").marked_packets > 0, "it hears of congestion");
}

#[test]
fn a_name_that_is_nobodys_is_refused_with_all_names() {
    let why = resolve(&with_mine(), "\"yours\"", "\"rfc\"").expect_err("there is none");
    assert!(why.contains("there is no controller `yours`"), "{why}");
    assert!(why.contains("reno") && why.contains("mine"), "{why}");
    let why = resolve(&Catalogue::shipped(), "\"mine\"", "\"rfc\"").expect_err("not passed in");
    assert!(why.contains("there is no controller `mine`"), "{why}");
}

#[test]
fn its_parameters_are_held_to_their_ranges() {
    let mine = |gain: &str| format!("{{ kind = \"mine\", gain = {gain} }}");
    resolve(&with_mine(), &mine("2"), "\"rfc\"").expect("the end of the range");
    let why = resolve(&with_mine(), &mine("2.1"), "\"rfc\"").expect_err("beyond it");
    assert!(why.contains("it must be 0.5 to 2"), "{why}");
    let why =
        resolve(&with_mine(), "{ kind = \"mine\", gian = 1 }", "\"rfc\"").expect_err("no name");
    assert!(why.contains("`mine` has no parameter `gian`") && why.contains("`gain`"), "{why}");
    let schema = sojourn_scenario::json_schema_with(&with_mine()).to_string();
    assert!(schema.contains("\"gain\"") && schema.contains("what it is for"));
}

#[test]
fn a_catalogue_refuses_what_nobody_could_choose() {
    let refused =
        |info: Info| with_mine().with(info, Wrapped::boxed).expect_err(info.name).to_string();
    for name in ["reno", "mine", "none"] {
        let why = refused(Info { name, ..MINE });
        assert!(why.contains("is taken") && why.contains("bbr, "), "{why}");
    }
    for name in ["", "my own", "mine=2", "a.b"] {
        assert!(refused(Info { name, ..MINE }).contains("cannot name"), "{name}");
    }
    const WRONG: &[Key] = &[Key::new("gain", Kind::Number(3.0, 0.5, 2.0), "")];
    let why = refused(Info { name: "yours", params: WRONG, ..MINE });
    assert!(why.contains("`gain` of `yours` is 3 by default; it must be 0.5 to 2"), "{why}");
}

/// Counts the acknowledgements and receive times that it gets.
struct Counting {
    acked: Arc<AtomicU64>,
    times: Arc<AtomicU64>,
}

impl Controller for Counting {
    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        self.acked.fetch_add(feedback.acked_packets, Ordering::Relaxed);
        self.times.fetch_add(feedback.received.len() as u64, Ordering::Relaxed);
    }
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {}
    fn limits(&self) -> Limits {
        Limits { cwnd: Bytes(14_480), pacing: Pacing::Unpaced, burst: Bytes(1448) }
    }
}

#[test]
fn receive_times_are_given_or_their_want_is_named() {
    let (acked, times) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let info = Info { needs: Needs { receive_times: true, ..NEEDS }, ..MINE };
    let counting = {
        let (acked, times) = (acked.clone(), times.clone());
        move |_: &Setup| -> Box<dyn Controller> {
            Box::new(Counting { acked: acked.clone(), times: times.clone() })
        }
    };
    let catalogue = Catalogue::shipped().with(info, counting).expect("its name is free");

    let why = resolve(&catalogue, "\"mine\"", "\"rfc\"").expect_err("TCP has none by itself");
    assert!(why.contains("`mine` needs receive times of single packets"), "{why}");
    assert!(why.contains("set flow.f.host.receive_times to true"), "{why}");
    resolve(&catalogue, "\"mine\"", "{ like = \"quic\", receive_times = false }")
        .expect_err("nor QUIC without the extension");

    for transport in ["{ receive_times = true }", "\"quic\""] {
        run(&resolve(&catalogue, "\"mine\"", transport).expect("it is sound"));
        let counted = (acked.swap(0, Ordering::Relaxed), times.swap(0, Ordering::Relaxed));
        assert!(counted.0 > 1_000, "{transport}: {counted:?}");
        assert_eq!(counted.0, counted.1, "{transport}: each packet has its time");
    }
}

/// A constant window that ignores feedback.
struct Blind(Limits);

impl Controller for Blind {
    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}
    fn on_timeout(&mut self, _: Instant, _: Bytes) {}
    fn limits(&self) -> Limits {
        self.0
    }
}

fn blind(cwnd: u64, pacing: Pacing) -> Catalogue {
    let limits = Limits { cwnd: Bytes(cwnd), pacing, burst: Bytes(1448) };
    Catalogue::shipped().with(MINE, move |_| Box::new(Blind(limits))).expect("its name is free")
}

/// A window of a terabyte never fills: the run stops with an error once far more is in flight than
/// the path's capacity.
#[test]
fn a_window_beyond_the_path_ends_the_run() {
    for pacing in [Pacing::Unpaced, Pacing::Rate(sojourn_units::Rate(1 << 60))] {
        let scenario = resolve(&blind(1 << 40, pacing), "\"mine\"", "\"rfc\"").expect("sound");
        let mut run = Simulation::new(&scenario, None, 1);
        run.advance(run.end());
        let overrun = run.overrun().expect("it had too much in flight").clone();
        // 50 ms and a loop of 20 ms at 10 Mbit/s are 60 packets: the floor is above that.
        assert_eq!(overrun.limit, 100_000 + 10, "{overrun}");
        assert!(overrun.in_flight > overrun.limit, "{overrun}");
        assert!(overrun.in_flight < overrun.limit + 65, "{overrun}");
        assert!(overrun.to_string().contains(".host.receive_window"), "{overrun}");
    }
}

/// A window of 100 packets on a path that holds 6: the run shows that most are lost.
#[test]
fn a_window_that_overfills_a_small_path_is_an_experiment() {
    let text = "duration = \"5s\"\n[link.a]\nrate = \"1Mbit\"\ndelay = \"5ms\"\n\
                buffer = \"5packets\"\n[link.b]\ndelay = \"5ms\"\n\
                [flow.f]\npath = [\"a\"]\nback = [\"b\"]\ncontrol = \"mine\"\n";
    let document = Document::from_toml("own.toml", text).expect("it is TOML");
    let catalogue = blind(100 * 1448, Pacing::Unpaced);
    let scenario = document
        .resolve_with(&catalogue, &|_| Err(std::io::ErrorKind::NotFound.into()))
        .expect("sound");
    let summary = run(&scenario);
    assert!(flow(&summary, "f").sent_packets > 500, "{summary:?}");
}

/// The mean rate of this trace is a tenth of its bursts: 10 packets each millisecond for 1 s,
/// then silence for 9 s.
#[test]
fn a_window_for_the_bursts_of_a_trace_is_an_experiment() {
    let mut trace: String = (0..10_000).map(|n| format!("{}\n", n / 10)).collect();
    trace.push_str("10000\n");
    let text = "duration = \"20s\"\n[link.a]\nrate = { trace = \"bursts\" }\ndelay = \"50ms\"\n\
                buffer = \"20packets\"\n[link.b]\ndelay = \"50ms\"\n\
                [flow.f]\npath = [\"a\"]\nback = [\"b\"]\ncontrol = \"mine\"\n";
    let document = Document::from_toml("own.toml", text).expect("it is TOML");
    let paced = Pacing::Rate(sojourn_units::Rate(100_000_000));
    let catalogue = blind(800 * 1448, paced);
    let scenario = document.resolve_with(&catalogue, &|_| Ok(trace.clone())).expect("sound");
    let summary = run(&scenario);
    assert!(flow(&summary, "f").sent_packets > 1000, "{summary:?}");
}

/// The limit is for the run: a thousand flows share it.
#[test]
fn many_windows_share_one_limit() {
    let catalogue = blind(1000 * 1448, Pacing::Unpaced);
    let text = text("\"mine\"", "\"rfc\"") + "count = 1000\n";
    let document = Document::from_toml("own.toml", &text).expect("it is TOML");
    let scenario = document
        .resolve_with(&catalogue, &|_| Err(std::io::ErrorKind::NotFound.into()))
        .expect("sound");
    // Each flow's packets before a check, and the memory that flows share.
    let estimate = sojourn_sim::estimate(&scenario).0;
    assert!(estimate < 2_500_000_000, "{estimate}");
    let mut run = Simulation::new(&scenario, None, 1);
    run.advance(run.end());
    let overrun = run.overrun().expect("a million packets are too many");
    assert!(overrun.in_flight <= overrun.limit + 65 * 1000, "{overrun}");
}

/// An unlimited window is valid for a controller that paces at a rate; for one that does not, a
/// receive window limits the data in flight.
#[test]
fn a_window_without_limit_may_be_bounded_otherwise() {
    let paced = blind(1 << 60, Pacing::Rate(sojourn_units::Rate(9_000_000)));
    let windowed = blind(1 << 60, Pacing::Unpaced);
    let transport = "{ receive_window = \"50kB\" }";
    for (catalogue, transport) in [(paced, "\"rfc\""), (windowed, transport)] {
        let scenario = resolve(&catalogue, "\"mine\"", transport).expect("it is sound");
        let mut run = Simulation::new(&scenario, None, 1);
        run.advance(run.end());
        assert_eq!(run.overrun(), None);
        assert!(run.finish().summary.flows[0].goodput_bps > 5e6);
    }
}
