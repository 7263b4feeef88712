//! Undo of a window reduction after a spurious loss or timeout.

use crate::contract::Feedback;

/// The state before the last reduction, saved once per recovery. Successive timeouts, or a
/// timeout after a fast recovery, are undone together (Linux, `tcp_enter_loss` and
/// `prior_ssthresh`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo<S> {
    before: Option<S>,
    under: Under,
}

/// The cause of the current recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    Nothing,
    Recovery,
    /// A timeout after which no packet has been acknowledged.
    Timeout,
}

impl<S> Default for Undo<S> {
    fn default() -> Undo<S> {
        Undo { before: None, under: Under::Nothing }
    }
}

impl<S> Undo<S> {
    /// Saves `before`, which a loss event is about to reduce.
    pub(crate) fn on_loss(&mut self, before: S) {
        self.before = Some(before);
        self.under = Under::Recovery;
    }

    /// Saves `before`, which a timeout is about to reduce.
    pub(crate) fn on_timeout(&mut self, before: S) {
        if self.under == Under::Nothing || self.before.is_none() {
            self.before = Some(before);
        }
        self.under = Under::Timeout;
    }

    /// Keeps the reduction.
    pub(crate) fn forget(&mut self) {
        (self.before, self.under) = (None, Under::Nothing);
    }

    /// Follows the transport's recovery; call it before processing the rest of `feedback`.
    /// Returns the state to restore if the last reduction was spurious.
    #[inline]
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback<'_>) -> Option<S> {
        let restored = if feedback.spurious { self.before.take() } else { None };
        if feedback.spurious || feedback.ecn_event {
            // A mark proves congestion, so an earlier reduction must not be undone any more
            // (Linux, `tcp_enter_cwr`).
            self.forget();
            return restored;
        }
        let over = match self.under {
            Under::Nothing => false,
            Under::Recovery => !feedback.in_recovery,
            Under::Timeout => feedback.acked_packets > 0,
        };
        if over {
            self.under = Under::Nothing;
        }
        None
    }
}
