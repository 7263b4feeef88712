//! Slots, in which a medium delivers packets in batches, as netem's `slot` emulates WiFi, cable and
//! LTE (Linux `get_slot_next` and `netem_dequeue`, net/sched/sch_netem.c).

use sojourn_scenario as scenario;
use sojourn_units::{Duration, Instant};

use crate::seed::Uniform;

/// The slots of a wire.
#[derive(Debug)]
pub(crate) struct Slots {
    spec: scenario::Slots,
    draws: Uniform,
    /// Time of the current slot, and how much it still takes.
    at: Instant,
    packets_left: u64,
    bytes_left: u64,
}

impl Slots {
    pub(crate) fn new(spec: scenario::Slots, draws: Uniform) -> Slots {
        let at = Instant::ZERO;
        Slots { spec, draws, at, packets_left: spec.packets, bytes_left: spec.bytes.0 }
    }

    /// Whether only the newest acknowledgement of a connection stays in a slot.
    pub(crate) fn filters_acks(&self) -> bool {
        self.spec.filter_acks
    }

    /// Assigns a slot to a packet of `bytes` that entered the wire at `entered` and is ready at
    /// `ready`. Packets must come in the order of `ready`.
    pub(crate) fn assign(&mut self, entered: Instant, ready: Instant, bytes: u64) -> Instant {
        if self.at < ready {
            // The current slot passes before the packet is ready.
            self.open_after(self.at.max(entered));
            if self.at < ready {
                self.open_after(ready);
            }
        }
        let at = self.at;
        self.packets_left = self.packets_left.saturating_sub(1);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if self.packets_left == 0 || self.bytes_left == 0 {
            self.open_after(at);
        }
        at
    }

    fn open_after(&mut self, time: Instant) {
        let spread = self.spec.most().saturating_sub(self.spec.least);
        self.at = time + self.spec.least + Duration(self.draws.below(spread.0.saturating_add(1)));
        (self.packets_left, self.bytes_left) = (self.spec.packets, self.spec.bytes.0);
    }
}
