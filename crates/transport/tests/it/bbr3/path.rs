//! A path that a test can change at any time: a sender and a receiver of the transport, a
//! bottleneck with a queue, a delay, and impairments.

use std::collections::{BTreeMap, VecDeque};

use sojourn_cc::{AnyController, Bbr3View, Setup};
use sojourn_transport::{Ack, Config, Data, Poll, Profile, Receiver, Sender, Stats};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Payload of a packet. Packets have no headers, so that rates are payload rates.
pub(crate) const MSS: Bytes = Bytes(1448);

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Drops the excess over `rate` once a bucket of tokens is empty.
pub(crate) struct Policer {
    pub(crate) rate: Rate,
    pub(crate) bucket: f64,
    tokens: f64,
    at: Instant,
}

impl Policer {
    pub(crate) fn new(rate: Rate, bucket: Bytes) -> Policer {
        let bucket = bucket.as_f64();
        Policer { rate, bucket, tokens: bucket, at: Instant::ZERO }
    }

    fn admits(&mut self, now: Instant, len: f64) -> bool {
        let earned = self.rate.as_f64() / 8.0 * now.since(self.at).as_secs_f64();
        self.tokens = (self.tokens + earned).min(self.bucket);
        self.at = now;
        let admits = self.tokens >= len;
        self.tokens -= if admits { len } else { 0.0 };
        admits
    }
}

enum Event {
    Sent,
    Data(Data),
    Ack(Box<Ack>),
    Write,
}

/// Behaviour of the application.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// The application always has more data.
    Bulk,
    /// The application writes a packet at a time, at this rate.
    Paced(Rate),
    Paused,
}

/// State after an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) now: Instant,
    pub(crate) view: Bbr3View,
    /// `C.inflight`.
    pub(crate) in_flight: Bytes,
    /// Delivered data, as far as the sender knows.
    pub(crate) delivered: Bytes,
    pub(crate) stats: Stats,
}

/// The path with its two ends.
pub(crate) struct Path {
    pub(crate) now: Instant,
    /// Capacity; a change does not affect the packet in transmission.
    pub(crate) rate: Rate,
    /// Delay from the bottleneck to the receiver, and of the return path.
    pub(crate) delay: Duration,
    /// Maximum size of the queue.
    pub(crate) buffer: Bytes,
    pub(crate) policer: Option<Policer>,
    /// Acknowledgements arrive only at multiples of this.
    pub(crate) ack_grid: Duration,
    /// Loses one packet in so many; zero for no loss.
    pub(crate) drop_every: u64,
    /// Number of next packets to lose; number of next packets to delay, and the delay.
    pub(crate) drop_next: u64,
    pub(crate) hold_next: (u64, Duration),
    pub(crate) rows: Vec<Row>,
    /// Packets that the network lost.
    pub(crate) lost: u64,
    sender: Sender<AnyController>,
    receiver: Receiver,
    source: Source,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    queue: VecDeque<Data>,
    in_queue: u64,
    pace_at: Instant,
    carried: u64,
}

fn config() -> Config {
    Config { mss: MSS, ..Config::new(Profile::Tcp) }
}

impl Path {
    /// A bulk transfer of bbr3 over a bottleneck of `rate`, with a base
    /// round-trip time of `rtt` and a buffer of `bdps` bandwidth-delay products.
    pub(crate) fn new(rate: Rate, rtt: Duration, bdps: f64) -> Path {
        Path::with(rate, rtt, bdps, &[])
    }

    /// [`Path::new`] without ProbeRTT, which would cut other phases short.
    pub(crate) fn without_probe_rtt(rate: Rate, rtt: Duration, bdps: f64) -> Path {
        let hour = Value::Time(Duration::from_secs(3600));
        Path::with(rate, rtt, bdps, &[("probe_rtt_interval", hour)])
    }

    /// [`Path::new`] with these parameters.
    pub(crate) fn with(rate: Rate, rtt: Duration, bdps: f64, set: &[(&str, Value)]) -> Path {
        let algorithm = sojourn_cc::find("bbr3").unwrap();
        let mut params = Params::defaults(algorithm.info.params);
        for (name, value) in set {
            params.set(algorithm.info.params, name, value.clone()).unwrap();
        }
        let controller = (algorithm.build)(&Setup {
            mss: MSS,
            initial_window: MSS * 10,
            paced: false,
            round_recovery: false,
            seed: 1,
            params,
        });
        let mut path = Path {
            now: Instant::ZERO,
            rate,
            delay: rtt / 2,
            buffer: rate.bytes_in(rtt).mul_f64(bdps),
            policer: None,
            ack_grid: Duration::from_nanos(1),
            drop_every: 0,
            drop_next: 0,
            hold_next: (0, Duration::ZERO),
            rows: Vec::new(),
            lost: 0,
            sender: Sender::new(config(), algorithm.info.needs, controller),
            receiver: Receiver::new(config(), false),
            source: Source::Paused,
            events: BTreeMap::new(),
            serial: 0,
            queue: VecDeque::new(),
            in_queue: 0,
            pace_at: Instant::MAX,
            carried: 0,
        };
        path.resume();
        path
    }

