//! Rapid, the packet-scale paradigm: "RAPID: Shrinking the Congestion-control Timescale"
//! (Konda and Kaur, INFOCOM 2009), in the version of "Impact of Cross Traffic Burstiness on
//! the Packet-scale Paradigm" (Lovewell and Kaur, UNC TR11-007).
//!
//! All packets are probes. They leave in streams, each packet with its own exact gap. The
//! receive times show the highest rate at which the path's queue does not grow, and the
//! mean rate of the streams follows that rate.
//!
//! Deviation (Konda and Kaur 2009): the paper was available only through quotations in TR11-007.
//! Details that both leave open are ours.
//! Deviation (TR11-007): packets are not ECN-capable.

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::CATCH_UP;
use crate::contract::{
    Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup, Signal,
};
use crate::undo::Undo;

mod collect;
mod estimate;
mod filter;
mod params;
mod stream;

use collect::{Collector, Stream};
use estimate::Rule;
use filter::Filter;
use stream::Shape;

/// Ratio of the probing rates of successive packets in start-up (PathChirp's spread
/// factor). A stream of 30 thus probes from a fifth to 39 times its mean rate.
const STARTUP_SPREAD: f64 = 1.2;
/// Minimum probing rate: one packet per second, so that feedback continues.
const LEAST_PACKETS_A_SECOND: f64 = 1.0;
/// Maximum rate of 10 Tbit/s, since gaps are whole nanoseconds.
const MOST: f64 = 1e13;
/// Maximum number of abandoned streams for which start-up's window has room.
const ABANDONED: u64 = 8;
/// An unlimited window, low enough that sums with it do not saturate.
const UNLIMITED: Bytes = Bytes(u64::MAX / 4);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Searches for the order of magnitude.
    ///
    /// Deviation (TR11-007): start-up has streams with PathChirp's spread of 1.2 and a mean of
    /// `initial_rate`, and no second stream before the first result. That is 30 packets over 14 ms,
    /// and not RFC 6928's ten.
    Startup,
    /// Follows the estimate through the filter.
    Steady,
}

/// The stream that is leaving.
struct Leaving {
    startup: bool,
    /// Packets already sent.
    sent: usize,
    duration: Duration,
    /// Time at which the next packet is due after the last one.
    due: Instant,
    /// The same if all had left on time: a sender in real time may make up for lateness.
    planned: Option<Instant>,
    /// Whether its receive times will give an estimate.
    is_measured: bool,
}

/// The Rapid controller.
pub struct Rapid {
    mss: Bytes,
    initial_window: Bytes,
    initial_rate: f64,
    beta: f64,
    shape: Shape,
    startup_shape: Shape,
    rule: Rule,
    filter: Filter,
    phase: Phase,
    /// The mean rate of the streams, in bit/s of payload.
    rate: f64,
    /// The maximum since the last timeout.
    peak: f64,
    /// The last estimate of the available bandwidth, in bit/s of payload.
    estimate: Option<f64>,
    leaving: Leaving,
    /// Packets of start-up's streams that did not leave as planned.
    abandoned: u64,
    /// `None` if the bottleneck itself reports the available bandwidth.
    collector: Option<Collector>,
    srtt: Duration,
    undo: Undo<Saved>,
}

/// State that a spurious loss restores.
#[derive(Clone, Copy, Debug)]
struct Saved {
    phase: Phase,
    rate: f64,
}

impl Rapid {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "rapid",
        title: "Rapid: the packet-scale paradigm, which probes the available bandwidth with every \
                packet",
        source: "Konda and Kaur, \"RAPID\", INFOCOM 2009; Lovewell and Kaur, \"Impact of Cross \
                 Traffic Burstiness on the Packet-scale Paradigm\", UNC TR11-007",
        params: params::PARAMS,
        needs: params::NEEDS,
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Rapid {
        let params = &setup.params;
        let initial_rate = params.rate("initial_rate").as_f64();
        let (packets, spread) = (params.integer("packets") as usize, params.number("spread"));
        let mut rapid = Rapid {
            mss: setup.mss,
            initial_window: setup.initial_window,
            initial_rate,
            beta: params.number("beta"),
            shape: Shape::new(packets, spread),
            startup_shape: Shape::new(packets, STARTUP_SPREAD.max(spread)),
            rule: Rule {
                over: 1.0 / params.number("decrease_factor"),
                resolution: params.time("resolution").0 as f64,
            },
            filter: Filter::new(
                params.choice("filter") == "linear",
                params.time("tau"),
                params.time("eta"),
            ),
            phase: Phase::Startup,
            rate: initial_rate,
            peak: initial_rate,
            estimate: None,
            leaving: Leaving {
                startup: true,
                sent: 0,
                duration: Duration::ZERO,
                due: Instant::ZERO,
                planned: None,
                is_measured: false,
            },
            abandoned: 0,
            collector: (!params::is_ideal(params)).then(Collector::default),
            srtt: Duration::ZERO,
            undo: Undo::default(),
        };
        rapid.plan();
        rapid
    }

