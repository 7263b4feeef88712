//! ECN of the kernel's TCP in a run.

use sojourn_cc::EcnUse;
use sojourn_kernel::{Attached, Ect1};
use sojourn_scenario::{Control, Flow};

use crate::endpoints::controllers::KernelControllers;
use crate::error::Error;
use crate::machine::Namespace;
use crate::order::Order;

/// The use of ECN by a flow.
pub(crate) struct Use<'a> {
    flow: &'a str,
    /// Its controller.
    kind: &'a str,
    ecn: EcnUse,
}

/// The uses of all flows that have ECN.
pub(crate) fn uses<'a>(order: &'a Order<'_>) -> Vec<Use<'a>> {
    let use_of = |(flow, control): (&'a Flow, Option<&'a Control>)| {
        let control = control?;
        let Control::Algorithm { kind, .. } = control else { return None };
        let needs = control.needs(&order.scenario.controllers)?;
        // Sockets of UDP set the field of each packet.
        let has_ecn = flow.stack.is_none() && flow.transport.has_ecn(&needs);
        has_ecn.then_some(Use { flow: &flow.name, kind, ecn: needs.ecn })
    };
    order.controls().filter_map(use_of).collect()
}

/// Enables ECN for the kernel's own controllers: accurate feedback (RFC 9768) for L4S, else that of
/// RFC 3168. The setting is for all flows.
pub(crate) fn enable(
    uses: &[Use<'_>],
    kernel: &KernelControllers,
    sides: [&Namespace; 2],
) -> Result<(), Error> {
    let own = uses.iter().filter(|one| !kernel.is_of_sojourn(one.kind));
    let value = match own.map(|one| one.ecn).collect::<Vec<_>>() {
        uses if uses.is_empty() => "0",
        uses if uses.contains(&EcnUse::L4s) => "3",
        _ => "1",
    };
    sides.iter().try_for_each(|side| side.set_sysctl("net/ipv4/tcp_ecn", value))
}

/// Sets ECT(1) on the packets of Sojourn's controllers of L4S, until the result is dropped.
pub(crate) fn set_ect1(
    uses: &[Use<'_>],
    kernel: &KernelControllers,
    sides: [&Namespace; 2],
    device: &str,
) -> Result<Vec<Attached>, Error> {
    let is_l4s = |one: &&Use<'_>| one.ecn == EcnUse::L4s && kernel.is_of_sojourn(one.kind);
    let Some(first) = uses.iter().find(is_l4s) else { return Ok(Vec::new()) };
    let failed = |error| Error::Load { flow: first.flow.to_owned(), error };
    let program = Ect1::load().map_err(failed)?;
    let attach = |side: &Namespace| side.enter(|| program.attach(device))?.map_err(failed);
    sides.into_iter().map(attach).collect()
}
