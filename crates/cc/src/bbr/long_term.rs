//! Long-term sampling of bandwidth: finds token-bucket policers.
//!
//! A policer lets bursts pass at line rate while it has tokens and then drops
//! all above its rate. The windowed maximum would keep believing the bursts, so
//! where two consecutive intervals, each ended by loss, agree on the rate, that
//! rate is used instead (`bbr_lt_bw_sampling`).

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::gain::Gain;

/// `bbr_lt_intvl_min_rtts`: the least length of an interval, in rounds.
const INTERVAL_MIN_ROUNDS: u64 = 4;
/// `bbr_lt_loss_thresh`: lost to delivered, in 256ths, that suggests a policer.
const LOSS_THRESH: u64 = 50;
/// `bbr_lt_bw_ratio`: two intervals agree within an eighth,
const BW_RATIO: u64 = 8;
/// `bbr_lt_bw_diff`: or within 4 kbit/s.
const BW_DIFF: Rate = Rate(4_000);
/// `bbr_lt_bw_max_rtts`: rounds after which to probe again.
const MAX_ROUNDS: u64 = 48;

/// State of the sampling.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    phase: Phase,
    /// The rate of the interval before, or the one in use; zero where none is.
    bw: Rate,
    /// Rounds in this interval, or since the rate came into use.
    rounds: u64,
    /// Where the interval began.
    start: Mark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No loss yet, so a policer would still have tokens.
    #[default]
    Waiting,
    Sampling,
    /// Policed: the long-term rate replaces the maximum.
    Using,
}

/// Where the connection stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// When data was last delivered.
    pub(super) delivered_at: Instant,
    pub(super) delivered: Bytes,
    pub(super) lost: Bytes,
}

/// What one acknowledgement or timeout adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) mark: Mark,
    /// Whether it told of losses.
    pub(super) losses: bool,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    pub(super) probing_bw: bool,
    pub(super) pacing_margin_percent: u64,
}

/// What the sampling found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// A policer: stop probing for more.
    Policed,
    /// The rate has been in use for long enough: probe again.
    Expired,
}

impl LongTerm {
    /// The long-term rate while it is in use.
    pub(super) fn bw(&self) -> Option<Rate> {
        (self.phase == Phase::Using).then_some(self.bw)
    }

    /// Whether it is in use.
    pub(super) fn in_use(&self) -> bool {
        self.phase == Phase::Using
    }

    /// The losses were spurious (`bbr_reset_lt_bw_sampling`).
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
        // Too little to send, or no loss for long: no sign of a policer.
        self.rounds += u64::from(event.round_start);
        if event.app_limited || self.rounds > 4 * INTERVAL_MIN_ROUNDS {
            self.reset(event.mark);
            return Verdict::Unchanged;
        }
        // Only a loss ends an interval: then the tokens are known to be gone.
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

    /// The rate of the interval that ends here, where enough was lost in it.
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
        // The kernel converts the difference as it does a pacing rate, margin
        // included.
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