    /// The present state of the model.
    pub(crate) fn view(&self) -> Bbr3View {
        match self.sender.controller() {
            AnyController::Bbr3(bbr) => bbr.view(),
            _ => unreachable!("bbr3 was built"),
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        self.view().state
    }

    pub(crate) fn row(&self) -> Row {
        Row {
            now: self.now,
            view: self.view(),
            in_flight: self.sender.in_flight(),
            delivered: self.sender.delivered(),
            stats: self.sender.stats(),
        }
    }

    /// Gives the application endless data.
    pub(crate) fn resume(&mut self) {
        self.source = Source::Bulk;
        self.sender.write(1 << 50);
        self.transmit();
    }

    /// Stops the application's data.
    pub(crate) fn pause(&mut self) {
        self.source = Source::Paused;
        self.sender.stop();
        self.transmit();
    }

    /// Lets the application write a packet at a time, at this rate.
    pub(crate) fn limit_application(&mut self, rate: Rate) {
        self.sender.stop();
        if !matches!(self.source, Source::Paced(_)) {
            self.schedule(self.now, Event::Write);
        }
        self.source = Source::Paced(rate);
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    /// Runs until `done`, and panics if that takes more than `within`.
    #[track_caller]
    pub(crate) fn run_until(&mut self, within: Duration, done: impl Fn(&Path) -> bool) {
        let deadline = self.now + within;
        while !done(self) {
            assert!(self.now <= deadline, "never within {within}: {:?}", self.view());
            self.step();
        }
    }

    /// Runs until the flow is in `state`.
    #[track_caller]
    pub(crate) fn run_to(&mut self, state: &str, within: Duration) {
        self.run_until(within, |path| path.state() == state);
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }

    /// Lets `span` pass, even without any event.
    pub(crate) fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while self.next() < end {
            self.step();
        }
        self.now = end;
    }

    fn next_event(&self) -> Instant {
        self.events.first_key_value().map_or(Instant::MAX, |(key, _)| key.0)
    }

    fn next(&self) -> Instant {
        let timers = self.sender.timer().min(self.receiver.timer());
        self.next_event().min(timers).min(self.pace_at).max(self.now)
    }

    fn step(&mut self) {
        let (next, at) = (self.next_event(), self.next());
        assert!(at < Instant::MAX, "nothing will happen any more");
        self.now = at;
        if next == at {
            let (_, event) = self.events.pop_first().unwrap();
            self.happen(event);
        }
        if self.sender.timer() <= at {
            self.sender.on_timer(at);
        }
        if self.receiver.timer() <= at {
            self.receiver.on_timer(at);
        }
        self.acknowledge();
        self.transmit();
        self.rows.push(self.row());
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Sent => self.pass_on(),
            Event::Data(data) => self.receiver.on_data(self.now, &data),
            Event::Ack(ack) => drop(self.sender.on_ack(self.now, &ack)),
            Event::Write => {
                if let Source::Paced(rate) = self.source {
                    self.sender.write(MSS.0);
                    self.schedule(self.now + rate.time_for(MSS), Event::Write);
                }
            }
        }
    }

    fn acknowledge(&mut self) {
        if self.receiver.ack_due(self.now) {
            let mut ack = Box::<Ack>::default();
            self.receiver.take_ack(self.now, &mut ack);
            let at = (self.now + self.delay).0.next_multiple_of(self.ack_grid.0);
            self.schedule(Instant(at), Event::Ack(ack));
        }
    }

    fn transmit(&mut self) {
        loop {
            match self.sender.poll_transmit(self.now) {
                Poll::Packet(data) => self.enqueue(data),
                Poll::Wait(at) => return self.pace_at = at,
                Poll::Blocked => return self.pace_at = Instant::MAX,
            }
        }
    }

    fn is_lost(&mut self, len: f64) -> bool {
        self.carried += 1;
        if self.drop_next > 0 {
            self.drop_next -= 1;
            return true;
        }
        (self.drop_every > 0 && self.carried.is_multiple_of(self.drop_every))
            || self.policer.as_mut().is_some_and(|policer| !policer.admits(self.now, len))
            || self.in_queue as f64 + len > self.buffer.as_f64() + MSS.as_f64()
    }

    fn enqueue(&mut self, data: Data) {
        if self.is_lost(f64::from(data.len)) {
            self.lost += 1;
            return;
        }
        self.in_queue += u64::from(data.len);
        self.queue.push_back(data);
        if self.queue.len() == 1 {
            self.serve();
        }
    }

    fn serve(&mut self) {
        if let Some(data) = self.queue.front() {
            let end = self.now + self.rate.time_for(Bytes(u64::from(data.len)));
            self.schedule(end, Event::Sent);
        }
    }

    fn pass_on(&mut self) {
        let data = self.queue.pop_front().expect("a packet was being sent");
        self.in_queue -= u64::from(data.len);
        let mut at = self.now + self.delay;
        if self.hold_next.0 > 0 {
            self.hold_next.0 -= 1;
            at += self.hold_next.1;
        }
        self.schedule(at, Event::Data(data));
        self.serve();
    }
}

/// Rows from the first at or after `from` up to the last before `to`.
pub(crate) fn between(rows: &[Row], from: Instant, to: Instant) -> &[Row] {
    let first = rows.partition_point(|row| row.now < from);
    let last = rows.partition_point(|row| row.now < to);
    &rows[first..last]
}

/// Delivery rate between the first and the last of `rows`.
pub(crate) fn goodput(rows: &[Row]) -> Rate {
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    Rate::from_transfer(last.delivered - first.delivered, last.now.since(first.now))
}

/// `part` as a share of `whole`.
pub(crate) fn share(part: Rate, whole: Rate) -> f64 {
    part.as_f64() / whole.as_f64()
}
