//! Measurements around a change of capacity.

use sojourn_trace::Histogram;
use sojourn_units::{Bytes, Duration};

use super::Record;
use super::bounds::Bounds;
use super::load::Load;
use crate::endpoint::Endpoints;
use crate::link::network::Network;
use crate::meter::Metering;
use crate::peak::SpikeTracker;
use crate::run::Run;
use crate::tap::Tap;
use crate::timeline::Change;

/// A queueing delay within this share of the usual ones is usual.
const USUAL_SHARE: f64 = 0.95;

/// A wait that is longer by this, or by two packets with Ethernet framing, is no longer.
const SAME: Duration = Duration::from_millis(1);
const TWO_PACKETS: Bytes = Bytes(2 * 1538);

impl Record {
    /// Records the load of a link that `what` asks for.
    pub(crate) fn on_change<M: Metering, T: Tap>(
        &mut self,
        run: &Run,
        endpoints: &mut Endpoints<M, T>,
        link: usize,
        what: Change,
    ) {
        if what == Change::Measure {
            // The delays of the warm-up are forgotten.
            self.loads.iter_mut().filter_map(|load| load.usual.as_mut()).for_each(|usual| {
                *usual = Histogram::new();
            });
            return endpoints.begin_measuring();
        }
        let net = &mut endpoints.net;
        match what {
            Change::Rate(_) | Change::Delay(_) | Change::Loss(_) | Change::Measure => {}
            Change::Before(change) => self.loads[change].before = Some(Load::of(net, link)),
            Change::Usual(change) => {
                self.loads[change].usual = Some(net.links[link].delays.clone());
            }
            Change::LoopBefore(change) => self.on_loop_before(net, change, link),
            Change::LoopAfter(change) => self.loads[change].loop_after = Some(Load::of(net, link)),
            Change::Capacity(change) => self.on_capacity_change(run, endpoints, change),
        }
    }

    fn on_loop_before<M: Metering>(&mut self, net: &mut Network<M>, change: usize, link: usize) {
        self.loads[change].loop_before = Some(Load::of(net, link));
        if self.loads[change].at.is_none() {
            self.loads[change].sent_before = net.links[link].sent_by.clone();
        }
    }

    fn on_capacity_change<M: Metering, T: Tap>(
        &mut self,
        run: &Run,
        endpoints: &mut Endpoints<M, T>,
        index: usize,
    ) {
        let change = run.timeline.capacity_changes[index];
        let load = Load::of(&mut endpoints.net, change.link);
        let before = self.loads[index].before.clone().unwrap_or_else(|| load.clone());
        let sent_before = self.loads[index].sent_before.take();
        let loop_before = self.loads[index].loop_before.as_ref().unwrap_or(&load);
        let carried = load.rate_since(loop_before);
        let sent = endpoints.net.links[change.link].sent_by.as_deref().unwrap_or_default();
        let shares = super::bounds::shares(run, endpoints, &change, sent, sent_before.as_deref());
        let history = &self.capacities[change.link];
        let bounds = Bounds::new(&run.scenario, history, &change, &shares, carried);
        self.loads[index].bounds = Some(bounds);
        self.capacities[change.link].pass(&change);
        // The peak comes no earlier than one loop delay after the change.
        let delay = run.greatest_loop(change.link, change.at);
        let window = run.scenario.record.spike_window.max(delay);
        let so_far = (load.wait_since(&before), load.dropped);
        let usual = self.loads[index].usual.take().unwrap_or_default();
        let usual = endpoints.net.links[change.link].delays.since(&usual).quantile(USUAL_SHARE);
        let usual = bounds.bound.unwrap_or_default().max(Duration(usual.unwrap_or(0)));
        // The bound is fluid, and a wait is a packet's.
        let level = usual + SAME.max(change.to.time_for(TWO_PACKETS));
        let tracker = SpikeTracker::new(index, &change, window, so_far, level);
        self.loads[index].at = Some(load);
        endpoints.net.links[change.link].trackers.push(tracker);
    }
}
