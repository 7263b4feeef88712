//! Transfers over a relay that delays, drops and marks.

use std::sync::{Arc, Mutex};
use std::thread;

use sojourn_cc::{
    Algorithm, Catalogue, Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Setup,
};
use sojourn_transport::{Config, EcnRequest, Profile};
use sojourn_udp::io::{Departures, Endpoint, Plan, Timing};
use sojourn_udp::record::Outcome;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::common::{Serving, plan};
use crate::relay::{Fate, Path, Relay};

fn run(plan: Plan, path: Path) -> (Outcome, Fate) {
    run_with(plan, path, Timing::default())
}

fn run_with(plan: Plan, path: Path, timing: Timing) -> (Outcome, Fate) {
    let name = plan.control.clone();
    let serving = Serving::start();
    let relay = Relay::start(serving.address, path);
    let outcome = Endpoint::new(relay.address).with_timing(timing).send(plan, &mut ());
    let fate = relay.end();
    (outcome.unwrap_or_else(|error| panic!("{name}: {error}")), fate)
}

/// Whether the figures of one of three attempts hold: other work on the machine spoils figures in
/// real time.
fn hold(attempt: impl Fn() -> bool) -> bool {
    (0..3).any(|_| attempt())
}

/// 20 Mbit/s, 10 ms there and back.
fn bottleneck() -> Path {
    Path {
        delay: Duration::from_millis(5),
        rate: Some(Rate::from_mbit(20)),
        buffer: Duration::from_millis(20),
        ..Path::default()
    }
}

/// Of every controller, each packet is delivered, dropped or marked, and counted as such, at both
/// ends; and every drop is repaired.
#[test]
fn counts_are_exact_and_losses_are_repaired() {
    let is_possible = |one: &&Algorithm| !one.info.needs.signal && !one.info.needs.media;
    let all: Vec<&Algorithm> = sojourn_cc::all().iter().filter(is_possible).collect();
    // Transfers mostly wait.
    for some in all.chunks(4) {
        thread::scope(|scope| {
            some.iter()
                .for_each(|algorithm| drop(scope.spawn(|| counts_are_exact(algorithm.info))));
        });
    }
}

fn counts_are_exact(info: &Info) {
    let path =
        Path { mark_above: Some(Duration::from_millis(1)), drop_every: Some(150), ..bottleneck() };
    let (outcome, fate) = run(plan(info.name, &info.needs, 1_000_000), path);
    let (receipt, summary) = (outcome.receipt.unwrap(), &outcome.summary);
    println!(
        "{:14} {:5.1} Mbit/s, {:4} marked, {:3} dropped, {:3} resent, rtt p50 {:.1} ms",
        info.name,
        summary.goodput_bps / 1e6,
        fate.marked,
        fate.dropped,
        summary.retransmitted_packets,
        summary.rtt_p50_s.unwrap() * 1e3,
    );
    assert_eq!(receipt.bytes, 1_000_000, "{}", info.name);
    // The sizes of the simulator: `mss` and `header`.
    assert_eq!(fate.largest, if info.needs.receive_times { 1475 } else { 1500 });
    assert_eq!(receipt.packets, fate.forwarded, "{}", info.name);
    assert_eq!(receipt.counts.ce, fate.marked, "{}", info.name);
    let capable = [receipt.counts.ect0, receipt.counts.ect1];
    assert_eq!(capable, fate.capable, "{}", info.name);
    assert_eq!(summary.marked_packets, fate.marked, "{}", info.name);
    assert_eq!(summary.dropped_packets, fate.dropped, "{}", info.name);
    assert!(fate.dropped > 0 && summary.retransmitted_packets >= fate.dropped);
    let codepoint = match info.needs.ecn {
        EcnUse::None => [0, 0],
        EcnUse::Classic | EcnUse::Counts => [1, 0],
        EcnUse::L4s => [0, 1],
    };
    assert_eq!(capable.map(|count| u64::from(count > 0)), codepoint, "{}", info.name);
}

