//! What a controller gives back where a loss or a timeout turns out to have been spurious.

use crate::contract::Feedback;

/// The state before the last reduction. Kept once for a recovery: the timeouts that follow on
/// one another, or on a fast recovery, are undone together (Linux, `tcp_enter_loss` and
/// `prior_ssthresh`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo<S> {
    before: Option<S>,
    under: Under,
}

/// What the controller recovers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    Nothing,
    Recovery,
    /// A timeout after which nothing was acknowledged.
    Timeout,
}

impl<S> Default for Undo<S> {
    fn default() -> Undo<S> {
        Undo { before: None, under: Under::Nothing }
    }
}

impl<S> Undo<S> {
    /// A loss event is about to reduce `before`.
    pub(crate) fn on_loss(&mut self, before: S) {
        self.before = Some(before);
        self.under = Under::Recovery;
    }

    /// A timeout is about to reduce `before`.
    pub(crate) fn on_timeout(&mut self, before: S) {
        if self.under == Under::Nothing || self.before.is_none() {
            self.before = Some(before);
        }
        self.under = Under::Timeout;
    }

    /// The reduction stands.
    pub(crate) fn forget(&mut self) {
        (self.before, self.under) = (None, Under::Nothing);
    }

    /// Follows the transport's recovery; comes before all else that `feedback` does. The
    /// state to restore, where the last reduction was spurious.
    #[inline]
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback<'_>) -> Option<S> {
        let restored = if feedback.spurious { self.before.take() } else { None };
        if feedback.spurious || feedback.ecn_event {
            // A mark proves congestion: no reduction before it is undone any more (Linux,
            // `tcp_enter_cwr`).
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
