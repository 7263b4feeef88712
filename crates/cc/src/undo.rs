//! Undo of a window reduction after a spurious loss or timeout.
//!
//! Deviation (the sources of Copa, LEDBAT, LEDBAT++, LoLa, Rapid and Swift): a spurious loss
//! restores the window or the rate. The sources do not say so.

use crate::contract::Feedback;

/// The state before the last reduction, saved once per recovery. Successive timeouts, or a
/// timeout after a fast recovery, are undone together (Linux, `tcp_enter_loss` and
/// `prior_ssthresh`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo<S> {
    saved: Option<S>,
    cause: Cause,
}

/// The cause of the current recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    None,
    Recovery,
    /// A timeout after which no packet has been acknowledged.
    Timeout,
}

impl<S> Default for Undo<S> {
    fn default() -> Undo<S> {
        Undo { saved: None, cause: Cause::None }
    }
}

impl<S> Undo<S> {
    /// Saves `state`, which a loss event is about to reduce.
    pub(crate) fn on_loss(&mut self, state: S) {
        self.saved = Some(state);
        self.cause = Cause::Recovery;
    }

    /// Saves `state`, which a timeout is about to reduce.
    pub(crate) fn on_timeout(&mut self, state: S) {
        if self.cause == Cause::None || self.saved.is_none() {
            self.saved = Some(state);
        }
        self.cause = Cause::Timeout;
    }

    /// Keeps the reduction.
    pub(crate) fn forget(&mut self) {
        (self.saved, self.cause) = (None, Cause::None);
    }

    /// Follows the transport's recovery; call it before processing the rest of `feedback`.
    /// Returns the state to restore if the last reduction was spurious.
    #[inline]
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback<'_>) -> Option<S> {
        let restored = if feedback.spurious { self.saved.take() } else { None };
        if feedback.spurious || feedback.ecn_event {
            // A mark proves congestion, so an earlier reduction must not be undone any more
            // (Linux, `tcp_enter_cwr`).
            self.forget();
            return restored;
        }
        let over = match self.cause {
            Cause::None => false,
            Cause::Recovery => !feedback.in_recovery,
            Cause::Timeout => feedback.acked_packets > 0,
        };
        if over {
            self.cause = Cause::None;
        }
        None
    }
}
