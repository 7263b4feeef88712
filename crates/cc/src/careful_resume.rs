//! Careful Resume (RFC 9959; its text as draft-ietf-tsvwg-careful-resume-23): a slow start that jumps
//! to half of the window that an earlier connection used on the same path.
//!
//! The phase Reconnaissance lasts until the path has confirmed the saved round-trip time. Normal is
//! the controller without this state. The scenario gives the parameters that the earlier
//! connection saved, and ensures their lifetime and their use by one connection at a time.

use sojourn_params::{Kind, Param, Params};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Feedback, Needs, Pacing, Sent, Setup};
use crate::window::Window;

/// A current round-trip time above this multiple of the saved one shows another path (section 4.2.1).
const MOST_RTTS: u64 = 10;
/// Least window in packets after congestion (RFC 9002 section 7.2; section 3.5).
const LEAST: u64 = 2;

/// The window of the earlier connection.
pub(crate) const SAVED_CWND: Param = Param {
    name: "saved_cwnd",
    kind: Kind::Data(Bytes::ZERO, Bytes::ZERO, Bytes(1_000_000_000_000)),
    doc: "capacity of the path in bytes of a round trip that an earlier connection saved, half of which \
          Careful Resume tries after the first round trip; 0B: no Careful Resume",
    source: "RFC 9959 section 3.1",
};

/// The least round-trip time of the earlier connection.
pub(crate) const SAVED_RTT: Param = Param {
    name: "saved_rtt",
    kind: Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_secs(1000)),
    doc: "least round-trip time that the earlier connection saved; at half of it or less, or above ten \
          times as much, the path is another one, and the window does not jump",
    source: "RFC 9959 sections 3.1 and 4.2.1",
};

/// The fault of parameters with a saved window or a saved round-trip time alone; `None` if both or
/// neither are there.
pub fn lacks_saved(params: &Params) -> Option<(&'static str, &'static str)> {
    if !params.has(SAVED_CWND.name) {
        return None;
    }
    let has_cwnd = params.data(SAVED_CWND.name) > Bytes::ZERO;
    let has_rtt = params.time(SAVED_RTT.name) > Duration::ZERO;
    match (has_cwnd, has_rtt) {
        (true, false) => Some((SAVED_CWND.name, SAVED_RTT.name)),
        (false, true) => Some((SAVED_RTT.name, SAVED_CWND.name)),
        _ => None,
    }
}

/// `needs`, and every packet if there is a saved window: the sender checks the end of the Unvalidated
/// Phase each time a packet is sent (section 3.3; appendix, "Example with No Loss").
pub(crate) fn needs_with(needs: Needs, params: &Params) -> Needs {
    let is_set = params.data(SAVED_CWND.name) > Bytes::ZERO;
    Needs { every_packet: needs.every_packet || is_set, ..needs }
}

/// Careful Resume in a controller. It drops its state when the connection returns to normal congestion
/// control.
#[derive(Clone, Debug)]
pub(crate) struct CarefulResume(Option<Box<Resume>>);

impl CarefulResume {
    /// Inactive without a saved window.
    pub(crate) fn new(setup: &Setup) -> CarefulResume {
        CarefulResume(Resume::new(setup))
    }

    /// Whether it has a part in the connection. If not, the other functions need not be called.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// A timeout ends it (section 3.6).
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// A packet has left, and the controller's own restart after an idle period has taken effect.
    #[cold]
    pub(crate) fn on_sent(&mut self, now: Instant, sent: &Sent, window: &mut Window) {
        if let Some(resume) = &mut self.0 {
            resume.on_sent(now, sent, window);
        }
        self.drop_if_over();
    }

    /// The transport lowers an unused window (RFC 7661), which ends a jump that is not used.
    pub(crate) fn on_validation(&mut self) {
        self.0 = self.0.take().filter(|resume| !matches!(resume.phase, Phase::Unvalidated { .. }));
    }

    /// Processes a feedback before the controller does. `beta`: the factor of PipeSize for
    /// `ssthresh` after congestion.
    #[cold]
    pub(crate) fn on_feedback(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        window: &mut Window,
        beta: f64,
    ) -> Step {
        let Some(resume) = &mut self.0 else { return Step::Normal };
        let step = resume.on_feedback(now, feedback, window, beta);
        self.drop_if_over();
        step
    }

