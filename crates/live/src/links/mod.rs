//! The links of a run: Sojourn's, which emulate those of the scenario, or the kernel's queues.

pub(crate) mod emulated;
pub(crate) mod kernel;
pub(crate) mod live_links;
pub(crate) mod record;

use crate::error::Error;
use crate::links::live_links::Network;
use crate::order::{Links, Order};

/// Makes the namespaces of the hosts and the links between them, of the kind that is ordered.
pub(crate) fn set_up(order: &Order<'_>) -> Result<Network, Error> {
    match order.options.links {
        Links::Sojourn => emulated::links::set_up(order),
        Links::Kernel => kernel::links::set_up(order),
    }
}
