//! Routes: the links that a packet takes, in order. One table holds each route once and serves all
//! senders.

use std::collections::BTreeMap;

use crate::link::packet::PLACES;

/// Marks the end of a route: the packet is for its host.
const HOST: u32 = u32::MAX;

/// All routes.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    links: Vec<u32>,
    known: BTreeMap<Vec<usize>, u32>,
}

impl Routes {
    /// Adds the route over these links if it is new. Returns its start in the table.
    pub(crate) fn add(&mut self, links: &[usize]) -> u32 {
        *self.known.entry(links.to_vec()).or_insert_with(|| {
            let start = self.links.len() as u32;
            self.links.extend(links.iter().map(|link| *link as u32));
            self.links.push(HOST);
            assert!(self.links.len() < PLACES as usize, "more routes than memory has room for");
            start
        })
    }

    /// The link at this index of the table; `None` at the end of a route.
    #[inline]
    pub(crate) fn link(&self, place: u32) -> Option<usize> {
        let link = self.links[place as usize];
        (link != HOST).then_some(link as usize)
    }
}
