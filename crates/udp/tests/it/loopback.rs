//! Transfers without a bottleneck.

use std::net::{SocketAddr, UdpSocket};

use sojourn_cc::Needs;
use sojourn_trace::Table;
use sojourn_transport::{Ack, Data, LossCause};
use sojourn_udp::Error;
use sojourn_udp::client::Patience;
use sojourn_udp::io::{
    Clock, Endpoint, Load, Observer, Plan, Server, ServerObserver, StopHandle, Writer,
};
use sojourn_udp::record::Sample;
use sojourn_udp::server::{Ending, Limits, Server as Peers};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Instant};

use crate::common::{Serving, plan};

const SIZE: u64 = 3_000_000;

/// Every controller delivers its load, except those whose inputs no network gives.
#[test]
fn every_controller_completes_a_transfer() {
    let serving = Serving::start();
    for algorithm in sojourn_cc::all() {
        let info = algorithm.info;
        let mut plan = plan(info.name, &info.needs, SIZE);
        if info.name == "swift" {
            // By default it keeps the round trip at 1.25 times its minimum, which hosts that share a
            // processor exceed at any rate: one packet a second would be left.
            let mut params = Params::defaults(info.params);
            let target = Value::Time(Duration::from_millis(50));
            params.set(info.params, "base_target", target).expect("it is in range");
            plan.params = Some(params);
        }
        let outcome = Endpoint::new(serving.address).send(plan, &mut ());
        if info.needs.signal || info.needs.media {
            assert!(matches!(outcome, Err(Error::Controller(_))), "{}", info.name);
            continue;
        }
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", info.name));
        let receipt = outcome.receipt.expect("the receipt arrives");
        println!(
            "{:14} {:7.1} Mbit/s {:6.1} ms",
            info.name,
            outcome.summary.goodput_bps / 1e6,
            outcome.summary.completion_s.unwrap_or(f64::NAN) * 1e3
        );
        assert_eq!(receipt.bytes, SIZE, "{}", info.name);
        assert!(outcome.summary.completion_s.is_some(), "{}", info.name);
        let ecn = (receipt.counts.ect0, receipt.counts.ect1);
        assert_eq!(ecn, (outcome.sent.ect0, outcome.sent.ect1), "{}", info.name);
    }
    let reports = serving.end();
    assert!(reports.iter().all(|peer| peer.ending == Ending::Closed), "{reports:?}");
}

/// The live laboratory opens the sockets of a flow in the flow's network namespace, and its
/// endpoints share one clock.
#[test]
fn the_caller_opens_the_socket_and_keeps_the_time() {
    let serving = Serving::start();
    let clock = Clock::start();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let source = SocketAddr::from(([127, 0, 0, 2], 0));
    let outcome = Endpoint::new(serving.address)
        .with_opener(Box::new(move |_| UdpSocket::bind(source)))
        .with_clock(clock)
        .send(plan("cubic", &Needs::BASE, 10_000), &mut ())
        .unwrap();
    assert!(outcome.summary.start_s >= 0.02 && outcome.samples.iter().all(|s| s.at.0 > 20_000_000));
    let reports = serving.end();
    assert_eq!(reports[0].address.ip(), source.ip());
}

/// Answers each part of the data with the next, until all have arrived.
struct Responder<'a> {
    writer: &'a Writer,
    written: u64,
    end: &'a dyn Fn(),
}

impl ServerObserver for Responder<'_> {
    fn arrived(&mut self, peers: &Peers) {
        let received: u64 = peers.peers().map(|peer| peer.receipt.bytes).sum();
        if received == SIZE {
            (self.end)();
        } else if received == self.written {
            self.written += SIZE / 3;
            self.writer.write(SIZE / 3);
        }
    }
}

/// Another thread writes the data of a transfer, when data have arrived at it.
#[test]
fn another_thread_writes_the_data() {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut server = Server::bind(address, Limits::default()).unwrap();
    let (address, stop) = (server.local_addr(), server.stop_handle());
    let writer = Writer::new().unwrap();
    let plan = Plan::new("cubic", Load::Written(writer.clone()));
    let endpoint = Endpoint::new(address);
    let end = endpoint.stop_handle();
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            server.run(&mut Responder { writer: &writer, written: SIZE / 3, end: &|| end.stop() })
        });
        writer.write(SIZE / 3);
        let outcome = endpoint.send(plan, &mut ());
        stop.stop();
        outcome
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.receipt.expect("the receipt arrives").bytes, SIZE);
    // It ended because it was stopped: more data might have come.
    assert_eq!(outcome.summary.completion_s, None);
}