    /// Whether a reduction of the window takes effect at once (section 4.5: Proportional Rate
    /// Reduction is not appropriate after an overshoot).
    pub(crate) fn reduces_at_once(&self) -> bool {
        self.0.as_ref().is_some_and(|resume| matches!(resume.phase, Phase::SafeRetreat { .. }))
    }

    /// The pacing of unvalidated packets.
    #[inline]
    pub(crate) fn pacing(&self) -> Pacing {
        match &self.0 {
            None => Pacing::Unpaced,
            Some(resume) => resume.pacing(),
        }
    }

    /// Name of the phase in recordings; `None` while the controller's own rules apply.
    pub(crate) fn phase(&self) -> Option<&'static str> {
        self.0.as_ref()?.phase()
    }

    fn drop_if_over(&mut self) {
        self.0 = self.0.take().filter(|resume| resume.phase != Phase::Normal);
    }
}

/// The state until the connection returns to normal congestion control.
#[derive(Clone, Debug)]
struct Resume {
    saved_rtt: Duration,
    /// `jump_cwnd`, half of the saved window (section 3.3).
    jump: Bytes,
    initial: Bytes,
    /// Bytes in flight at the jump.
    flight: Bytes,
    /// Those of them that are not acknowledged yet.
    older: Bytes,
    /// Unvalidated and later bytes that were acknowledged.
    validated: Bytes,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Section 3.2.
    Reconnaissance,
    /// Section 3.3. `first`: number of its first packet; `since`, `rtt`: its begin, and the current
    /// round-trip time then.
    Unvalidated { first: u64, since: Instant, rtt: Duration },
    /// Section 3.4. `last`: number of the last unvalidated packet.
    Validating { last: u64 },
    /// Section 3.5.
    SafeRetreat { last: u64 },
    /// Section 3.7.
    Normal,
}

/// The controller's part in a feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It processes the feedback by its own rules.
    Normal,
    /// The same, and looks for the end of slow start anew: the paced jump makes trains of
    /// acknowledgements by itself.
    Anew,
    /// It looks for the end of slow start anew, and ignores the feedback: Careful Resume has set the
    /// window.
    Hold,
}

impl Resume {
    /// The state of a connection with a saved window; `None` without.
    fn new(setup: &Setup) -> Option<Box<Resume>> {
        let saved_rtt = setup.params.time(SAVED_RTT.name);
        let jump = setup.params.data(SAVED_CWND.name) / 2;
        let is_set = jump > Bytes::ZERO && saved_rtt > Duration::ZERO;
        is_set.then(|| {
            Box::new(Resume {
                saved_rtt,
                jump,
                initial: setup.initial_window,
                flight: Bytes::ZERO,
                older: Bytes::ZERO,
                validated: Bytes::ZERO,
                phase: Phase::Reconnaissance,
            })
        })
    }

    /// The pacing of unvalidated packets by the current round-trip time (section 4.3.2).
    #[cold]
    fn pacing(&self) -> Pacing {
        match self.phase {
            Phase::Unvalidated { rtt, .. } => Pacing::Rate(Rate::from_transfer(self.jump, rtt)),
            _ => Pacing::Unpaced,
        }
    }

