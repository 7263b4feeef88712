//! The flows and hosts among which CAKE shares the rate (tc-cake(8), "FLOW ISOLATION
//! PARAMETERS").

use super::hosts::End;
use crate::contract::FlowLabels;
use crate::random::mix;

/// The modes, the default first.
pub(super) const NAMES: &[&str] = &[
    "triple-isolate",
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual-srchost",
    "dual-dsthost",
];

/// A mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Isolation {
    /// Whether the source, the destination, and the flow distinguish queues.
    by_ends: [bool; 2],
    by_flow: bool,
}

/// The hash values of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) flow: u64,
    pub(super) ends: [u64; 2],
}

impl Isolation {
    /// The mode of this name, one of [`NAMES`].
    pub(super) fn named(name: &str) -> Isolation {
        let by =
            |source, destination, by_flow| Isolation { by_ends: [source, destination], by_flow };
        match name {
            "flowblind" => by(false, false, false),
            "srchost" => by(true, false, false),
            "dsthost" => by(false, true, false),
            "hosts" => by(true, true, false),
            "flows" => by(false, false, true),
            "dual-srchost" => by(true, false, true),
            "dual-dsthost" => by(false, true, true),
            _ => by(true, true, true),
        }
    }

    /// The ends whose hosts share the rate before their flows do.
    pub(super) fn fair_ends(self) -> impl Iterator<Item = End> {
        let is_fair = move |end: &End| self.by_flow && self.by_ends[*end as usize];
        [End::Source, End::Destination].into_iter().filter(is_fair)
    }

    /// The hash values of a packet, salted, so that collisions depend on the seed alone.
    pub(super) fn keys(self, flow_hash: u64, labels: FlowLabels, salt: u64) -> Keys {
        let ends = [mix(labels.source ^ salt), mix(labels.destination ^ salt)];
        let by_host = |end: End| if self.by_ends[end as usize] { ends[end as usize] } else { 0 };
        let flow = match self.by_flow {
            true => mix(flow_hash ^ salt),
            // Rotated, since the hosts of a flow from a host to itself would cancel out.
            false => by_host(End::Source) ^ by_host(End::Destination).rotate_left(32),
        };
        Keys { flow, ends }
    }
}
