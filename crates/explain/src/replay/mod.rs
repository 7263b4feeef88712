//! Replays name the controller of a flow and the queue of the bottleneck. Each candidate controller gets
//! the feedback of the sender's controller, and its limits are compared with the sender's use of them.
//!
//! A controller is a function of its feedback (acknowledgements, losses, marks, round trips), and the
//! packets show both this feedback and the controller's answer: the data in flight fill the window, and
//! departures follow the pacing. A candidate that is given the feedback of the capture needs neither the
//! path nor the other flows. The idea is that of tcpanaly (Paxson 1997, Automated Packet Trace Analysis
//! of TCP Implementations, SIGCOMM), which steps known stacks through a trace, and of TCP behaviour
//! inference by their windows (Jaiswal et al. 2004, Inferring TCP Connection Characteristics Through
//! Passive Measurements, INFOCOM).
//!
//! Limits: the sender must have data all the time; behind the bottleneck the times of departure come
//! from the timestamps, in ticks; the first packets of a flow must be there.

pub(crate) mod course;
mod fates;
mod ledger;
mod queues;
mod shadow;

use sojourn_cc::{Feedback, Sent};
use sojourn_units::{Duration, Instant};

use crate::observation::{Answer, Flow};
use crate::path::Path;
use crate::path::view::View;
use crate::twin::synthesis::FULL_ONLY;
use course::{Event, What};
use ledger::{Departure, Ledger, Report};
use queues::Bottleneck;
pub use queues::QueueTrial;
use shadow::{Deed, Shadow};

/// A candidate controller with its distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Its name.
    pub name: &'static str,
    /// The mean deviation of the sender from its limits, as a logarithm: zero for the same controller.
    pub distance: f64,
    /// Logarithms of the sender's use of its limits, one a step. They are not numbers in steps in which
    /// something else limited the sender.
    pub uses: Vec<f64>,
}

/// Greater deviations count alike.
const GREATEST: f64 = 1.0;
/// Fewest steps behind a distance.
const FEWEST: usize = 8;
/// Least length of a step, in s, and in packets.
const STEP_S: f64 = 5e-3;
const STEP_PACKETS: f64 = 8.0;
const LONGEST_STEPS: f64 = 4.0;
/// A sender that is silent for this time, in round trips and s, has no data, or waits for a timeout.
const SILENT: f64 = 1.5;
const SILENT_S: f64 = 0.1;
const SEED: u64 = 1;
/// RFC 9768 section 3.2.2: the counter's first value.
const FIRST_ACE: u8 = 5;
/// The first data, in round trips timed.
const FIRST: usize = 3;

