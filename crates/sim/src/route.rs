//! Ways through the network: the links that a packet takes, one after the
//! other, each way once in one table, so that it is at hand whoever sends.

use std::collections::BTreeMap;

use crate::packet::PLACES;

/// Stands behind the last link of a route: the packet is for its host.
const HOST: u32 = u32::MAX;

/// All routes.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    links: Vec<u32>,
    known: BTreeMap<Vec<usize>, u32>,
}

impl Routes {
    /// Where the route over these links begins.
    pub(crate) fn add(&mut self, links: &[usize]) -> u32 {
        *self.known.entry(links.to_vec()).or_insert_with(|| {
            let start = self.links.len() as u32;
            self.links.extend(links.iter().map(|link| *link as u32));
            self.links.push(HOST);
            assert!(self.links.len() < PLACES as usize, "more routes than memory has room for");
            start
        })
    }

    /// The link at this place of a route; none behind the last.
    #[inline]
    pub(crate) fn link(&self, place: u32) -> Option<usize> {
        let link = self.links[place as usize];
        (link != HOST).then_some(link as usize)
    }
}
