//! The queue `cake` of `sojourn-queue`, built from a scenario, and the commands for the kernel's.

use sojourn_live::{IpVersion, commands};
use sojourn_queue::{AnyQueue, Discipline, DropReason, Limit, Packet, Queue, Setup};
use sojourn_units::{Bytes, Instant};

use super::packet::Segment;
use crate::common::scenario;

/// A queue in both forms.
pub(crate) struct Both {
    /// The commands of `tc` for the device `path0`.
    pub(crate) commands: Vec<String>,
    pub(crate) model: Model,
    /// The shaper's rate in bit/s.
    pub(crate) rate: u64,
}

impl Both {
    /// The queue of a link with these keys of `cake`, such as `, diffserv = "diffserv4"`.
    pub(crate) fn of(keys: &str) -> Both {
        let scenario = scenario(&format!(
            "duration = \"1s\"\n[link.there]\nrate = \"1Gbit\"\nqueue = {{ kind = \"cake\"{keys} }}\n\
             [flow.bulk]\npath = [\"there\"]\ncontrol = \"cubic\"\n"
        ));
        let all = commands(&scenario, 1, IpVersion::V4).expect("the kernel has CAKE");
        let of_device = |line: &str| {
            let line = line.strip_prefix("tc -n sojourn-router ")?;
            let is_filter = line.starts_with("filter");
            (!is_filter && line.contains("dev path0")).then(|| line.to_owned())
        };
        let commands = all.lines().filter_map(of_device).collect();
        let discipline = &scenario.links[0].queue;
        let rate = discipline.params.rate("bandwidth").0;
        Both { commands, model: Model::new(discipline), rate }
    }
}

/// Our queue in virtual time.
pub(crate) struct Model {
    queue: AnyQueue<Segment>,
    now: Instant,
    pub(crate) dropped: Vec<u16>,
}

impl Model {
    fn new(discipline: &Discipline) -> Model {
        let Discipline { kind, params, inner } = discipline.clone();
        let (limit, mtu) = (Limit::NONE, Bytes(1514));
        let setup = Setup { limit, mtu, seed: 1, params, inner, is_asked_when_empty: true };
        let queue = AnyQueue::build(&kind, &setup).expect("it is a queue");
        Model { queue, now: Instant::ZERO, dropped: Vec::new() }
    }

    pub(crate) fn send(&mut self, segments: &[Segment]) {
        for segment in segments {
            self.queue.label_flow(segment.flow_hash(), segment.labels());
            let dropped = &mut self.dropped;
            let drops = &mut |packet: Segment, _: DropReason| dropped.push(packet.id);
            self.queue.enqueue(self.now, *segment, drops);
        }
    }

    /// The identifiers of up to `most` packets, in the order of departure.
    pub(crate) fn departures(&mut self, most: usize) -> Vec<u16> {
        let one = || {
            self.now = self.now.max(self.queue.ready_at().unwrap_or(self.now));
            let dropped = &mut self.dropped;
            let drops = &mut |packet: Segment, _: DropReason| dropped.push(packet.id);
            Some(self.queue.dequeue(self.now, drops)?.id)
        };
        std::iter::from_fn(one).take(most).collect()
    }

    /// Bytes on the wire of a packet that has left an idle shaper of this rate, in bit/s.
    pub(crate) fn charged(&mut self, segment: Segment, rate: u64) -> u64 {
        let plain = Segment { id: segment.id + 1, ..segment };
        self.send(&[segment]);
        let left = self.departures(1);
        assert_eq!(left, [segment.id]);
        let before = self.now;
        self.send(&[plain]);
        let due = self.queue.ready_at().expect("it shapes");
        due.since(before).0 * rate / 8_000_000_000
    }
}
