//! Prague's moving average of marks, and the epochs that it is made of.

use sojourn_units::{Duration, Instant};

use crate::contract::{Feedback, Setup};

/// A round trip by packet number that lasts some time at least, since the virtual
/// round trip may be longer than the real one (draft section 2.4.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    begun: Instant,
    /// The first packet that left after it began.
    end: u64,
}

impl Period {
    pub(super) fn begin(now: Instant, feedback: &Feedback<'_>) -> Period {
        Period { begun: now, end: feedback.next_number }
    }

    /// Whether a round trip is over, and `least` since it began.
    pub(super) fn is_over(&self, now: Instant, feedback: &Feedback<'_>, least: Duration) -> bool {
        feedback.largest_acked >= self.end && self.age(now) >= least
    }

    fn age(&self, now: Instant) -> Duration {
        now.since(self.begun)
    }
}

/// More of an epoch than this is no small signal any more.
const ONSET: f64 = 0.5;
/// What an epoch counts as that is suspected of having met its own burst.
const SUSPECT: f64 = 0.125;

/// When the window answers marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// At the first mark of a round trip, by alpha as it is then (draft section
    /// 2.4.2).
    Mark,
    /// When an epoch that had marks ends, with alpha set at once to what a sudden
    /// onset says (Huitema 2022, picoquic): the moving average would take many
    /// round trips to follow.
    Epoch,
}

/// What an acknowledgement says of the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It goes on, or it had no marks.
    Nothing,
    /// It is over and had marks, or this is the first mark of the connection.
    Marked,
    /// It is over, and had so many that they are to be answered as a loss.
    Onset,
}

/// `alpha`: the moving average of the fraction of packets that are marked (draft
/// section 2.3.2).
#[derive(Clone, Debug)]
pub(super) struct Alpha {
    g: f64,
    pub(super) response: Response,
    suspect_epoch: bool,
    alpha: f64,
    /// None before the first mark: until then nothing says that the path marks,
    /// and alpha stands (Linux, `saw_ce`).
    epoch: Option<Epoch>,
}

/// What was acknowledged since alpha was last brought up to date, in packets:
/// QUIC's counts are of packets.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    period: Period,
    acked: u64,
    marked: u64,
}

impl Epoch {
    fn count(&mut self, feedback: &Feedback<'_>) {
        self.acked += feedback.acked_packets;
        self.marked += feedback.ce_packets;
    }

    /// QUIC may report a mark later than its packet: never above one.
    fn frac(&self) -> f64 {
        (self.marked as f64 / self.acked.max(1) as f64).min(1.0)
    }

    /// Whether it lasted longer than the smoothed round trip, as it does after a
    /// pause. It does so too, by little, wherever a queue builds up.
    fn is_long(&self, now: Instant, feedback: &Feedback<'_>) -> bool {
        self.period.age(now) > feedback.srtt
    }
}

impl Alpha {
    pub(super) fn new(setup: &Setup) -> Alpha {
        let p = &setup.params;
        Alpha {
            g: p.number("g"),
            response: match p.choice("response") {
                "epoch" => Response::Epoch,
                _ => Response::Mark,
            },
            suspect_epoch: p.switch("suspect_epoch"),
            alpha: p.number("alpha_init"),
            epoch: None,
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.alpha
    }

    /// Takes in what an acknowledgement says. `least`: the shortest epoch; `deaf`:
    /// whether the epoch under way is to count for nothing.
    pub(super) fn observe(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        least: Duration,
        deaf: bool,
    ) -> Verdict {
        let Some(mut epoch) = self.epoch else {
            return self.first(now, feedback);
        };
        epoch.count(feedback);
        if !epoch.period.is_over(now, feedback, least) {
            self.epoch = Some(epoch);
            return Verdict::Nothing;
        }
        self.epoch = Some(self.begin(now, feedback));
        if deaf { Verdict::Nothing } else { self.judge(now, feedback, &epoch) }
    }

    fn first(&mut self, now: Instant, feedback: &Feedback<'_>) -> Verdict {
        if feedback.ce_packets == 0 {
            return Verdict::Nothing;
        }
        let mut epoch = self.begin(now, feedback);
        epoch.count(feedback);
        self.epoch = Some(epoch);
        Verdict::Marked
    }

    fn begin(&self, now: Instant, feedback: &Feedback<'_>) -> Epoch {
        let mut period = Period::begin(now, feedback);
        if self.response == Response::Epoch {
            // picoquic waits for an acknowledgement beyond that packet.
            period.end += 1;
        }
        Epoch { period, acked: 0, marked: 0 }
    }

    /// Brings alpha up to date with an epoch that is over.
    fn judge(&mut self, now: Instant, feedback: &Feedback<'_>, epoch: &Epoch) -> Verdict {
        let (frac, sudden) = (epoch.frac(), epoch.frac() > ONSET);
        let suspect =
            sudden && self.suspect_epoch && self.alpha < SUSPECT && epoch.is_long(now, feedback);
        self.alpha = match self.response {
            Response::Epoch if suspect => SUSPECT,
            // Answered in full, it should not be answered again.
            Response::Epoch if sudden => 0.0,
            Response::Mark if suspect => self.smoothed(SUSPECT),
            Response::Mark | Response::Epoch => self.smoothed(frac),
        };
        if sudden && !suspect && self.response == Response::Epoch {
            return Verdict::Onset;
        }
        if frac > 0.0 { Verdict::Marked } else { Verdict::Nothing }
    }

    /// Section 2.3.2, in floats: no rounding makes small values stick.
    fn smoothed(&self, frac: f64) -> f64 {
        (self.alpha + self.g * (frac - self.alpha)).clamp(0.0, 1.0)
    }
}