/// The candidates by their distance, the nearest first; empty if the capture cannot tell. `rate`: capacity
/// at the flow's begin, in bit/s.
pub fn controllers(
    flow: &Flow,
    view: &View,
    rate: Option<f64>,
    names: &[&'static str],
) -> Vec<Trial> {
    let half = &flow.half;
    let mss = u64::from(half.mss).max(1);
    let events = course::events(flow, view.is_reported);
    // The candidates begin with their first window.
    if half.scale().is_none() && !course::has_begin(flow, &events) {
        return Vec::new();
    }
    let shadows = names.iter().filter_map(|name| Shadow::new(name, mss, SEED)).collect();
    let mut replay = Replay::new(flow, mss, shadows);
    replay.run(&events, first_rtt(view, rate));
    let each = replay.shadows.into_iter().filter_map(|shadow| {
        let known: Vec<f64> = shadow.uses.iter().copied().filter(|one| !one.is_nan()).collect();
        let sum: f64 = known.iter().map(|one| one.abs().min(GREATEST)).sum();
        let distance = sum / known.len() as f64;
        let Shadow { name, uses, .. } = shadow;
        (known.len() >= FEWEST).then_some(Trial { name, distance, uses })
    });
    let mut all: Vec<Trial> = each.collect();
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    all
}

/// The candidates of the bottleneck's queue by their distance, the nearest first, and the size of a buffer
/// that explains the losses, in bytes; no candidate if the capture cannot tell.
pub fn queues(
    flows: &[(&Flow, &View)],
    path: &Path,
    is_marking: bool,
    names: &[&'static str],
) -> (Vec<QueueTrial>, Option<f64>) {
    // Without a capacity, the link's turns are unknown.
    if path.capacity.nearest(0.0).is_none() {
        return (Vec::new(), None);
    }
    let fates = fates::fates(flows, path);
    let rate = |at: f64| path.capacity.nearest(at).unwrap_or(f64::INFINITY);
    let bottleneck = Bottleneck::new(&fates, rate);
    let buffer = bottleneck.buffer();
    let known = if fates.is_empty() { &[] } else { names };
    let each = known.iter().filter_map(|name| {
        let is_full_only = FULL_ONLY.contains(name);
        let own = if is_full_only { Some(buffer?.0) } else { None };
        bottleneck.trial(name, is_marking, own)
    });
    let mut all: Vec<QueueTrial> = each.collect();
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    (all, buffer.filter(|(_, is_full)| *is_full).map(|(bytes, _)| bytes))
}

/// The handshake's round-trip time, in s: it meets the same queue as the first data, but its packets take
/// hardly any time to transmit.
fn first_rtt(view: &View, rate: Option<f64>) -> f64 {
    let trips = view.trips.iter().take(FIRST).map(|trip| trip.rtt);
    let first = trips.chain(view.first_rtt.map(|one| one.0)).fold(f64::INFINITY, f64::min);
    let sent = rate.map_or(0.0, |rate| 8.0 * view.packet / rate);
    (first - sent).max(1e-6)
}

struct Replay<'a> {
    flow: &'a Flow,
    ledger: Ledger,
    shadows: Vec<Shadow>,
    /// The step that is under way, and its begin and packets.
    deed: Deed,
    began: Instant,
    count: f64,
    sent_at: Instant,
    /// The receiver's window, in bytes.
    window: u64,
    /// Its scale, if the window ever limits the sender.
    scale: Option<u32>,
    /// Whether it has limited the sender since the last acknowledgement.
    was_closed: bool,
    /// AccECN's counter, modulo 8.
    ace: u8,
    mss: f64,
}

impl<'a> Replay<'a> {
    fn new(flow: &'a Flow, mss: u64, shadows: Vec<Shadow>) -> Replay<'a> {
        Replay {
            flow,
            ledger: Ledger::new(mss, flow.half.counts_marks()),
            shadows,
            deed: Deed::default(),
            began: Instant::ZERO,
            count: 0.0,
            sent_at: Instant::ZERO,
            window: u64::MAX,
            scale: None,
            was_closed: false,
            ace: FIRST_ACE,
            mss: mss as f64,
        }
    }

    fn run(&mut self, events: &[Event], rtt: f64) {
        let first = events.iter().find(|one| matches!(one.what, What::Sent { .. }));
        let Some(first) = first else { return };
        let (begin, rtt) = (Instant(first.at as u64), Duration((rtt * 1e9) as u64));
        self.began = begin;
        self.scale = self.flow.half.scale().or_else(|| course::scale(self.flow, events));
        self.ledger.begin(rtt);
        self.shadows.iter_mut().for_each(|one| one.on_handshake(begin, rtt));
        for event in events {
            let now = Instant(event.at.max(0) as u64);
            self.run_timer(now);
            self.end_step(now);
            match event.what {
                What::Sent { begin, len, .. } => self.sent(now, begin, begin + u64::from(len)),
                What::Answer(place) => self.answer(now, &self.flow.half.log.answers()[place]),
            }
        }
    }

    fn run_timer(&mut self, now: Instant) {
        let due = self.ledger.reorder_at();
        if due <= now {
            self.lose(due);
        }
    }

    fn lose(&mut self, now: Instant) {
        let shadows = &mut self.shadows;
        self.ledger.lose_late(now, |feedback| hear(shadows, now, feedback));
    }

    fn sent(&mut self, now: Instant, begin: u64, end: u64) {
        match self.ledger.depart(now, begin, end) {
            Departure::Plain => {}
            Departure::Loss => self.lose(now),
            Departure::Timeout { in_flight } => {
                self.shadows.iter_mut().for_each(|one| one.on_timeout(now, in_flight));
            }
        }
        self.note_silence(now);
        let shadows = &mut self.shadows;
        let hear = |sent: &Sent| shadows.iter_mut().for_each(|one| one.on_sent(now, sent));
        self.ledger.sent(now, begin, end, hear);
        self.sent_at = now;
        self.deed.sent += (end - begin) as f64;
        self.count += (end - begin) as f64 / self.mss;
        self.note_peak();
        self.deed.is_repair |= self.ledger.reduces(now);
        self.was_closed |= self.ledger.fills(self.window);
        self.deed.is_other |= self.was_closed;
    }

    fn note_peak(&mut self) {
        let flight = self.ledger.in_flight as f64;
        if flight >= self.deed.flight {
            self.deed.flight = flight;
            self.shadows.iter_mut().for_each(Shadow::on_peak);
        }
    }

    fn note_silence(&mut self, now: Instant) {
        let silence = now.since(self.sent_at).as_secs_f64();
        let most = (SILENT * self.ledger.srtt.as_secs_f64()).max(SILENT_S);
        self.deed.is_other |= silence > most;
    }

    fn answer(&mut self, now: Instant, answer: &Answer) {
        let log = &self.flow.half.log;
        let counts = self.flow.half.counts_marks();
        let marks = match counts {
            true => u64::from(answer.ecn.wrapping_sub(self.ace) & 7),
            // The flag does not count: all packets of the acknowledgement (RFC 8257 section 3.2).
            false if answer.ecn & 1 != 0 => u64::MAX,
            false => 0,
        };
        self.ace = answer.ecn;
        let is_marked = if counts { marks > 0 } else { answer.ecn & 1 != 0 };
        let (cumulative, blocks) = (answer.cumulative, log.blocks(answer));
        let report = Report { cumulative, blocks, marks, is_marked };
        let is_limited = !std::mem::take(&mut self.was_closed);
        let shadows = &mut self.shadows;
        self.ledger.answer(now, &report, is_limited, |feedback| hear(shadows, now, feedback));
        self.window = self.scale.map_or(u64::MAX, |scale| u64::from(answer.window) << scale);
    }

    /// Ends the step if it is long enough.
    fn end_step(&mut self, now: Instant) {
        let span = now.since(self.began).as_secs_f64();
        let least = self.ledger.srtt.as_secs_f64().max(STEP_S);
        let is_long = span >= LONGEST_STEPS * least;
        if span < least || self.count < STEP_PACKETS && !is_long {
            return;
        }
        let deed = self.deed;
        self.shadows.iter_mut().for_each(|one| one.end_step(now, &deed, span));
        let is_repair = self.ledger.reduces(now);
        self.deed = Deed { is_repair, ..Deed::default() };
        (self.began, self.count) = (now, 0.0);
    }
}

fn hear(shadows: &mut [Shadow], now: Instant, feedback: &Feedback<'_>) {
    shadows.iter_mut().for_each(|one| one.on_feedback(now, feedback));
}

#[cfg(test)]
mod tests {
    use sojourn_units::{Duration, Instant};

    use super::ledger::{Departure, Ledger, Report};

    /// A ledger of packets of 1000 bytes, of which three depart at once.
    fn ledger(rtt_ms: u64) -> Ledger {
        let mut ledger = Ledger::new(1000, false);
        ledger.begin(Duration::from_millis(rtt_ms));
        ledger.sent(Instant::ZERO, 0, 3000, |_| {});
        ledger
    }

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The packets that an acknowledgement shows as lost.
    fn lost(ledger: &mut Ledger, now: Instant, cumulative: u64) -> u64 {
        let report = Report { cumulative, blocks: &[], marks: 0, is_marked: false };
        let mut lost = 0;
        ledger.answer(now, &report, true, |feedback| lost = feedback.lost_packets);
        lost
    }

    #[test]
    fn a_repair_before_the_deviation_has_passed_is_no_timeout() {
        // Of 400 ms: with the first deviation of 200 ms, the timer takes 1200 ms.
        let departure = |ms| ledger(400).depart(at(ms), 0, 1000);
        assert!(matches!(departure(700), Departure::Loss));
        assert!(matches!(departure(1200), Departure::Timeout { .. }));
    }

    #[test]
    fn a_spurious_repair_shows_no_loss_of_packets_sent_before_it() {
        let mut ledger = ledger(100);
        assert_eq!(lost(&mut ledger, at(100), 1000), 0);
        assert!(matches!(ledger.depart(at(150), 1000, 2000), Departure::Loss));
        ledger.lose_late(at(150), |_| {});
        ledger.sent(at(150), 1000, 2000, |_| {});
        // The original arrived: a round trip takes 100 ms, and not 1.
        assert_eq!(lost(&mut ledger, at(151), 2000), 0);
    }
}
