//! Prague's moving average of marks, and the epochs behind it.

use sojourn_units::{Duration, Instant};

use crate::contract::{Feedback, Setup};
use crate::fixed::Arithmetic;

/// A round trip by packet number, with a minimum duration, because the virtual round trip
/// may be longer than the real one (draft section 2.4.4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    begun: Instant,
    /// The first packet that left after its start.
    end: u64,
}

impl Period {
    pub(super) fn begin(now: Instant, feedback: &Feedback<'_>) -> Period {
        Period { begun: now, end: feedback.next_number }
    }

    /// Whether a round trip has ended, and at least `least` has passed since its start.
    pub(super) fn is_over(&self, now: Instant, feedback: &Feedback<'_>, least: Duration) -> bool {
        feedback.largest_acked >= self.end && self.age(now) >= least
    }

    fn age(&self, now: Instant) -> Duration {
        now.since(self.begun)
    }
}

/// Fraction of marks in an epoch above which congestion began suddenly.
const ONSET: f64 = 0.5;
/// Alpha after a suspect epoch: its packets probably met a queue from their own burst.
const SUSPECT: f64 = 0.125;

/// Time of the response to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// At the first mark of a round trip, by the current alpha (draft section 2.4.2).
    Mark,
    /// At the end of an epoch with marks. A sudden onset sets alpha at once (Huitema 2022,
    /// picoquic), because the moving average would take many round trips to follow.
    Epoch,
}

/// Result of an acknowledgement for the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The epoch continues, or it had no marks.
    Nothing,
    /// The epoch ended with marks, or this is the first mark of the connection.
    Marked,
    /// The epoch ended with so many marks that the response is that to a loss.
    Onset,
}

/// `alpha`: the moving average of the fraction of marked packets (draft section 2.3.2).
#[derive(Clone, Debug)]
pub(super) struct Alpha {
    g: f64,
    arithmetic: Arithmetic,
    // `response = "epoch"` and the suspect epoch are from Huitema, "A Low Latency Internet with L4S"
    // (2022). The draft, L4STeam's `tcp_prague.c` and its `udp_prague` have neither.
    pub(super) response: Response,
    suspect_epoch: bool,
    alpha: f64,
    /// `None` before the first mark: until then the path may not mark at all, and alpha
    /// stays constant (Linux, `saw_ce`).
    epoch: Option<Epoch>,
    /// Complete epochs.
    epochs: u64,
}

/// Counts since the last update of alpha.
///
/// Deviation (draft-briscoe-iccrg-prague-congestion-control-04 section 2.3.2): the marked fraction
/// and the window's growth count packets, as QUIC reports marks; the draft counts bytes.
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

    /// Whether it lasted longer than the smoothed round-trip time, as it does after a
    /// pause. It also does so, slightly, whenever a queue builds up.
    fn is_long(&self, now: Instant, feedback: &Feedback<'_>) -> bool {
        self.period.age(now) > feedback.srtt
    }
}

impl Alpha {
    pub(super) fn new(setup: &Setup) -> Alpha {
        let p = &setup.params;
        let arithmetic = Arithmetic::new(p);
        Alpha {
            g: arithmetic.number(p.number("g")),
            arithmetic,
            response: match p.choice("response") {
                "epoch" => Response::Epoch,
                _ => Response::Mark,
            },
            suspect_epoch: p.switch("suspect_epoch"),
            alpha: arithmetic.number(p.number("alpha_init")),
            epoch: None,
            epochs: 0,
        }
    }

    pub(super) fn value(&self) -> f64 {
        self.alpha
    }

    /// Number of complete epochs since the first mark.
    pub(super) fn epochs(&self) -> u64 {
        self.epochs
    }

    /// Processes an acknowledgement. `least` is the minimum duration of an epoch; `deaf`
    /// means that the current epoch does not count.
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
        self.epochs += 1;
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
            // picoquic waits for the acknowledgement of a packet after that one.
            period.end += 1;
        }
        Epoch { period, acked: 0, marked: 0 }
    }

    /// Updates alpha at the end of an epoch.
    fn judge(&mut self, now: Instant, feedback: &Feedback<'_>, epoch: &Epoch) -> Verdict {
        let frac = self.arithmetic.share(epoch.marked, epoch.acked);
        let sudden = frac > ONSET;
        let suspect =
            sudden && self.suspect_epoch && self.alpha < SUSPECT && epoch.is_long(now, feedback);
        self.alpha = match self.response {
            // At once, so that alpha is no longer below it, and the next epoch counts. A moving
            // average towards it would never leave it, however many packets are marked.
            _ if suspect => SUSPECT,
            // The onset gets a full response, so it must not reduce the window again.
            Response::Epoch if sudden => 0.0,
            Response::Mark | Response::Epoch => self.smoothed(frac),
        };
        if sudden && !suspect && self.response == Response::Epoch {
            return Verdict::Onset;
        }
        if frac > 0.0 { Verdict::Marked } else { Verdict::Nothing }
    }

    fn smoothed(&self, frac: f64) -> f64 {
        self.arithmetic.smoothed(self.alpha, frac, self.g)
    }
}