/// A server that ends both ends once data have arrived.
struct Ended<'a>([&'a StopHandle; 2]);

impl ServerObserver for Ended<'_> {
    fn arrived(&mut self, peers: &Peers) {
        if peers.peers().any(|peer| peer.receipt.bytes > 0) {
            let [server, sender] = self.0;
            server.stop();
            sender.abandon();
        }
    }
}

/// A sender that is abandoned does not wait for the answer of an end that has ended too. Waiting would
/// take minutes.
#[test]
fn an_abandoned_sender_ends_without_an_answer() {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut server = Server::bind(address, Limits::default()).unwrap();
    let (address, stop) = (server.local_addr(), server.stop_handle());
    let endpoint = Endpoint::new(address);
    let end = endpoint.stop_handle();
    let patience = Patience { silence: Duration::MAX, ..Patience::default() };
    let plan = Plan { patience, ..Plan::new("cubic", Load::Endless) };
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| server.run(&mut Ended([&stop, &end])));
        endpoint.send(plan, &mut ())
    });
    assert!(outcome.unwrap().receipt.is_none());
}

#[derive(Default)]
struct Counts {
    opened: u64,
    sent: u64,
    newest: u64,
    lost: u64,
    samples: Vec<Sample>,
}

impl Observer for Counts {
    fn follows_state(&self) -> bool {
        true
    }

    fn opened(&mut self, _: Instant) {
        self.opened += 1;
    }

    fn sent(&mut self, _: Instant, _: &Data) {
        self.sent += 1;
    }

    fn acked(&mut self, _: Instant, ack: &Ack, _: Option<Duration>) {
        self.newest = self.newest.max(ack.newest);
    }

    fn lost(&mut self, _: Instant, _: u64, _: LossCause) {
        self.lost += 1;
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }
}

#[test]
fn an_observer_sees_the_events_of_the_summary() {
    let serving = Serving::start();
    let mut counts = Counts::default();
    let mut plan = plan("bbr", &Needs::BASE, 20_000_000);
    plan.interval = Duration::from_millis(2);
    let outcome = Endpoint::new(serving.address).send(plan, &mut counts).unwrap();
    assert_eq!((counts.opened, counts.sent), (1, outcome.summary.sent_packets));
    assert_eq!(counts.newest + 1, counts.sent);
    assert!(counts.lost >= outcome.summary.retransmitted_packets || counts.lost == 0);
    assert!(!counts.samples.is_empty() && counts.samples == outcome.samples);
    assert!(counts.samples.is_sorted_by_key(|sample| sample.delivered));
}

/// The order of events, with a pause at the first acknowledgement, in which others queue up.
#[derive(Default)]
struct Order(Vec<char>);

impl Observer for Order {
    fn sent(&mut self, _: Instant, _: &Data) {
        self.0.push('s');
    }

    fn acked(&mut self, _: Instant, _: &Ack, _: Option<Duration>) {
        if !self.0.contains(&'a') {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        self.0.push('a');
    }
}

/// A controller that saw all acknowledgements of a batch before its packets left would find an emptier
/// network than there was. In slow start, each acknowledgement lets packets leave.
#[test]
fn packets_leave_between_acknowledgements_that_wait_together() {
    let serving = Serving::start();
    let mut order = Order::default();
    Endpoint::new(serving.address).send(plan("reno", &Needs::BASE, 1_000_000), &mut order).unwrap();
    let events: String = order.0.iter().collect();
    let first = events.find('a').unwrap();
    // Those of the initial window are queued while the thread sleeps.
    let next = &events[first..first + 12];
    assert!(next.matches('a').count() >= 3 && !next.contains("aa"), "{events}");
}

/// The columns of the simulator's series of flows, in its order.
#[test]
fn the_series_have_the_columns_of_the_simulator() {
    let serving = Serving::start();
    let outcome =
        Endpoint::new(serving.address).send(plan("reno", &Needs::BASE, SIZE), &mut ()).unwrap();
    let table: Table = outcome.table(1);
    let names: Vec<&str> = table.columns().iter().map(|(name, _)| name.as_str()).collect();
    let simulated = "control seed flow phase t_s cwnd_bytes ssthresh_bytes srtt_s rtt_s min_rtt_s \
                     pacing_bps goodput_bps alpha bandwidth_bps response_s in_flight_bytes \
                     delivered_bytes lost_packets retransmitted_packets marked_packets";
    assert_eq!(names, simulated.split_whitespace().collect::<Vec<_>>());
}
