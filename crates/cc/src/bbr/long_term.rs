//! Long-term bandwidth sampling, which detects token-bucket policers.
//!
//! A policer passes bursts at line rate while it has tokens, then drops all packets above
//! its rate. The windowed maximum would keep the burst rate. If two consecutive intervals,
//! each ended by loss, show the same rate, BBR uses that rate instead
//! (`bbr_lt_bw_sampling`).

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::gain::Gain;

/// `bbr_lt_intvl_min_rtts`: minimum length of an interval, in rounds.
const INTERVAL_MIN_ROUNDS: u64 = 4;
/// `bbr_lt_loss_thresh`: ratio of lost to delivered data, in 256ths, that suggests a
/// policer.
const LOSS_THRESH: u64 = 50;
/// `bbr_lt_bw_ratio`: the rates of two intervals agree within an eighth,
const BW_RATIO: u64 = 8;
/// `bbr_lt_bw_diff`: or within 4 kbit/s.
const BW_DIFF: Rate = Rate(4_000);
/// `bbr_lt_bw_max_rtts`: rounds until BBR probes again.
const MAX_ROUNDS: u64 = 48;

/// State of the sampling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    phase: Phase,
    /// The rate of the previous interval, or the long-term rate in use; initially zero.
    bw: Rate,
    /// Rounds in this interval, or since the long-term rate came into use.
    rounds: u64,
    /// Start of the interval.
    start: Mark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No loss yet, so a policer would still have tokens.
    #[default]
    Waiting,
    Sampling,
    /// Policed: the long-term rate replaces the windowed maximum.
    Using,
}

/// Totals of the connection at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// Time of the last delivery.
    pub(super) delivered_at: Instant,
    pub(super) delivered: Bytes,
    pub(super) lost: Bytes,
}

/// The input from one acknowledgement or timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) mark: Mark,
    /// Whether it reported losses.
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    pub(super) probing_bw: bool,
    pub(super) pacing_margin_percent: u64,
}

/// Result of a sampling step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// Policer detected: stop probing for bandwidth.
    Policed,
    /// The long-term rate has expired: probe again.
    Expired,
}

impl LongTerm {
    /// The long-term rate while it is in use.
    pub(super) fn bw(&self) -> Option<Rate> {
        (self.phase == Phase::Using).then_some(self.bw)
    }

    /// Whether the long-term rate is in use.
    pub(super) fn in_use(&self) -> bool {
        self.phase == Phase::Using
    }

    /// Resets the sampling after spurious losses (`bbr_reset_lt_bw_sampling`).
    pub(super) fn forget(&mut self) {
        *self = LongTerm::default();
    }

    /// One step of `bbr_lt_bw_sampling`.
    pub(super) fn update(&mut self, event: &Event) -> Verdict {
        match self.phase {
            Phase::Using => return self.use_up(event),
            Phase::Waiting if !event.losses => return Verdict::Unchanged,
            Phase::Waiting => {
                self.begin_interval(event.mark);
                self.phase = Phase::Sampling;
            }
            Phase::Sampling => {}
        }
        // An application-limited sample or a long time without loss does not suggest a
        // policer.
        self.rounds += u64::from(event.round_start);
        if event.app_limited || self.rounds > 4 * INTERVAL_MIN_ROUNDS {
            self.reset(event.mark);
            return Verdict::Unchanged;
        }
        // Only a loss ends an interval, because it shows that the policer has no tokens
        // left.
        if self.rounds < INTERVAL_MIN_ROUNDS || !event.losses {
            return Verdict::Unchanged;
        }
        match self.interval_rate(event.mark) {
            Some(bw) => self.end_interval(bw, event),
            None => Verdict::Unchanged,
        }
    }

    fn use_up(&mut self, event: &Event) -> Verdict {
        if !event.probing_bw || !event.round_start {
            return Verdict::Unchanged;
        }
        self.rounds += 1;
        if self.rounds < MAX_ROUNDS {
            return Verdict::Unchanged;
        }
        self.reset(event.mark);
        Verdict::Expired
    }

    /// The rate of the interval that ends here, if its loss rate suggests a policer.
    fn interval_rate(&self, mark: Mark) -> Option<Rate> {
        let lost = mark.lost.saturating_sub(self.start.lost);
        let delivered = mark.delivered.saturating_sub(self.start.delivered);
        let span = mark.delivered_at.since(self.start.delivered_at);
        let heavy = lost * Gain::UNIT >= delivered * LOSS_THRESH;
        let measurable = delivered > Bytes::ZERO && span >= Duration::from_millis(1);
        (heavy && measurable).then(|| Rate::from_transfer(delivered, span))
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, bw: Rate, event: &Event) -> Verdict {
        if self.bw == Rate::ZERO || !self.agrees(bw, event.pacing_margin_percent) {
            self.bw = bw;
            self.begin_interval(event.mark);
            return Verdict::Unchanged;
        }
        self.bw = Rate((bw.0 + self.bw.0) / 2);
        self.phase = Phase::Using;
        self.rounds = 0;
        Verdict::Policed
    }

    fn agrees(&self, bw: Rate, margin_percent: u64) -> bool {
        let diff = Rate(bw.0.abs_diff(self.bw.0));
        // The kernel converts the difference like a pacing rate, including the margin.
        let paced = diff * (100 - margin_percent) / 100;
        diff * BW_RATIO <= self.bw || paced <= BW_DIFF
    }

    fn begin_interval(&mut self, mark: Mark) {
        self.start = mark;
        self.rounds = 0;
    }

    fn reset(&mut self, mark: Mark) {
        *self = LongTerm { start: mark, ..LongTerm::default() };
    }
}
