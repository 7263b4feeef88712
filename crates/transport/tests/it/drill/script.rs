//! Scripts of packetdrill's kind: events at given times, and the packets and the state that must
//! follow.
//!
//! Segments count from 0, so packetdrill's `1001:3001` is `1..3`, and its `ack 2001` is 2. Times
//! are milliseconds after the previous event. The handshake is over when a script begins, and its
//! round-trip time is the first sample. Packets that leave must be named before time passes.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use sojourn_cc::{AnyController, Setup};
use sojourn_transport::{
    Ack, Config, Data, Poll, Profile, PrrRule, SegmentRange, Sender, Why, WindowUpdate,
};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant};

use crate::common::{config, ms};

/// A form of the algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// Linux 6.18, with 1000 ticks a second: CUBIC in whole packets with HyStart, PRR in whole
    /// packets.
    Linux,
    /// RFC 9438 with RFC 9406, RFC 9937.
    Rfc,
}

/// One run of a script.
#[derive(Clone, Copy, Debug)]
struct Form {
    host: Host,
    sack: bool,
    timestamps: bool,
}

/// The connections that a script applies to. Without a restriction: both hosts, timestamps on and
/// off, and SACK.
#[derive(Clone, Copy)]
pub(super) struct Script {
    rtt: Duration,
    hosts: &'static [Host],
    sack: &'static [bool],
    timestamps: &'static [bool],
    change: fn(&mut Config),
}

impl Script {
    /// A connection whose handshake took `rtt` milliseconds. In packetdrill's scripts, 0 is a few
    /// microseconds.
    pub(super) fn new(rtt: u64) -> Script {
        Script {
            rtt: ms(rtt).max(Duration::from_micros(100)),
            hosts: &[Host::Linux, Host::Rfc],
            sack: &[true],
            timestamps: &[false, true],
            change: |_| {},
        }
    }

    pub(super) fn on(self, hosts: &'static [Host]) -> Script {
        Script { hosts, ..self }
    }

    pub(super) fn sack(self, sack: &'static [bool]) -> Script {
        Script { sack, ..self }
    }

    pub(super) fn timestamps(self, timestamps: &'static [bool]) -> Script {
        Script { timestamps, ..self }
    }

    pub(super) fn config(self, change: fn(&mut Config)) -> Script {
        Script { change, ..self }
    }

    /// Runs a script on each of these connections.
    pub(super) fn run(self, script: impl Fn(&mut Drill)) {
        for &host in self.hosts {
            for &sack in self.sack {
                for &timestamps in self.timestamps {
                    let form = Form { host, sack, timestamps };
                    println!("{form:?}");
                    let mut drill = Drill::new(form, &self);
                    script(&mut drill);
                    drill.sends([]);
                }
            }
        }
    }
}

impl Form {
    fn config(self, change: fn(&mut Config)) -> Config {
        let Form { host, sack, timestamps } = self;
        let mut config = Config {
            timestamps,
            sack_ranges: if sack { 3 } else { 0 },
            growth_by_sack: false,
            prr: Some(PrrRule::Rfc9937),
            ..config(Profile::Tcp)
        };
        if host == Host::Linux {
            config.prr = Some(PrrRule::Linux618);
            config.timer_slack = ms(2);
        }
        change(&mut config);
        config
    }

    fn sender(self, script: &Script) -> Sender<AnyController> {
        let config = self.config(script.change);
        let cubic = sojourn_cc::find("cubic").expect("a registered controller");
        let mut params = Params::defaults(cubic.info.params);
        let (name, choice) = match self.host {
            Host::Linux => ("arithmetic", "linux"),
            Host::Rfc => ("slow_start", "hystart++"),
        };
        let value = Value::Choice(choice.to_owned());
        params.set(cubic.info.params, name, value).expect("a parameter of CUBIC");
        let needs = (cubic.needs)(&params);
        let controller = (cubic.build)(&Setup {
            mss: config.mss,
            initial_window: config.mss * config.initial_window,
            paced: config.pacing,
            round_recovery: false,
            seed: 0,
            params,
        });
        Sender::new(config, needs, controller)
    }
}

