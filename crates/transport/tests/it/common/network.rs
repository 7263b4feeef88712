//! A network in memory between one sender and one receiver: a queue with a rate and a limit, a
//! delay, and seeded impairments.

use std::collections::BTreeMap;

use sojourn_cc::AnyController;
use sojourn_transport::{Ack, Config, Data, Poll, Profile, Receiver, Sender};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

/// Probabilities of impairments, in thousandths.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mishaps {
    pub(crate) loss: u64,
    pub(crate) ack_loss: u64,
    /// Probability of an additional delay, and its maximum.
    pub(crate) reorder: u64,
    pub(crate) reorder_by: Duration,
    pub(crate) duplicate: u64,
    pub(crate) mark: u64,
}

/// Forward and return path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// One-way delay.
    pub(crate) delay: Duration,
    pub(crate) rate: Rate,
    /// Maximum number of queued packets.
    pub(crate) limit: u64,
    pub(crate) mishaps: Mishaps,
    pub(crate) seed: u64,
}

enum Event {
    Data(Data),
    Ack(Box<Ack>),
    Write(u64),
}

/// Counts of data packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) received: u64,
}

/// The network with its two ends.
pub(crate) struct Network {
    pub(crate) sender: Sender<AnyController>,
    pub(crate) receiver: Receiver,
    pub(crate) now: Instant,
    pub(crate) fate: Fate,
    /// Acknowledgements that the receiver has sent.
    pub(crate) acks: u64,
    path: Path,
    random: u64,
    events: BTreeMap<(Instant, u64), Event>,
    serial: u64,
    /// Transmission end times of the queued packets.
    waiting: std::collections::VecDeque<Instant>,
    numbers: u64,
    unwritten: u64,
    /// Packets that may leave now in excess of the window: probes.
    excused: u64,
    /// Length of every segment by position: retransmissions must keep the boundaries.
    layout: Vec<u32>,
    /// Number of probes that a timer and an acknowledgement permit: one for TCP's timers; for QUIC
    /// two (RFC 9002 section 6.2.4), and one at the start of a recovery (section 7.3.2).
    probes: (u64, u64),
}

impl Network {
    pub(crate) fn new(name: &str, config: Config, path: Path) -> Network {
        let algorithm = sojourn_cc::find(name).expect("a registered controller");
        let needs = algorithm.info.needs;
        let controller = (algorithm.build)(&sojourn_cc::Setup {
            mss: config.mss,
            initial_window: config.mss * 10,
            paced: config.pacing,
            round_recovery: config.profile == Profile::Quic,
            seed: path.seed,
            params: Params::defaults(algorithm.info.params),
        });
        Network {
            probes: if config.profile == Profile::Quic { (2, 1) } else { (1, 0) },
            sender: Sender::new(config.clone(), needs, controller),
            receiver: Receiver::new(config, needs.receive_times),
            now: Instant::ZERO,
            fate: Fate::default(),
            acks: 0,
            random: path.seed.wrapping_mul(2).wrapping_add(1),
            path,
            events: BTreeMap::new(),
            serial: 0,
            waiting: std::collections::VecDeque::new(),
            numbers: 0,
            unwritten: 0,
            excused: 0,
            layout: Vec::new(),
        }
    }

    /// Draws an event of this probability in thousandths (xorshift64*).
    fn happens(&mut self, thousandths: u64) -> bool {
        self.draw() % 1000 < thousandths
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.serial += 1;
        self.events.insert((at, self.serial), event);
    }

    /// Time until which the link is busy with queued packets.
    fn busy_until(&mut self) -> Instant {
        let now = self.now;
        while self.waiting.front().is_some_and(|end| *end <= now) {
            self.waiting.pop_front();
        }
        self.waiting.back().copied().unwrap_or(now)
    }

    fn carry(&mut self, mut data: Data) {
        let (begin, mishaps) = (self.busy_until(), self.path.mishaps);
        if self.waiting.len() as u64 >= self.path.limit || self.happens(mishaps.loss) {
            self.fate.lost += 1;
            return;
        }
        let end = begin + self.path.rate.time_for(Bytes(u64::from(data.len)));
        self.waiting.push_back(end);
        if data.ecn.is_capable() && self.happens(mishaps.mark) {
            data.ecn = Ecn::Ce;
        }
        let mut arrival = end + self.path.delay;
        if self.happens(mishaps.reorder) {
            arrival += Duration(self.draw() % mishaps.reorder_by.0.max(1));
        }
        self.schedule(arrival, Event::Data(data));
        if self.happens(mishaps.duplicate) {
            self.fate.duplicated += 1;
            self.schedule(arrival + Duration::from_micros(10), Event::Data(data));
        }
    }

