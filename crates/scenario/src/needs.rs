//! A controller's requirements for the transport.

use sojourn_cc::{EcnUse, Needs};

use crate::check::Checker;
use crate::error::At;
use crate::media;
use crate::model::{Control, EcnFeedback, Source, StackChoice, Transport};

/// A flow for which a controller is checked.
pub(crate) struct Governed<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a Source,
    pub(crate) transport: &'a Transport,
    pub(crate) stack: Option<&'a StackChoice>,
}

/// Refuses a controller whose requirements the transport of `flow` does not meet. `at`: the
/// controller's position.
pub(crate) fn check(checker: &mut Checker, control: &Control, flow: &Governed<'_>, at: &At) {
    let Some(needs) = control.needs(&checker.known.controllers) else { return };
    if !media::check_control(checker, control, &needs, flow, at) {
        return;
    }
    let name = control.name();
    let Governed { name: flow, transport, stack, .. } = *flow;
    if let Some(stack) = stack {
        let info = checker.known.stacks.find(&stack.name);
        if let Some(need) = info.and_then(|info| info.lacks.of(&needs)) {
            let stack = &stack.name;
            let message = format!("`{name}` needs {need}, which stack `{stack}` does not give");
            let help = format!("choose another controller, or another stack of flow `{flow}`");
            checker.report(at, message, help);
        }
        return;
    }
    let missing = [counts(&needs, transport), times(&needs, transport)];
    for (need, key, value) in missing.into_iter().flatten() {
        let message = format!("`{name}` needs {need}, which flow `{flow}` does not have");
        checker.report(at, message, format!("set flow.{flow}.host.{key} to {value}"));
    }
}

/// A requirement, and the key of the host with the value that meets it.
type Missing = (&'static str, &'static str, &'static str);

/// A controller that relies on exact counts of marks requires them. One of classic ECN works
/// without (RFC 3168 falls back to drops).
fn counts(needs: &Needs, transport: &Transport) -> Option<Missing> {
    let counts = match needs.ecn {
        EcnUse::Counts => "exact counts of ECN marks",
        EcnUse::L4s => "exact counts of L4S marks",
        EcnUse::None | EcnUse::Classic => return None,
    };
    match (transport.has_ecn(needs), transport.ecn_feedback) {
        (false, _) => Some((counts, "ecn", "true")),
        (true, EcnFeedback::Classic) => Some((counts, "ecn_feedback", "\"accurate\"")),
        (true, EcnFeedback::Accurate) => None,
    }
}

fn times(needs: &Needs, transport: &Transport) -> Option<Missing> {
    let missing = needs.receive_times && !transport.receive_times;
    missing.then_some(("receive times of single packets", "receive_times", "true"))
}