    /// Transport features that it needs with these parameters.
    pub fn needs(params: &Params) -> Needs {
        params::needs(params)
    }

    fn set_rate(&mut self, rate: f64) {
        let least = LEAST_PACKETS_A_SECOND * self.mss.as_f64() * 8.0;
        self.rate = rate.clamp(least, MOST.max(least));
        self.peak = self.peak.max(self.rate);
    }

    fn saved(&self) -> Saved {
        Saved { phase: self.phase, rate: self.rate }
    }

    fn shape_of(&self, startup: bool) -> &Shape {
        if startup { &self.startup_shape } else { &self.shape }
    }

    /// Gap between the last packet and the next.
    fn gap(&self) -> Duration {
        self.shape_of(self.leaving.startup).gap(self.leaving.sent, self.leaving.duration)
    }

    /// Plans the next stream: its gaps give it the sender's mean rate.
    fn plan(&mut self) {
        self.leaving.startup = self.phase == Phase::Startup;
        self.leaving.sent = 0;
        self.leaving.duration = self.duration_of(self.leaving.startup, self.rate);
    }

    fn duration_of(&self, startup: bool, mean: f64) -> Duration {
        let packets = self.shape_of(startup).packets() as u64;
        Duration::from_secs_f64((self.mss * packets).as_f64() * 8.0 / mean)
    }

    /// Discards the stream that is leaving and plans a new one.
    fn restart(&mut self) {
        self.ignore_stream();
        self.plan();
    }

    /// Takes no estimate from the stream that is leaving.
    fn ignore_stream(&mut self) {
        if std::mem::take(&mut self.leaving.is_measured)
            && let Some(collector) = &mut self.collector
        {
            collector.abandon();
        }
    }

    /// Reacts to a packet that did not leave as planned.
    ///
    /// The rest of a stream that was held up for so little that the sender makes up for it still leaves.
    /// Its first half is slower than its second: with a new stream in its place, a sender that is late
    /// at times would fall below its rate.
    fn on_late(&mut self, now: Instant) {
        if self.phase == Phase::Startup {
            self.abandoned += self.leaving.sent as u64;
        } else if now.since(self.leaving.due) <= CATCH_UP {
            return self.ignore_stream();
        }
        self.restart();
    }

    /// Ends a stream. The rate for the next one follows the estimate through the filter,
    /// over the duration of this one (TR11-007 section II.A: L).
    fn turn_to_next_stream(&mut self) {
        if let (Phase::Steady, Some(estimate)) = (self.phase, self.estimate) {
            let rate = self.filter.next(self.rate, estimate, self.leaving.duration);
            self.set_rate(rate);
        }
        self.plan();
    }

    /// Whether the stream leaves as planned; otherwise it measures another rate.
    fn is_on_schedule(&self, now: Instant) -> bool {
        self.leaving.planned.is_some_and(|planned| planned <= now)
            && now.since(self.leaving.due) <= self.gap()
    }

    /// The available bandwidth from the delays of a stream's packets, and whether it is
    /// less than the highest rate that the stream could find.
    fn estimate_by(&self, stream: &Stream, delays: &[f64]) -> (f64, bool) {
        let shape = self.shape_of(stream.startup);
        let last = self.rule.last_before_trend(delays, shape);
        let place = last.unwrap_or(shape.packets() - 1);
        let estimate = stream.mean * shape.rate(place);
        if last != Some(0) {
            return (estimate, last.is_some());
        }
        // Deviation (TR11-007 section II.A): if the delays rise from the first packet on, the
        // estimate is at most the rate at which the stream arrived. The papers do not say how far
        // the available bandwidth is below the lowest probing rate.
        let bits = (self.mss * (delays.len() as u64 - 1)).as_f64() * 8.0;
        let grown = delays[delays.len() - 1] / 1e9;
        let span = shape.span(self.duration_of(stream.startup, stream.mean)).as_secs_f64();
        (estimate.min(bits / (span + grown).max(1e-9)), true)
    }

    /// Processes the estimate from a stream.
    fn on_estimate(&mut self, stream: &Stream, estimate: f64, is_limited: bool) {
        if stream.startup != (self.phase == Phase::Startup) {
            return;
        }
        self.estimate = Some(estimate);
        if self.phase == Phase::Startup {
            // Streams that left before the last increase may report less.
            let rate = if is_limited { estimate } else { self.rate.max(estimate) };
            self.phase = if is_limited { Phase::Steady } else { Phase::Startup };
            self.set_rate(rate);
        }
    }

