//! Middleboxes on a wire that damage ECN and acknowledgements. They see each packet after the queue
//! and the losses, in order of departure.

mod ecn;
mod thinning;

use sojourn_scenario::Link;
use sojourn_units::Instant;

use crate::link::packet::Packet;
use crate::seed::{Stream, Uniform};
use ecn::EcnDamage;
use thinning::Thinning;

/// The middleboxes of a link.
pub(crate) struct Damage {
    ecn: Option<EcnDamage>,
    thinning: Option<Thinning>,
}

impl Damage {
    /// `None` for a link without middleboxes. `draws`: creates the random stream of a given name of
    /// this link.
    pub(crate) fn new(spec: &Link, draws: impl Fn(Stream) -> Uniform) -> Option<Damage> {
        let ecn = spec.ecn.map(|fault| EcnDamage::new(fault, draws(Stream::Ecn)));
        let thinning = spec.ack_thinning.map(Thinning::new);
        (ecn.is_some() || thinning.is_some()).then_some(Damage { ecn, thinning })
    }

    /// Changes a packet that leaves at `now`. Returns whether it passes; if not, the wire loses it.
    pub(crate) fn pass(&mut self, now: Instant, packet: &mut Packet) -> bool {
        self.ecn.as_mut().is_none_or(|ecn| ecn.pass(packet))
            && self.thinning.as_mut().is_none_or(|thinning| thinning.pass(now, packet))
    }
}
