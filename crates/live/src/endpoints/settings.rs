//! The settings of the hosts that all flows share.

use std::io;

use sojourn_kernel::Attached;
use sojourn_udp::io::Departures;

use crate::endpoints::controllers::KernelControllers;
use crate::endpoints::ecn;
use crate::error::Error;
use crate::machine::{Namespace, Netlink};
use crate::order::{Order, Stack};

/// The settings of the hosts, until this is dropped.
pub(crate) struct Settings {
    _ect1: Vec<Attached>,
}

impl Settings {
    /// Sets up the hosts of both sides: ECN of the kernel's TCP, or the departures of flows over UDP.
    /// `device`: the name of the hosts' device in both namespaces.
    pub(crate) fn make(
        order: &Order<'_>,
        kernel: &KernelControllers,
        sides: [&Namespace; 2],
        device: &'static str,
    ) -> Result<Settings, Error> {
        let mut _ect1 = Vec::new();
        match order.options.stack {
            Stack::Kernel => {
                let uses = ecn::uses(order);
                ecn::enable(&uses, kernel, sides)?;
                _ect1 = ecn::set_ect1(&uses, kernel, sides, device)?;
            }
            Stack::Udp if order.options.departures != Departures::Timer => {
                hold_departures(sides, device)?
            }
            Stack::Udp => {}
        }
        Ok(Settings { _ect1 })
    }
}

/// Makes the hosts' devices hold packets until their departure times.
fn hold_departures(sides: [&Namespace; 2], device: &'static str) -> Result<(), Error> {
    let hold = || {
        let netlink = Netlink::open()?;
        netlink.set_fq(netlink.index(device)?).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoFq,
            _ => Error::Network { step: format!("add `fq` to the device {device}"), error },
        })
    };
    sides.iter().try_for_each(|side| side.enter(hold)?)
}
