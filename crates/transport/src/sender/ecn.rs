//! The sender's use of ECN on a path that may damage it.

use sojourn_cc::{Controller, Needs};
use sojourn_units::Ecn;

use super::Sender;
use crate::config::Config;
use crate::ecn_path::{EcnFailure, EcnPath, Feedback};
use crate::wire::{Data, EcnCounts};

/// The validation of a sender's path; `None` if it is off, or if the sender has no counts to
/// validate.
pub(super) fn path(config: &Config, needs: &Needs, codepoint: Ecn) -> Option<Box<EcnPath>> {
    let has_counts = codepoint != Ecn::NotEct && !config.uses_ece_flag(needs);
    (config.ecn_validation && has_counts).then(|| Box::new(EcnPath::new(config.profile, codepoint)))
}

impl<C: Controller> Sender<C> {
    /// Sends all further packets without ECN, since the server did not agree to it (RFC 3168
    /// section 6.1.1.1, RFC 9768 section 3.1.4.1).
    pub fn give_up_ecn(&mut self) {
        if self.codepoint != Ecn::NotEct {
            self.ecn_failure = Some(EcnFailure::Setup);
        }
        (self.codepoint, self.ecn_path) = (Ecn::NotEct, None);
    }

    /// The damage that ended the use of ECN, if any.
    pub fn ecn_failure(&self) -> Option<EcnFailure> {
        self.ecn_failure
    }

    /// Validates the counts of an acknowledgement. Returns their increase for the controller, without
    /// CE if the sender ignores it.
    pub(super) fn validate_ecn(&mut self, increase: EcnCounts) -> EcnCounts {
        let Some(path) = &mut self.ecn_path else { return increase };
        path.on_feedback(&Feedback {
            counts: self.counts,
            largest_acked: self.largest_acked,
            next_number: self.next_number,
        });
        (self.codepoint, self.ecn_failure) = (path.codepoint(), path.failure());
        if path.ignores_marks() { EcnCounts { ce: 0, ..increase } } else { increase }
    }

    /// Whether the path has marked packets that were not congested.
    pub(super) fn ignores_marks(&self) -> bool {
        self.ecn_path.as_ref().is_some_and(|path| path.ignores_marks())
    }

    pub(super) fn note_ecn_sent(&mut self, data: &Data) {
        let Some(path) = &mut self.ecn_path else { return };
        path.on_sent(data.number, data.ecn);
        self.codepoint = path.codepoint();
    }

    pub(super) fn note_ecn_timeout(&mut self) {
        let Some(path) = &mut self.ecn_path else { return };
        path.on_timeout(self.next_number);
        self.codepoint = path.codepoint();
    }
}
