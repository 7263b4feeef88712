//! What a controller needs of the transport: refused where the flow does not have it.

use sojourn_cc::{EcnUse, Needs};

use crate::check::Checker;
use crate::error::At;
use crate::model::{Control, EcnFeedback, Transport};

/// Refuses a controller that the transport of `flow` cannot serve. `at`: where it is
/// named.
pub(crate) fn check(
    checker: &mut Checker,
    control: &Control,
    transport: &Transport,
    at: &At,
    flow: &str,
) {
    let Some(needs) = control.needs(&checker.controllers) else { return };
    let name = control.name();
    let missing = [counts(&needs, transport), times(&needs, transport)];
    for (need, key, value) in missing.into_iter().flatten() {
        let message = format!("`{name}` needs {need}, which flow `{flow}` does not have");
        checker.report(at, message, format!("set flow.{flow}.transport.{key} to {value}"));
    }
}

/// A need, and the key of the transport with the value that meets it.
type Missing = (&'static str, &'static str, &'static str);

/// A controller that lives on exact counts of marks needs them; one of classic ECN
/// does without (RFC 3168 falls back to drops).
fn counts(needs: &Needs, transport: &Transport) -> Option<Missing> {
    let counts = match needs.ecn {
        EcnUse::Counts => "exact counts of ECN marks",
        EcnUse::L4s => "exact counts of L4S marks",
        EcnUse::None | EcnUse::Classic => return None,
    };
    match (transport.ecn, transport.ecn_feedback) {
        (false, _) => Some((counts, "ecn", "true")),
        (true, EcnFeedback::Classic) => Some((counts, "ecn_feedback", "\"accurate\"")),
        (true, EcnFeedback::Accurate) => None,
    }
}

fn times(needs: &Needs, transport: &Transport) -> Option<Missing> {
    let missing = needs.receive_times && !transport.receive_times;
    missing.then_some(("receive times of single packets", "receive_times", "true"))
}