    fn phase(&self) -> Option<&'static str> {
        match self.phase {
            Phase::Reconnaissance | Phase::Normal => None,
            Phase::Unvalidated { .. } => Some("unvalidated"),
            Phase::Validating { .. } => Some("validating"),
            Phase::SafeRetreat { .. } => Some("safe_retreat"),
        }
    }

    /// May end the Unvalidated Phase: its rules "Completed sending all unvalidated packets" and
    /// "Limiting time in the Unvalidated Phase" (section 3.3).
    fn on_sent(&mut self, now: Instant, sent: &Sent, window: &mut Window) {
        let flight = sent.in_flight_before + sent.bytes;
        match self.phase {
            Phase::Reconnaissance | Phase::Normal => {}
            _ if Window::restarts(sent) => self.phase = Phase::Normal,
            Phase::Unvalidated { since, rtt, .. } => {
                // A window with less than a packet of room is used up.
                if flight + window.mss > window.cwnd || now.since(since) > rtt {
                    self.validate(flight, sent.number, window);
                }
            }
            Phase::Validating { .. } | Phase::SafeRetreat { .. } => {}
        }
    }

    fn on_feedback(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        window: &mut Window,
        beta: f64,
    ) -> Step {
        // Tracking PipeSize: sections 3.3 to 3.5.
        let older = self.older.min(feedback.acked);
        self.older -= older;
        self.validated += feedback.acked - older;
        let is_congested = feedback.loss_event || feedback.ecn_event;
        match self.phase {
            Phase::Reconnaissance => self.reconnoitre(now, feedback, window),
            Phase::Unvalidated { .. } if is_congested || self.is_too_short(feedback) => {
                self.retreat(last_before(feedback), window)
            }
            Phase::Unvalidated { first, since, rtt } => {
                if now.since(since) > rtt || feedback.largest_acked >= first {
                    self.validate(feedback.in_flight, last_before(feedback), window);
                }
                Step::Hold
            }
            Phase::Validating { last } if is_congested => self.retreat(last, window),
            Phase::Validating { last } => {
                if feedback.largest_acked >= last {
                    self.phase = Phase::Normal;
                }
                Step::Anew
            }
            Phase::SafeRetreat { last } => {
                if feedback.largest_acked >= last {
                    // The figure of appendix, "Example with Loss detected in the Validating Phase":
                    // here without the flight at the jump. Section 3.5 allows less than PipeSize.
                    window.ssthresh = self.validated.mul_f64(beta).max(window.mss * LEAST);
                    self.phase = Phase::Normal;
                }
                Step::Hold
            }
            Phase::Normal => Step::Anew,
        }
    }

    /// Section 3.2. The jump is deferred until the window limits the sender, as the section permits.
    fn reconnoitre(&mut self, now: Instant, feedback: &Feedback<'_>, window: &mut Window) -> Step {
        let is_congested = feedback.loss_event || feedback.ecn_event || feedback.in_recovery;
        let rtt = feedback.rtt.unwrap_or(feedback.srtt);
        let is_another_path = self.is_too_short(feedback) || rtt > self.saved_rtt * MOST_RTTS;
        let is_useless = self.jump <= window.cwnd + feedback.acked;
        if is_congested || is_another_path || is_useless || !window.in_slow_start() {
            self.phase = Phase::Normal;
            return Step::Anew;
        }
        if feedback.delivered < self.initial || !feedback.cwnd_limited {
            return Step::Normal;
        }
        (self.flight, self.older) = (feedback.in_flight, feedback.in_flight);
        self.validated = Bytes::ZERO;
        window.cwnd = self.jump;
        self.phase = Phase::Unvalidated { first: feedback.next_number, since: now, rtt };
        Step::Hold
    }

    /// PipeSize: the flight at the jump, and the data that acknowledgements validated since. The data of
    /// that flight do not count twice (definition of "unvalidated packet"; appendix, "Example with Loss
    /// detected in the Validating Phase").
    fn pipe(&self) -> Bytes {
        self.flight + self.validated
    }

    /// Whether the least round-trip time is half of the saved one or less (section 3.2), so that the
    /// jump would exceed the rate that was observed.
    fn is_too_short(&self, feedback: &Feedback<'_>) -> bool {
        feedback.min_rtt <= self.saved_rtt / 2
    }

    /// The end of the Unvalidated Phase: its last rule, "Check flight_size" (section 3.3). `last`:
    /// number of the last unvalidated packet.
    fn validate(&mut self, flight: Bytes, last: u64, window: &mut Window) {
        if flight < self.initial || flight <= self.pipe() {
            window.cwnd = self.pipe().max(self.initial);
            self.phase = Phase::Normal;
        } else {
            window.cwnd = flight;
            self.phase = Phase::Validating { last };
        }
    }

    /// Enters the Safe Retreat Phase (section 3.5). `last`: number of the last unvalidated packet.
    fn retreat(&mut self, last: u64, window: &mut Window) -> Step {
        window.cwnd = (self.pipe() / 2).min(window.cwnd).max(window.mss * LEAST);
        self.phase = Phase::SafeRetreat { last };
        Step::Hold
    }
}

/// Number of the last packet that was sent before a feedback.
fn last_before(feedback: &Feedback<'_>) -> u64 {
    feedback.next_number.saturating_sub(1)
}
