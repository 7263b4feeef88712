//! Counts of the endpoints of datagrams.

use sojourn_transport::Seen;
use sojourn_units::Ecn;

use super::{Datagram, Setup};

/// Datagrams of a flow in its direction.
pub(super) struct Counts {
    /// Headers of each packet, beside its payload.
    header: u32,
    pub(super) sent: u64,
    pub(super) dropped: u64,
    pub(super) received_bytes: u64,
    /// Numbers that have arrived, if a link may copy packets.
    seen: Option<Seen>,
}

impl Counts {
    pub(super) fn new(setup: &Setup<'_>, header: u32) -> Counts {
        let seen = setup.may_copy(&setup.spec.path).then(Seen::new);
        Counts { header, sent: 0, dropped: 0, received_bytes: 0, seen }
    }

    /// The next datagram, with this much payload.
    pub(super) fn send(&mut self, bytes: u64) -> Datagram {
        self.sent += 1;
        let (number, size) = (self.sent as u32, bytes as u32 + self.header);
        Datagram { is_reply: false, number, size, ecn: Ecn::NotEct }
    }

    /// A datagram has arrived; its copies do not count.
    pub(super) fn receive(&mut self, datagram: &Datagram) {
        if self.seen.as_mut().is_none_or(|seen| seen.is_new(datagram.number)) {
            self.received_bytes += u64::from(datagram.size - self.header);
        }
    }
}