/// A step of marks holds the queue of scalable controllers near it; NewReno without ECN fills the
/// buffer.
#[test]
fn scalable_controllers_react_to_marks() {
    let path = Path { mark_above: Some(Duration::from_millis(2)), ..bottleneck() };
    let median = |control: &str| {
        let needs = &sojourn_cc::find(control).unwrap().info.needs;
        let mut plan = Plan { duration: Duration::from_secs(2), ..plan(control, needs, 1 << 40) };
        plan.config.ecn = EcnRequest::Needed;
        let (outcome, fate) = run(plan, path);
        let rtt = outcome.summary.rtt_p50_s.unwrap() - 0.01;
        let goodput = outcome.summary.goodput_bps / 1e6;
        println!(
            "{control}: {goodput:.2} Mbit/s, queue {:.2} ms, {} marked",
            rtt * 1e3,
            fate.marked
        );
        // 96.5 % of a packet is payload.
        assert!(goodput < 19.4, "{control}: {goodput} Mbit/s");
        (rtt, fate.marked)
    };
    for control in ["dctcp", "prague"] {
        let reacts = || {
            let (standing, unmarked) = median("reno");
            let (queue, marked) = median(control);
            assert_eq!(unmarked, 0);
            marked > 0 && queue < standing / 2.0
        };
        assert!(hold(reacts), "{control} has at most half of NewReno's queue");
    }
}

/// A controller that needs receive times gets one for each packet that arrives, in the order of
/// arrival.
#[test]
fn receive_times_reach_the_controller() {
    let needs = Needs { receive_times: true, ..Needs::BASE };
    let is_complete = || {
        let times = Arc::new(Mutex::new(Vec::new()));
        let build = {
            let times = times.clone();
            move |setup: &Setup| {
                let fixed = Fixed(Rate::from_mbit(100), setup.mss);
                Box::new(ReceiveTimes(fixed, times.clone())) as Box<dyn Controller>
            }
        };
        let catalogue = Catalogue::shipped().with(Info { needs, ..FIXED }, build).unwrap();
        let plan = Plan { catalogue, ..plan("fixed", &needs, 1_000_000) };
        // The relay's buffer has room for all packets, but the kernel may drop some.
        let (_, fate) = run(plan, Path { buffer: Duration::from_secs(1), ..bottleneck() });
        let times = times.lock().unwrap();
        let is_ordered = times.is_sorted_by(|(a, at), (b, later)| a < b && at <= later);
        assert!(is_ordered, "{times:?}");
        assert!(times.len() as u64 <= fate.forwarded);
        times.len() as u64 == fate.forwarded
    };
    assert!(hold(is_complete), "each packet that the relay forwards has a receive time");
}

/// Rapid finds the bandwidth from the receive times, without filling the queue.
#[test]
#[ignore = "takes seconds, in real time"]
fn rapid_estimates_the_bandwidth() {
    let needs = &sojourn_cc::find("rapid").unwrap().info.needs;
    let estimated = || {
        let plan = Plan { duration: Duration::from_secs(2), ..plan("rapid", needs, 1 << 40) };
        let (outcome, fate) = run(plan, bottleneck());
        let mut estimates: Vec<f64> =
            outcome.samples.iter().filter_map(|s| s.bandwidth_bps).collect();
        estimates.sort_by(f64::total_cmp);
        let estimate = estimates.get(estimates.len() / 2).copied();
        println!("{:.2} Mbit/s, estimate {estimate:?}", outcome.summary.goodput_bps / 1e6);
        !is_punctual(&outcome, &fate)
            || estimate.is_some_and(|estimate| estimate > 3e6 && estimate < 25e6)
    };
    assert!(hold(estimated), "the estimate is near 20 Mbit/s");
}

/// Whether sender and relay kept the gaps between packets, so that these can be judged: one of a
/// hundred was late by the time of a packet at the bottleneck, or fewer.
fn is_punctual(outcome: &Outcome, fate: &Fate) -> bool {
    let most = Rate::from_mbit(20).time_for(Bytes(1500));
    let mut relayed = fate.lateness.clone();
    relayed.sort_unstable();
    let relayed = relayed.get(relayed.len() * 99 / 100).copied().unwrap_or(Duration::ZERO);
    let sent = Duration(outcome.punctuality.lateness.quantile(0.99).unwrap_or(0));
    println!("late at the sender by {sent}, at the relay by {relayed} (99th percentiles)");
    sent.max(relayed) < most && outcome.overflows == 0
}

/// How late the packets of a paced NewReno leave.
#[test]
fn paced_packets_leave_in_time() {
    let needs = &sojourn_cc::find("reno").unwrap().info.needs;
    for timing in timings() {
        let config = Config { initial_window: 40, pacing: true, ..Config::new(Profile::Quic) };
        let plan = Plan { config, ..plan("reno", needs, 2_000_000) };
        let path = Path { delay: Duration::from_millis(10), ..Path::default() };
        let (outcome, fate) = run_with(plan, path, timing);
        let late = &outcome.punctuality.lateness;
        let [p50, p99] = [0.5, 0.99].map(|q| late.quantile(q).unwrap_or(0) as f64 / 1e3);
        let count = late.count();
        println!("{timing:?}: {count} paced, late p50 {p50:.1} us, p99 {p99:.1} us");
        assert_eq!(outcome.receipt.unwrap().bytes, 2_000_000);
        assert_eq!(fate.arrivals.len() as u64, outcome.summary.sent_packets);
        assert!(count > 100, "{count} packets waited for the pacer");
    }
}