    /// Lets the sender send; returns the time of its next transmission.
    fn transmit(&mut self) -> Instant {
        loop {
            let (in_flight, cwnd) = (self.sender.in_flight().0, self.sender.cwnd().0);
            match self.sender.poll_transmit(self.now) {
                Poll::Packet(data) => {
                    self.check(&data);
                    self.check_window(in_flight, u64::from(data.len), cwnd);
                    self.carry(data);
                }
                Poll::Wait(at) => {
                    assert!(at > self.now, "to wait for the past never ends");
                    return at;
                }
                Poll::Blocked => return Instant::MAX,
            }
        }
    }

    fn check(&mut self, data: &Data) {
        assert_eq!(data.number, self.numbers, "packet numbers are used once, in order");
        self.numbers += 1;
        let place = data.segment as usize;
        if place == self.layout.len() {
            self.layout.push(data.len);
        }
        assert_eq!(self.layout[place], data.len, "a segment keeps its bounds");
    }

    /// Asserts that the data in flight fit the window, except for a first packet and for probes.
    fn check_window(&mut self, in_flight: u64, len: u64, cwnd: u64) {
        if in_flight + len > cwnd && in_flight > 0 {
            assert!(self.excused > 0, "{in_flight} B and {len} B exceed a window of {cwnd} B");
            self.excused -= 1;
        }
    }

    fn acknowledge(&mut self) {
        let mut ack = Ack::default();
        self.acks += 1;
        self.receiver.take_ack(self.now, &mut ack);
        if !self.happens(self.path.mishaps.ack_loss) {
            self.schedule(self.now + self.path.delay, Event::Ack(Box::new(ack)));
        }
    }

    /// Lets the application write `bytes` after `wait`.
    pub(crate) fn write_after(&mut self, wait: Duration, bytes: u64) {
        self.unwritten += 1;
        self.schedule(self.now + wait, Event::Write(bytes));
    }

    /// Runs until all data are delivered and acknowledged; returns the time. Panics after
    /// `deadline`.
    pub(crate) fn run(&mut self, deadline: Instant) -> Instant {
        let mut pace_at = self.transmit();
        while self.unwritten > 0 || !self.sender.is_done() {
            let event = self.events.keys().next().map_or(Instant::MAX, |key| key.0);
            let timers = self.sender.timer().min(self.receiver.timer()).min(pace_at);
            let next = event.min(timers);
            assert!(next >= self.now, "a timer is due in the past");
            assert!(next <= deadline, "stalled or too slow: at {} next {next}", self.now);
            self.now = next;
            self.excused = 0;
            if event == next {
                self.take_event();
            }
            if self.receiver.timer() <= next {
                self.receiver.on_timer(next);
            }
            if self.receiver.ack_due(next) {
                self.acknowledge();
            }
            if self.sender.timer() <= next {
                self.sender.on_timer(next);
                self.excused += self.probes.0;
                assert!(self.sender.timer() >= next, "a timer is due in the past");
            }
            pace_at = self.transmit();
        }
        self.now
    }

    fn take_event(&mut self) {
        match self.events.pop_first() {
            Some((_, Event::Data(data))) => {
                self.fate.received += 1;
                if let Some(frames) = self.sender.ack_frames(data.number) {
                    self.receiver.on_ack_frames(&frames);
                }
                if let Some(echo) = self.sender.echo(data.number) {
                    self.receiver.on_echo(self.now, echo, data.len);
                }
                self.receiver.on_data(self.now, &data);
                if self.receiver.ack_due(self.now) {
                    self.acknowledge();
                }
            }
            Some((_, Event::Ack(ack))) => {
                self.sender.on_ack(self.now, &ack);
                self.excused += self.probes.1;
            }
            Some((_, Event::Write(bytes))) => {
                self.unwritten -= 1;
                self.sender.write(bytes);
            }
            None => unreachable!("there was an event"),
        }
    }

    /// Data packets in flight.
    pub(crate) fn under_way(&self) -> u64 {
        self.events.values().filter(|e| matches!(e, Event::Data(_))).count() as u64
    }
}
