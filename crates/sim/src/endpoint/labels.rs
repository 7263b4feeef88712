//! The codepoint and the hosts of each flow's packets, for queues that read them.

use sojourn_queue::FlowLabels;
use sojourn_scenario::{Flow, Scenario};

use super::{AnyEndpoint, Endpoints};
use crate::link::packet::{Packet, PacketKind};
use crate::meter::Metering;
use crate::tap::Tap;

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// Labels the packets of all flows in the queues of their links.
    pub(crate) fn label_flows(&mut self, scenario: &Scenario) {
        for (index, spec) in scenario.flows.iter().enumerate() {
            self.label_flow(index, spec);
        }
    }

    fn label_flow(&mut self, index: usize, spec: &Flow) {
        let [source, destination] = ends(spec);
        let forward = FlowLabels { dscp: spec.dscp, source, destination };
        let backward = FlowLabels { source: destination, destination: source, ..forward };
        let (path, back) = (&spec.path, &spec.back);
        let network = &mut self.net.links;
        let mut label = |links: &[usize], kind, number: usize, labels| {
            let hash = Packet::hash_of(kind, number as u32);
            links.iter().for_each(|link| network[*link].label_flow(hash, labels));
        };
        match &self.flows[index].endpoint {
            AnyEndpoint::Transport(endpoint) => {
                label(path, PacketKind::Data, endpoint.data, forward);
                label(back, PacketKind::Ack, endpoint.data, backward);
                if let Some(requests) = endpoint.requests {
                    label(back, PacketKind::Data, requests, backward);
                    label(path, PacketKind::Ack, requests, forward);
                }
            }
            AnyEndpoint::Other(_) => {
                label(path, PacketKind::Datagram, index, forward);
                label(back, PacketKind::Reply, index, backward);
            }
            AnyEndpoint::Outside(_) => {
                // The hash values of stacks in virtual time (`outside_packet`).
                label(path, PacketKind::Outside, index << 1, forward);
                label(back, PacketKind::OutsideReply, index << 1 | 1, backward);
            }
        }
    }
}

/// Hash values of the two hosts. The transfers of one flow share its hosts.
fn ends(spec: &Flow) -> [u64; 2] {
    let own = spec.name.split('.').next().unwrap_or_default();
    let [from, to] = spec.hosts();
    let end = |named: Option<&str>, way: &str| match named {
        Some(name) => sojourn_units::hash(name),
        // A flow's name has neither a dot nor a space, and a host's name may have both.
        None => sojourn_units::hash(&format!("{own} . {way}")),
    };
    [end(from, "from"), end(to, "to")]
}