/// The thread, with and without spinning, and departure times that the loopback interface ignores:
/// packets leave up to 0.5 ms early, which the transport must bear.
fn timings() -> [Timing; 3] {
    let timing = Timing::default();
    [
        timing,
        Timing { spin: Duration::from_micros(60), ..timing },
        Timing { departures: Departures::KernelAssumed, ..timing },
    ]
}

/// The mean rate is the controller's, although each packet leaves late.
#[test]
fn lateness_does_not_lower_the_rate() {
    let rate = Rate::from_mbit(30);
    let build = move |setup: &Setup| Box::new(Fixed(rate, setup.mss)) as Box<dyn Controller>;
    let catalogue = Catalogue::shipped().with(FIXED, build).unwrap();
    for timing in timings() {
        let plan = plan("fixed", &Needs::BASE, 4_000_000);
        let (outcome, fate) =
            run_with(Plan { catalogue: catalogue.clone(), ..plan }, Path::default(), timing);
        let [first, .., last] = fate.arrivals[..] else { panic!("packets arrive") };
        let gaps = fate.arrivals.len() as u64 - 1;
        let mean = Rate::from_transfer(outcome.mss * gaps, Duration((last - first) as u64));
        let ideal = rate.time_for(outcome.mss).0 as f64;
        let mut off: Vec<f64> =
            fate.arrivals.windows(2).map(|at| ((at[1] - at[0]) as f64 - ideal).abs()).collect();
        off.sort_by(f64::total_cmp);
        let at = |q: f64| off[(q * (off.len() - 1) as f64) as usize] / 1e3;
        let error = mean.as_f64() / rate.as_f64() - 1.0;
        println!(
            "{timing:?}: mean rate off by {:.3} %, gaps by p50 {:.1} us, p99 {:.1} us",
            error * 100.0,
            at(0.5),
            at(0.99)
        );
        // The transport does not make up for pauses over a millisecond, of a machine with other work.
        let most = ideal + timing.catch_up.0 as f64;
        let pauses: f64 =
            fate.arrivals.windows(2).map(|at| ((at[1] - at[0]) as f64 - most).max(0.0)).sum();
        let paused = pauses / (last - first) as f64;
        assert!(error < 0.01 && error > -0.01 - paused, "{error}, paused {paused}");
    }
}

const FIXED: Info = Info {
    name: "fixed",
    title: "A constant rate",
    source: "this test",
    params: &[],
    ordered: &[],
    needs: Needs::BASE,
    random: false,
};

struct Fixed(Rate, Bytes);

/// [`Fixed`], which records the number and the receive time of each packet.
struct ReceiveTimes(Fixed, Arc<Mutex<Vec<(u64, Instant)>>>);

impl Controller for ReceiveTimes {
    fn on_feedback(&mut self, _: Instant, feedback: &Feedback<'_>) {
        let times = feedback.received.iter().map(|packet| (packet.number, packet.received_at));
        self.1.lock().unwrap().extend(times);
    }

    fn on_timeout(&mut self, _: Instant, _: Bytes) {}

    fn limits(&self) -> Limits {
        self.0.limits()
    }
}

impl Controller for Fixed {
    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}

    fn on_timeout(&mut self, _: Instant, _: Bytes) {}

    fn limits(&self) -> Limits {
        Limits { cwnd: Bytes(1 << 30), pacing: Pacing::Rate(self.0), burst: self.1 }
    }
}

/// The loopback interface has no queue discipline that holds packets.
#[test]
fn departure_times_that_nothing_keeps_are_refused() {
    let endpoint = Endpoint::new("127.0.0.1:4433".parse().unwrap());
    let timing = Timing { departures: Departures::Kernel, ..Timing::default() };
    let plan = plan("cubic", &Needs::BASE, 100_000);
    let error = endpoint.with_timing(timing).send(plan, &mut ()).unwrap_err().to_string();
    println!("{error}");
    let said = "the kernel cannot pace: interface lo has the queue discipline noqueue";
    assert!(error.starts_with(said), "{error}");
}
