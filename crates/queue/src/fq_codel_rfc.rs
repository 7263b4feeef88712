//! FQ-CoDel by the text of RFC 8290, with CoDel by that of RFC 8289.
//!
//! [`crate::fq_codel`] is the deployed one and lists the differences. By the RFC, the
//! drops of a full buffer leave CoDel's state as it is, and CoDel exempts the last MTU of the queue
//! that CoDel manages, a flow's.

use sojourn_units::{Bytes, Instant};

use crate::codel::control::{Control, State};
use crate::contract::{Backlog, Drops, Info, Packet};
use crate::fifo::Fifo;
use crate::fq_codel::{FairCodel, FlowControl, PACKETS, PARAMS};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "fq_codel_rfc",
    title: "FQ-CoDel by the text of RFC 8290, without Linux's response to a full buffer",
    source: "RFC 8290",
    params: PARAMS,
    default_packets: PACKETS,
    random: true,
    ..Info::BASE
};

/// FQ-CoDel of RFC 8290.
pub(crate) type FqCodelRfc<P> = FairCodel<P, State>;

impl FlowControl for State {
    const FORGETS_NEW_FLOWS: bool = false;

    #[inline(always)]
    fn dequeue<P: Packet>(
        &mut self,
        now: Instant,
        control: &Control,
        fifo: &mut Fifo<P>,
        _others: Bytes,
        drops: Drops<'_, P>,
    ) -> Option<P> {
        State::dequeue(self, now, control, fifo, drops)
    }

    /// Half of the packets (RFC 8290 section 4.1).
    fn is_too_fat(before: Backlog, dropped: Backlog) -> bool {
        dropped.packets < before.packets / 2
    }

    fn on_overload(&mut self, _dropped: u64) {}
}
