//! The kernel's queues as the links of a run.

use super::command::{Places, Programs};
use super::places::HOST;
use super::plan::Plan;
use super::router::Router;
use crate::error::Error;
use crate::links::live_links::{Course, LiveLinks, Network, Work};
use crate::machine::Namespace;
use crate::order::Order;
use crate::order::signals::Signals;
use crate::packets::port::mtu;

/// The kernel's queues, set up.
struct KernelLinks {
    plan: Plan,
    programs: Programs,
    router: Namespace,
    mtu: u32,
}

/// Makes the links between the namespaces of senders and receivers, after all refusals.
pub(crate) fn set_up(order: &Order<'_>) -> Result<Network, Error> {
    let plan = Plan::new(order.scenario, order.seed, order.options.version)?;
    let programs = Programs::find()?;
    programs.require(&plan.needs)?;
    let sides = [Namespace::new()?, Namespace::new()?];
    let router = Namespace::new()?;
    let places = Places::of_run(sides.each_ref(), &router);
    plan.setup.iter().try_for_each(|step| programs.execute(step, &places))?;
    let links = KernelLinks { plan, programs, router, mtu: mtu(order.scenario) };
    Ok(Network { sides, links: Box::new(links) })
}

impl LiveLinks for KernelLinks {
    fn device(&self) -> &'static str {
        HOST
    }

    fn are_in_process(&self) -> bool {
        false
    }

    fn begin<'a>(
        self: Box<Self>,
        sides: [&Namespace; 2],
        course: Course,
        signals: &'a Signals<'a>,
    ) -> Result<Work<'a>, Error> {
        let KernelLinks { plan, programs, router, mtu } = *self;
        let router = Router::new(plan, &programs, router, sides, mtu, course)?;
        Ok(Box::new(move || router.run(signals)))
    }
}
