//! The applications of the flows.

use sojourn_scenario::{Pause, Source};
use sojourn_trace::Histogram;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::measure::Peak;
use crate::seed::Uniform;

/// More bytes than any run can send.
const ENDLESS: u64 = u64::MAX / 4;

/// The next action of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Write this many bytes to the flow.
    Write(u64),
    /// Write this many bytes to the requests, against the flow.
    Request(u64),
    /// Send an echo request of this size.
    Ping(u64),
}

/// The state of a flow's application.
#[derive(Debug)]
pub(crate) struct Application {
    source: Source,
    draws: Uniform,
    /// Time of its next action.
    pub(crate) next_at: Instant,
    /// Transfers delivered.
    pub(crate) completed: u64,
    last_begun_at: Instant,
    /// On-off source: packets so far, the due time of the last one on a clock that runs only while
    /// the source is on, and the rest of the current on period.
    on_packets: u64,
    on_due: Duration,
    on_left: Duration,
    /// Whether other flows need announcements of its on periods, and the decided but not yet
    /// announced changes.
    pub(crate) is_heard: bool,
    pub(crate) turns: Vec<(Instant, bool)>,
    /// Time when the last transfer was delivered.
    pub(crate) completed_at: Option<Instant>,
    /// Response times, and the greatest since the last sample.
    pub(crate) responses: Histogram,
    pub(crate) longest_response: Peak,
    mss: u64,
}

impl Application {
    pub(crate) fn new(source: Source, start: Instant, mss: Bytes, draws: Uniform) -> Application {
        Application {
            source,
            draws,
            next_at: start,
            completed: 0,
            last_begun_at: start,
            on_packets: 0,
            on_due: Duration::ZERO,
            on_left: Duration::ZERO,
            is_heard: false,
            turns: Vec::new(),
            completed_at: None,
            responses: Histogram::default(),
            longest_response: Peak::default(),
            mss: mss.0,
        }
    }

    /// Performs the action due at `next_at`, and schedules the next one.
    pub(crate) fn act(&mut self, now: Instant) -> Action {
        self.next_at = Instant::MAX;
        match self.source.clone() {
            Source::Bulk => Action::Write(ENDLESS),
            Source::Files { size, .. } => {
                self.last_begun_at = now;
                Action::Write(size.0)
            }
            Source::Request { request, .. } => {
                self.last_begun_at = now;
                Action::Request(request.0)
            }
            Source::Ping { interval, size } => {
                self.next_at = now + interval;
                Action::Ping(size.0)
            }
            Source::OnOff { rate, on, off, exponential } => {
                self.emit(now, rate, (on, off), exponential);
                Action::Write(self.mss)
            }
        }
    }

    /// Sends one packet, and schedules the next. Packets are due by a clock that runs only while
    /// the source is on, so that the rate is exact even with short on periods.
    fn emit(&mut self, now: Instant, rate: Rate, times: (Duration, Duration), exponential: bool) {
        if self.on_packets == 0 {
            self.on_left = self.draw(times.0, exponential);
            self.turn(now, true);
        }
        self.on_packets += 1;
        let due = rate.time_for(Bytes(self.mss * self.on_packets));
        let mut wait = due - std::mem::replace(&mut self.on_due, due);
        let mut next = now;
        while times.1 > Duration::ZERO && wait >= self.on_left {
            wait = wait - self.on_left;
            next += self.on_left;
            self.turn(next, false);
            next += self.draw(times.1, exponential);
            self.turn(next, true);
            self.on_left = self.draw(times.0, exponential);
        }
        self.on_left = self.on_left.saturating_sub(wait);
        self.next_at = next + wait;
    }

    /// Records that it will be on, or off, from `at`.
    fn turn(&mut self, at: Instant, on: bool) {
        if self.is_heard {
            self.turns.push((at, on));
        }
    }

    fn draw(&mut self, mean: Duration, exponential: bool) -> Duration {
        if !exponential {
            return mean;
        }
        // Inversion; libm gives the same bits on every machine.
        mean.mul_f64(-libm::log(1.0 - self.draws.next()))
    }

    /// Bytes of the flow whose delivery it waits for; `None` for endless sources.
    pub(crate) fn target(&self) -> Option<u64> {
        match self.source {
            Source::Files { size, .. } => Some(size.0 * (self.completed + 1)),
            Source::Request { response, .. } => Some(response.0 * (self.completed + 1)),
            Source::Bulk | Source::OnOff { .. } | Source::Ping { .. } => None,
        }
    }

    /// Bytes of requests that the responding side waits for.
    pub(crate) fn request_target(&self, answered: u64) -> Option<u64> {
        match self.source {
            Source::Request { request, .. } => Some(request.0 * (answered + 1)),
            _ => None,
        }
    }

    /// Size of a response.
    pub(crate) fn response(&self) -> u64 {
        match self.source {
            Source::Request { response, .. } => response.0,
            _ => 0,
        }
    }

    /// The awaited transfer was delivered.
    pub(crate) fn on_delivered(&mut self, now: Instant) {
        self.completed += 1;
        let (count, next_at) = match self.source {
            Source::Files { count, think, .. } => (Some(count), now + think),
            Source::Request { count, pause, .. } => {
                let response = now.since(self.last_begun_at);
                self.responses.record(response.0);
                self.longest_response.note(response);
                (count, self.after_pause(now, pause))
            }
            Source::Bulk | Source::OnOff { .. } | Source::Ping { .. } => return,
        };
        if count.is_some_and(|count| self.completed >= count) {
            self.completed_at = Some(now);
        } else {
            self.next_at = next_at;
        }
    }

    fn after_pause(&self, now: Instant, pause: Pause) -> Instant {
        match pause {
            Pause::Think(think) => now + think,
            Pause::Interval(interval) => now.max(self.last_begun_at + interval),
        }
    }

    /// Whether the source sends requests and waits for responses.
    pub(crate) fn asks(&self) -> bool {
        matches!(self.source, Source::Request { .. })
    }
}
