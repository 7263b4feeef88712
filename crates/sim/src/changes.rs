//! Measurements around a change of capacity.

use crate::bounds::Bounds;
use crate::engine::Simulation;
use crate::measure::{Load, SpikeTracker};
use crate::meter::Metering;

impl<M: Metering> Simulation<M> {
    pub(crate) fn on_loop_before(&mut self, change: usize, link: usize) {
        self.loads[change].loop_before = Some(self.load(link));
        if self.loads[change].at.is_none() {
            self.loads[change].sent_before = self.links[link].sent_by.clone();
        }
    }

    pub(crate) fn on_capacity_change(&mut self, index: usize) {
        let change = self.timeline.capacity_changes[index];
        let load = self.load(change.link);
        let before = self.loads[index].before.clone().unwrap_or_else(|| load.clone());
        let sent_before = self.loads[index].sent_before.take();
        let loop_before = self.loads[index].loop_before.as_ref().unwrap_or(&load);
        let carried = load.rate_since(loop_before);
        let bounds = Bounds::new(self, &change, sent_before.as_deref(), carried);
        self.loads[index].bounds = Some(bounds);
        self.capacities[change.link].pass(&change);
        // The peak comes no earlier than one loop delay after the change.
        let written = change.at.saturating_sub(self.timeline.shift);
        let delay = self.loops.greatest(change.link, written);
        let window = self.scenario.record.spike_window.max(delay);
        let tracker = SpikeTracker::new(index, &change, window, (&before, &load));
        self.loads[index].at = Some(load);
        self.links[change.link].trackers.push(tracker);
    }

    pub(crate) fn load(&mut self, link: usize) -> Load {
        let now = self.clock.now;
        let link = &mut self.links[link];
        Load {
            at: now,
            arrived_bits: link.arrived_bits(),
            dropped: link.counts.dropped,
            sent_bits: link.sent_bits(now),
            could_send_bits: link.could_send_bits(now).unwrap_or(0.0),
            waited: (link.delays.sum() as u64, link.delays.count()),
        }
    }
}
