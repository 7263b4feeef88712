//! Careful Resume (RFC 9959; its text as draft-ietf-tsvwg-careful-resume-23): a slow start that jumps
//! to half of the window that an earlier connection used on the same path.
//!
//! The phase Reconnaissance lasts until the path has confirmed the saved round-trip time. Normal is
//! the controller without this state.
//!
//! Deviation (RFC 9959 sections 3.1 and 3.2): connections do not observe the path. The scenario
//! gives the saved parameters, and ensures their lifetime, the endpoint's identity and the use by
//! one connection at a time.

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::AnyController;
use crate::contract::{Controller, Feedback, Limits, Needs, Pacing, Probe, Sent, Setup};
use crate::window::Window;

/// A current round-trip time above this multiple of the saved one shows another path (section 4.2.1).
const MOST_RTTS: u64 = 10;
/// Least window in packets after congestion (RFC 9002 section 7.2; section 3.5).
const LEAST: u64 = 2;

keys! {
    /// capacity of the path in bytes of a round trip that an earlier connection saved, half of
    /// which Careful Resume tries after the first round trip; 0B: no Careful Resume
    pub(crate) const SAVED_CWND =
        saved_cwnd: Kind::Data(Bytes::ZERO, Bytes::ZERO, Bytes(1_000_000_000_000)),
            "RFC 9959 section 3.1";
    /// least round-trip time that the earlier connection saved; at half of it or less, or above ten
    /// times as much, the path is another one, and the window does not jump
    pub(crate) const SAVED_RTT =
        saved_rtt: Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_secs(1000)),
            "RFC 9959 sections 3.1 and 4.2.1";
}

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

/// A controller with RFC 5681's window, which Careful Resume can start.
pub(crate) trait Resumable: Controller {
    /// Its window.
    fn window(&mut self) -> &mut Window;

    /// The factor of PipeSize for `ssthresh` after congestion.
    fn beta(&self) -> f64;

    /// Looks for the end of slow start anew: the controller has not seen the jump's packets.
    fn start_anew(&mut self) {}
}

/// A controller that Careful Resume starts. It drops its state when the connection returns to normal
/// congestion control. A type of its own, so that other connections do not check for it.
struct Resumed<C> {
    controller: C,
    resume: Option<Box<Resume>>,
}

/// `controller` with Careful Resume if there is a saved window, or else as `plain` makes it.
pub(crate) fn start<C: Resumable + 'static>(
    setup: &Setup,
    controller: C,
    plain: impl FnOnce(C) -> AnyController,
) -> AnyController {
    match Resume::new(setup) {
        None => plain(controller),
        resume => AnyController::User(Box::new(Resumed { controller, resume })),
    }
}

impl<C> Resumed<C> {
    fn drop_if_over(&mut self) {
        self.resume = self.resume.take().filter(|resume| resume.phase != Phase::Normal);
    }
}

impl<C: Resumable> Controller for Resumed<C> {
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.controller.on_handshake(now, rtt);
    }

    fn paces_initial_window(&self) -> bool {
        self.controller.paces_initial_window()
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        // The controller's own restart after an idle period takes effect first.
        self.controller.on_sent(now, sent);
        if let Some(resume) = &mut self.resume {
            resume.on_sent(now, sent, self.controller.window());
        }
        self.drop_if_over();
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if let Some(resume) = &mut self.resume {
            let beta = self.controller.beta();
            let step = resume.on_feedback(now, feedback, self.controller.window(), beta);
            self.drop_if_over();
            if step != Step::Normal {
                self.controller.start_anew();
            }
            if step == Step::Hold {
                return;
            }
        }
        self.controller.on_feedback(now, feedback);
    }

    /// A timeout ends it (section 3.6).
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.resume = None;
        self.controller.on_timeout(now, in_flight);
    }

    /// Deviation (RFC 9959): a window that the transport lowers since it is not used (RFC 7661)
    /// ends a jump; the RFC does not mention it.
    fn on_validation(&mut self, now: Instant, cwnd: Bytes, ends_recovery: bool) {
        self.controller.on_validation(now, cwnd, ends_recovery);
        self.resume =
            self.resume.take().filter(|resume| !matches!(resume.phase, Phase::Unvalidated { .. }));
    }

    /// Section 4.5: Proportional Rate Reduction is not appropriate after an overshoot.
    fn reduces_at_once(&self) -> bool {
        self.resume.as_ref().is_some_and(|resume| matches!(resume.phase, Phase::SafeRetreat { .. }))
    }

    fn limits(&self) -> Limits {
        let limits = self.controller.limits();
        self.resume.as_ref().map_or(limits, |resume| Limits { pacing: resume.pacing(), ..limits })
    }

    fn probe(&self) -> Probe {
        let probe = self.controller.probe();
        let phase = self.resume.as_ref().and_then(|resume| resume.phase());
        Probe { phase: phase.unwrap_or(probe.phase), ..probe }
    }
}

/// The state until the connection returns to normal congestion control.
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
    /// The same, and looks for the end of slow start anew.
    ///
    /// Deviation (RFC 9959): HyStart and SEARCH start again after the jump, whose paced packets
    /// make trains of acknowledgements by themselves; the RFC does not mention them.
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
            // Deviation (RFC 9959): a restart after an idle period of a retransmission timeout ends
            // a jump; the RFC does not mention it.
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
            // Deviation (RFC 9959 section 3.5): a further loss in Safe Retreat has no effect, and a
            // spurious loss does not undo the retreat; the section has neither.
            Phase::SafeRetreat { last } => {
                if feedback.largest_acked >= last {
                    // Deviation (RFC 9959, appendix, "Example with Loss detected in the Validating
                    // Phase"): PipeSize is the unvalidated data alone, without the flight at the
                    // jump. Section 3.5 allows less than PipeSize.
                    window.ssthresh = self.validated.mul_f64(beta).max(window.mss * LEAST);
                    self.phase = Phase::Normal;
                }
                Step::Hold
            }
            Phase::Normal => Step::Anew,
        }
    }

    /// Section 3.2. The jump is deferred until the window limits the sender, as the section
    /// permits.
    ///
    /// Deviation (RFC 9959 section 4.2.1): the end of slow start by HyStart counts as congestion
    /// before the jump; the section leaves this open.
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

    /// PipeSize: the flight at the jump, and the data that acknowledgements validated since.
    ///
    /// Deviation (RFC 9959 section 3.3): the data in flight at the jump do not count twice in
    /// PipeSize, as in the appendix's "Example with Loss detected in the Validating Phase" (63 = 29
    /// + 34 packets). The section can also be read otherwise.
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
