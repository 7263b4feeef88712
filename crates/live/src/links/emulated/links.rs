//! The simulator's links as those of a run.

use crate::error::Error;
use crate::links::emulated::bottleneck::Bottleneck;
use crate::links::emulated::device::{self, Devices};
use crate::links::live_links::{Course, LiveLinks, Network, Work};
use crate::machine::{Namespace, Side};
use crate::order::Order;
use crate::order::signals::Signals;
use crate::packets::port::mtu;

/// The simulator's links.
struct Emulated {
    devices: Devices,
    may_spin: bool,
}

/// A device in each namespace, with the addresses of its hosts and a route to the others.
pub(crate) fn set_up(order: &Order<'_>) -> Result<Network, Error> {
    let (scenario, version) = (order.scenario, order.options.version);
    let sides = [Namespace::new()?, Namespace::new()?];
    let devices = Devices::open(sides.each_ref(), mtu(scenario))?;
    for side in [Side::Senders, Side::Receivers] {
        let device = &devices.sides[side as usize];
        for flow in 0..scenario.flows.len() {
            device.add_address(side.of_flow(version, flow))?;
        }
        let (network, prefix) = side.other().network(version);
        device.add_route(network, prefix, None)?;
    }
    let may_spin = Bottleneck::may_spin(scenario);
    Ok(Network { sides, links: Box::new(Emulated { devices, may_spin }) })
}

impl LiveLinks for Emulated {
    fn device(&self) -> &'static str {
        device::NAME
    }

    fn are_in_process(&self) -> bool {
        true
    }

    fn begin<'a>(
        self: Box<Self>,
        _: [&Namespace; 2],
        course: Course,
        signals: &'a Signals<'a>,
    ) -> Result<Work<'a>, Error> {
        let links = Bottleneck::new(course, self.devices, self.may_spin);
        Ok(Box::new(move || links.run(signals.stop)))
    }
}
