//! CAKE's table of hosts: the number of bulk flows of each source and of each destination.

use super::tin::{QUEUES, WAYS};

/// The end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source = 0,
    Destination = 1,
}

/// A slot of the table. Sources and destinations share slots but have tags and counts of their own.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tags: [u64; 2],
    bulk_flows: [u32; 2],
}

/// All hosts of a tin.
pub(super) struct Hosts(Vec<Host>);

impl Hosts {
    pub(super) fn new() -> Hosts {
        Hosts(vec![Host::default(); QUEUES])
    }

    /// The slot of a host: the one with its tag, else one without bulk flows, else the first tried
    /// (`cake_hash`).
    pub(super) fn place(&mut self, end: End, tag: u64) -> u16 {
        let first = (tag % QUEUES as u64) as usize;
        let outer = first - first % WAYS;
        let slots = || (0..WAYS).map(|way| outer + (first + way) % WAYS);
        let own = slots().find(|slot| self.0[*slot].tags[end as usize] == tag);
        let free = || slots().find(|slot| self.0[*slot].bulk_flows[end as usize] == 0);
        let slot = own.or_else(free).unwrap_or(first);
        self.0[slot].tags[end as usize] = tag;
        slot as u16
    }

    /// A flow of the host enters the bulk rotation.
    pub(super) fn add_bulk(&mut self, end: End, slot: u16) {
        self.0[usize::from(slot)].bulk_flows[end as usize] += 1;
    }

    /// A flow of the host leaves the bulk rotation.
    pub(super) fn remove_bulk(&mut self, end: End, slot: u16) {
        let count = &mut self.0[usize::from(slot)].bulk_flows[end as usize];
        *count = count.saturating_sub(1);
    }

    pub(super) fn bulk_flows(&self, end: End, slot: u16) -> u32 {
        self.0[usize::from(slot)].bulk_flows[end as usize]
    }
}
