//! Damage to the ECN field, and to SYNs that ask for ECN.

use sojourn_queue::Packet as _;
use sojourn_scenario::{Chance, EcnFault, EcnFaultKind};
use sojourn_units::Ecn;

use crate::link::packet::Packet;
use crate::seed::{RandomEvent, Uniform};

/// A device that damages ECN.
pub(super) struct EcnDamage {
    kind: EcnFaultKind,
    event: RandomEvent,
}

impl EcnDamage {
    pub(super) fn new(fault: EcnFault, draws: Uniform) -> EcnDamage {
        let chance = Chance { probability: fault.probability, correlation: 0.0 };
        EcnDamage { kind: fault.kind, event: RandomEvent::new(chance, draws) }
    }

    /// Damages a packet; returns whether it passes.
    pub(super) fn pass(&mut self, packet: &mut Packet) -> bool {
        let ecn = packet.ecn();
        let is_concerned = match self.kind {
            EcnFaultKind::Bleach | EcnFaultKind::Drop => ecn != Ecn::NotEct,
            EcnFaultKind::Rewrite => ecn == Ecn::Ect1,
            EcnFaultKind::Mark => ecn != Ecn::Ce,
            EcnFaultKind::DropSyn => packet.is_ecn_setup(),
        };
        if !is_concerned || !self.event.next() {
            return true;
        }
        match self.kind {
            EcnFaultKind::Bleach => packet.set_ecn(Ecn::NotEct),
            EcnFaultKind::Rewrite => packet.set_ecn(Ecn::Ect0),
            EcnFaultKind::Mark => packet.set_ecn(Ecn::Ce),
            EcnFaultKind::Drop | EcnFaultKind::DropSyn => return false,
        }
        true
    }
}
