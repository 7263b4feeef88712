//! All flows of a capture, indexed by their two ends.

use hashbrown::HashTable;

use super::Options;
use super::flow::Flow;
use crate::capture::{Endpoint, Segment};

/// The flows in order of their start. The table maps two ends to the latest flow between
/// them; its own order is never used.
pub(super) struct Flows {
    flows: Vec<Flow>,
    latest: HashTable<u32>,
}

impl Flows {
    pub(super) fn new() -> Flows {
        Flows { flows: Vec::new(), latest: HashTable::new() }
    }

    pub(super) fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// The index and the flow of `segment`, and the index of the sending end; `None` beyond the
    /// maximum number of flows.
    #[inline]
    pub(super) fn of(
        &mut self,
        segment: &Segment,
        now: i64,
        options: &Options,
    ) -> Option<(usize, &mut Flow, usize)> {
        let ends = [segment.from, segment.to];
        let flows = &self.flows;
        let found = self.latest.find(hash(ends), |at| joins(&flows[*at as usize], ends)).copied();
        let at = match found {
            Some(at) if !flows[at as usize].ends_before(segment) => at as usize,
            _ => self.begin(segment, now, options)?,
        };
        let flow = &mut self.flows[at];
        let sender = usize::from(flow.ends[0] != segment.from);
        Some((at, flow, sender))
    }

    #[cold]
    fn begin(&mut self, segment: &Segment, now: i64, options: &Options) -> Option<usize> {
        if self.flows.len() >= options.max_flows.min(u32::MAX as usize) {
            return None;
        }
        let ends = [segment.from, segment.to];
        let flows = &mut self.flows;
        let at = flows.len();
        flows.push(Flow::new(segment, now, options));
        match self.latest.find_mut(hash(ends), |at| joins(&flows[*at as usize], ends)) {
            Some(latest) => *latest = at as u32,
            None => {
                let hasher = |at: &u32| hash(flows[*at as usize].ends);
                self.latest.insert_unique(hash(ends), at as u32, hasher);
            }
        }
        Some(at)
    }
}

fn joins(flow: &Flow, ends: [Endpoint; 2]) -> bool {
    flow.ends == ends || flow.ends == [ends[1], ends[0]]
}

/// A hash that is equal for both directions. The order of flows does not depend on it, so
/// speed is the only requirement. Addresses crafted to collide slow down only the analysis
/// of that capture.
#[inline]
fn hash(ends: [Endpoint; 2]) -> u64 {
    let [a, b] = ends.map(|end| {
        let address = end.address as u64 ^ ((end.address >> 64) as u64).rotate_left(32);
        mix(address ^ u64::from(end.port) << 40)
    });
    mix(a.wrapping_add(b))
}

/// Both halves of the product with 2^64 divided by the golden ratio.
#[inline]
fn mix(value: u64) -> u64 {
    let product = u128::from(value) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}
