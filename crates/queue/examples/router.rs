//! CoDel in a router that receives 12 Mbit/s and sends 10 Mbit/s.

use sojourn_queue::{AnyQueue, DropReason, Limit, Packet, Queue, Setup, find};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

/// The fields that a queue needs; a router has them in its packet's descriptor.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    ecn: Ecn,
    enqueued_at: Instant,
}

impl Packet for Descriptor {
    fn size(&self) -> Bytes {
        Bytes(1500)
    }
    fn flow_hash(&self) -> u64 {
        1
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn is_ack(&self) -> bool {
        false
    }
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}

fn main() {
    let codel = find("codel").expect("a shipped queue");
    let setup = Setup {
        limit: Limit { packets: 1000, ..Limit::NONE },
        mtu: Bytes(1500),
        seed: 1,
        params: Params::defaults(codel.params),
        inner: Vec::new(),
        is_asked_when_empty: true,
    };
    let mut queue = AnyQueue::<Descriptor>::build("codel", &setup).expect("a shipped queue");
    let (arrival, service) = (gap(Rate::from_mbit(12)), gap(Rate::from_mbit(10)));
    let (mut next_in, mut next_out) = (Instant::ZERO, Instant::ZERO);
    let (mut sent, mut dropped) = (0_u64, 0_u64);
    let mut longest = Duration::ZERO;
    let mut drop = |_: Descriptor, _: DropReason| dropped += 1;
    while next_in.as_secs_f64() < 10.0 {
        if next_in <= next_out {
            let packet = Descriptor { ecn: Ecn::NotEct, enqueued_at: next_in };
            queue.enqueue(next_in, packet, &mut drop);
            next_in += arrival;
        } else {
            if let Some(packet) = queue.dequeue(next_out, &mut drop) {
                sent += 1;
                longest = longest.max(next_out.since(packet.enqueued_at()));
            }
            next_out += service;
        }
    }
    println!("{sent} sent, {dropped} dropped, longest queueing delay {longest}");
}

/// The time of a full packet at a rate.
fn gap(rate: Rate) -> Duration {
    rate.time_for(Bytes(1500))
}