    /// The rate limits the sender, not the window. In start-up the window allows one stream until
    /// its first feedback. A stream that did not leave as planned gives no estimate. The next one
    /// gets room beside it, because acknowledgements would release it, and not its schedule. Later
    /// the window stops the sender after two round trips and a second without feedback.
    fn window(&self) -> Bytes {
        if self.phase == Phase::Startup && self.estimate.is_none() {
            let packets = self.startup_shape.packets() as u64;
            return self.mss * (packets + self.abandoned.min(ABANDONED * packets));
        }
        let silence = self.srtt * 2 + Duration::from_secs(1);
        Rate(self.peak as u64).bytes_in(silence).max(self.initial_window).min(UNLIMITED)
    }

    /// Processes receive times. Returns whether the rate changed at once, which happens
    /// only in start-up.
    fn process_receive_times(&mut self, feedback: &Feedback<'_>) -> bool {
        let (mut collector, before) = (self.collector.take(), self.rate);
        for received in feedback.received {
            let arrived = collector.as_mut().and_then(|c| c.take(received));
            if let Some((stream, delays)) = arrived {
                let (estimate, is_limited) = self.estimate_by(&stream, delays);
                self.on_estimate(&stream, estimate, is_limited);
            }
        }
        self.collector = collector;
        self.rate != before
    }
}

impl Controller for Rapid {
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        if self.leaving.sent > 0 && !self.is_on_schedule(now) {
            self.on_late(now);
        }
        let shape = self.shape_of(self.leaving.startup);
        let (packets, startup) = (shape.packets(), self.leaving.startup);
        if let (0, Some(collector)) = (self.leaving.sent, &mut self.collector) {
            self.leaving.is_measured = true;
            collector.begin(Stream { first: sent.number, packets, mean: self.rate, startup });
        }
        self.leaving.sent += 1;
        if self.leaving.sent == packets {
            self.leaving.is_measured = false;
            self.turn_to_next_stream();
        }
        let gap = self.gap();
        self.leaving.due = now + gap;
        let planned = self.leaving.planned.unwrap_or(now);
        self.leaving.planned = Some(planned.clamp(now.saturating_sub(CATCH_UP), now) + gap);
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        self.srtt = feedback.srtt;
        let gone = feedback.acked_packets + feedback.lost_packets;
        self.abandoned = self.abandoned.saturating_sub(gone);
        let mut changed = self.process_receive_times(feedback);
        if let Some(saved) = self.undo.on_feedback(feedback) {
            self.phase = saved.phase;
            self.set_rate(self.rate.max(saved.rate));
            changed = true;
        }
        if feedback.loss_event {
            self.undo.on_loss(self.saved());
            self.phase = Phase::Steady;
            if self.collector.is_some() {
                // Estimates from before the loss no longer count: the rate stays until the
                // next stream is measured. An estimate from the bottleneck itself remains
                // valid.
                self.estimate = None;
            }
            self.filter.reset();
            // Deviation (TR11-007): a congestion event halves the rate, and a timeout restarts (RFC
            // 5681).
            self.set_rate(self.rate * self.beta);
            changed = true;
        }
        if changed {
            self.restart();
        }
    }

    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.undo.on_timeout(self.saved());
        self.filter.reset();
        let mut rate = self.rate * self.beta;
        if self.collector.is_some() {
            // RFC 5681 section 3.1: restart as at the beginning.
            (self.phase, self.estimate, self.abandoned) = (Phase::Startup, None, 0);
            rate = rate.min(self.initial_rate);
        }
        self.peak = 0.0;
        self.set_rate(rate);
        self.restart();
    }

    fn on_signal(&mut self, _now: Instant, signal: Signal) {
        if self.collector.is_some() {
            return;
        }
        self.estimate = Some(signal.rate.as_f64());
        // A perfect estimate needs no search.
        if std::mem::replace(&mut self.phase, Phase::Steady) == Phase::Startup {
            self.set_rate(signal.rate.as_f64());
            self.restart();
        }
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window(), pacing: Pacing::Gap(self.gap()), burst: self.mss }
    }

    fn probe(&self) -> Probe {
        Probe {
            phase: match self.phase {
                Phase::Startup => "startup",
                Phase::Steady => "steady",
            },
            bandwidth: self.estimate.map(|bps| Rate(bps as u64)),
            rate: Some(Rate(self.rate as u64)),
            ..Probe::default()
        }
    }
}