/// A sender that a script walks through.
pub(super) struct Drill {
    form: Form,
    sender: Sender<AnyController>,
    mss: u64,
    now: Instant,
    ack: Ack,
    /// The first and the last packet number of each segment.
    numbers: Vec<(u64, u64)>,
    /// Whether the receiver has reported each of them.
    covered: Vec<bool>,
    /// The next acknowledgement answers original transmissions.
    originals: bool,
    /// The host's interface takes no packets.
    blocked: bool,
    /// Packets that left, up to the next [`Drill::sends`].
    left: VecDeque<(Instant, Data)>,
    last: Option<Data>,
}

impl Drill {
    fn new(form: Form, script: &Script) -> Drill {
        let mut sender = form.sender(script);
        let now = Instant::ZERO + script.rtt;
        sender.await_handshake();
        sender.on_established(now, Some(script.rtt));
        Drill {
            form,
            sender,
            mss: form.config(script.change).mss.0,
            now,
            ack: Ack::default(),
            numbers: Vec::new(),
            covered: Vec::new(),
            originals: false,
            blocked: false,
            left: VecDeque::new(),
            last: None,
        }
    }

    /// The value for this host.
    pub(super) fn by<T>(&self, linux: T, rfc: T) -> T {
        if self.form.host == Host::Linux { linux } else { rfc }
    }

    fn pump(&mut self) {
        while !self.blocked
            && let Poll::Packet(data) = self.sender.poll_transmit(self.now)
        {
            let place = data.segment as usize;
            match self.numbers.get_mut(place) {
                Some((_, last)) => *last = data.number,
                None => self.numbers.push((data.number, data.number)),
            }
            self.covered.resize(self.numbers.len(), false);
            self.left.push_back((self.now, data));
        }
    }

    /// Runs the next timer if it is due at `deadline`.
    fn run_timer(&mut self, deadline: Instant) -> bool {
        let due = self.sender.timer();
        if due > deadline {
            return false;
        }
        self.now = due;
        self.sender.on_timer(due);
        self.pump();
        true
    }

    /// Time passes. No packet leaves before its end.
    #[track_caller]
    pub(super) fn after(&mut self, span: u64) -> &mut Drill {
        self.sends([]);
        let end = self.now + ms(span);
        while self.run_timer(end) {}
        self.now = end;
        self
    }

    /// The application writes full segments.
    pub(super) fn write(&mut self, segments: u64) -> &mut Drill {
        self.write_bytes(segments * self.mss)
    }

    pub(super) fn write_bytes(&mut self, bytes: u64) -> &mut Drill {
        self.sender.write(bytes);
        self.pump();
        self
    }

    /// An acknowledgement of all segments below `cumulative`.
    pub(super) fn ack(&mut self, cumulative: u64) -> &mut Drill {
        self.sacks(cumulative, &[])
    }

    /// An acknowledgement with a SACK block; without SACK, a duplicate one.
    pub(super) fn sack(&mut self, cumulative: u64, block: Range<u64>) -> &mut Drill {
        self.sacks(cumulative, std::slice::from_ref(&block))
    }

    /// An acknowledgement with SACK blocks.
    pub(super) fn sacks(&mut self, cumulative: u64, blocks: &[Range<u64>]) -> &mut Drill {
        self.receive(cumulative, blocks, None)
    }

    /// An acknowledgement that reports duplicates (DSACK).
    pub(super) fn dsack(&mut self, cumulative: u64, twice: Range<u64>) -> &mut Drill {
        self.receive(cumulative, &[], Some(twice))
    }

    fn receive(
        &mut self,
        cumulative: u64,
        blocks: &[Range<u64>],
        twice: Option<Range<u64>>,
    ) -> &mut Drill {
        let blocks = if self.form.sack { blocks } else { &[] };
        for place in blocks.iter().cloned().flatten().chain(0..cumulative) {
            let place = place as usize;
            if !std::mem::replace(&mut self.covered[place], true) {
                let (first, last) = self.numbers[place];
                let echo = if self.originals { first } else { last };
                self.ack.newest = self.ack.newest.max(echo);
            }
        }
        if let Some(place) = twice.clone().and_then(|mut range| range.next_back()) {
            self.ack.newest = self.ack.newest.max(self.numbers[place as usize].1);
        }
        self.ack.cumulative = cumulative;
        self.ack.duplicate = twice.is_some();
        let window = self.ack.window();
        let details = self.ack.add_details();
        let range = |range: Range<u64>| SegmentRange { start: range.start, end: range.end };
        details.ranges.extend(blocks.iter().cloned().map(range));
        details.duplicates = twice.map(range);
        details.window = window;
        self.sender.on_ack(self.now, &self.ack);
        (self.originals, self.ack.ece) = (false, false);
        self.ack.clear_details();
        self.pump();
        self
    }

    /// The next acknowledgement answers the first transmission of its segments, not the last.
    pub(super) fn originals(&mut self) -> &mut Drill {
        self.originals = true;
        self
    }

    /// The next acknowledgement echoes a mark.
    pub(super) fn ece(&mut self) -> &mut Drill {
        self.ack.ece = true;
        self
    }

    /// The next acknowledgement announces this receive window.
    pub(super) fn window(&mut self, bytes: u64) -> &mut Drill {
        let update = WindowUpdate { window: Bytes(bytes), sent_at: self.now };
        self.ack.add_details().window = Some(update);
        self
    }

    /// The host's interface takes no packets.
    pub(super) fn block(&mut self) -> &mut Drill {
        self.blocked = true;
        self
    }

    /// These segments have left now, and no others.
    #[track_caller]
    pub(super) fn sends(&mut self, segments: impl IntoIterator<Item = u64>) -> &mut Drill {
        let left = self.left.drain(..).inspect(|(_, data)| self.last = Some(*data));
        let left: Vec<_> = left.map(|(at, data)| (at, data.segment)).collect();
        let wanted: Vec<_> = segments.into_iter().map(|segment| (self.now, segment)).collect();
        assert_eq!(left, wanted, "the segments that left, with their times");
        self
    }

    /// The packets that left are of no interest.
    pub(super) fn rest(&mut self) -> &mut Drill {
        self.left.clear();
        self
    }

    /// A timer sends these segments in `span`.
    #[track_caller]
    pub(super) fn fires(
        &mut self,
        span: RangeInclusive<u64>,
        segments: impl IntoIterator<Item = u64>,
    ) -> &mut Drill {
        self.sends([]);
        let began = self.now;
        while self.left.is_empty() {
            let is_due = self.run_timer(began + ms(*span.end()));
            assert!(is_due, "no timer: next at {}", self.sender.timer());
        }
        let waited = self.now.since(began);
        assert!(waited >= ms(*span.start()), "a timer after {waited}");
        self.sends(segments)
    }

    /// The window in packets. Linux's is whole; an RFC's is rounded down.
    #[track_caller]
    pub(super) fn cwnd(&mut self, packets: u64) -> &mut Drill {
        let cwnd = self.sender.cwnd().0;
        assert_eq!(self.packets(cwnd), packets, "cwnd of {cwnd} B");
        self
    }

    /// The threshold in packets.
    #[track_caller]
    pub(super) fn ssthresh(&mut self, packets: u64) -> &mut Drill {
        let ssthresh = self.sender.vitals().ssthresh.expect("a threshold").0;
        assert_eq!(self.packets(ssthresh), packets, "ssthresh of {ssthresh} B");
        self
    }

    #[track_caller]
    fn packets(&self, bytes: u64) -> u64 {
        let is_whole = self.form.host == Host::Rfc || bytes.is_multiple_of(self.mss);
        assert!(is_whole, "{bytes} B are no whole packets");
        bytes / self.mss
    }

    /// Slow start has not ended.
    #[track_caller]
    pub(super) fn no_ssthresh(&mut self) -> &mut Drill {
        assert_eq!(self.sender.vitals().ssthresh, None);
        self
    }

    /// The recovery in progress.
    #[track_caller]
    pub(super) fn recovers(&mut self, why: Why) -> &mut Drill {
        assert_eq!(self.sender.vitals().recovery, why);
        self
    }

    /// Losses found so far.
    #[track_caller]
    pub(super) fn lost(&mut self, packets: u64) -> &mut Drill {
        assert_eq!(self.sender.stats().lost, packets);
        self
    }

    /// Packets in flight.
    #[track_caller]
    pub(super) fn in_flight(&mut self, packets: u64) -> &mut Drill {
        assert_eq!(self.sender.in_flight().0, packets * self.mss);
        self
    }

    /// The first segment that is not acknowledged.
    pub(super) fn una(&self) -> u64 {
        self.ack.cumulative
    }

    /// The sender.
    pub(super) fn sender(&self) -> &Sender<AnyController> {
        &self.sender
    }

    /// The packet that the last [`Drill::sends`] ended with.
    pub(super) fn last(&self) -> Data {
        self.last.expect("a packet")
    }
}
