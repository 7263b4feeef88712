//! A policer: a token bucket without a queue (Linux, `net/sched/act_police.c`; tc-police(8)).
//!
//! Tokens arrive at `rate`, up to `burst`. A packet for which there are enough tokens takes its
//! size of them and enters the inner queue, which waits for the link; any other packet is
//! dropped and takes no token (`tcf_police_act` with the action `drop`). Packets do not wait for
//! tokens, so the policer adds no delay: senders see losses in an empty queue.
//!
//! Deviation (Linux act_police.c): absent are `peakrate`, `mtu`, and actions other than `drop`.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::AnyQueue;
use crate::contract::{
    Backlog, DropReason, Drops, FlowLabels, Info, Inner, Limit, Packet, Queue, Setup,
};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "policer",
    title: "Policer: drops arrivals above a rate and a burst, in front of its inner queue",
    source: "tc-police(8); Linux net/sched/act_police.c",
    params: keys! {
        /// Rate of the tokens
        required rate: Kind::Rate(Rate(8), Rate(8), Kind::FASTEST), "tc-police(8)";
        /// Greatest number of tokens: bytes that pass at once after a pause; a larger packet never
        /// passes
        // tc-police(8) has no default either.
        required burst: Kind::Data(Bytes(1), Bytes(1), Bytes(1_000_000_000)), "tc-police(8)";
    },
    inner: &[Inner { name: "inner", default: "droptail", doc: "queue of the packets that pass" }],
    default_packets: 0,
    ..Info::BASE
};

/// A token bucket in front of a queue.
pub struct Policer<P: Packet> {
    inner: Box<AnyQueue<P>>,
    rate: Rate,
    /// In units of a billionth of a bit: a rate of 1 bit/s gives one in 1 ns.
    burst: u128,
    tokens: u128,
    /// Time of the last packet that passed.
    since: Instant,
}

const TOKENS_PER_BYTE: u128 = 8_000_000_000;

impl<P: Packet + Send> Policer<P> {
    pub(crate) fn new(setup: &Setup) -> Policer<P> {
        let burst = u128::from(setup.params.data("burst").0) * TOKENS_PER_BYTE;
        Policer {
            inner: Box::new(AnyQueue::inside(setup, 0, 0, setup.limit)),
            rate: setup.params.rate("rate"),
            burst,
            tokens: burst,
            since: Instant::ZERO,
        }
    }

    /// Whether a packet of `size` conforms; if so, it takes its tokens.
    fn passes(&mut self, now: Instant, size: Bytes) -> bool {
        let Duration(span) = now.since(self.since);
        let gained = u128::from(self.rate.0) * u128::from(span);
        let tokens = (self.tokens + gained).min(self.burst);
        let Some(left) = tokens.checked_sub(u128::from(size.0) * TOKENS_PER_BYTE) else {
            return false;
        };
        (self.tokens, self.since) = (left, now);
        true
    }
}

impl<P: Packet + Send> Queue<P> for Policer<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        if self.passes(now, packet.size()) {
            self.inner.enqueue(now, packet, drops);
        } else {
            drops(packet, DropReason::Aqm);
        }
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        self.inner.dequeue(now, drops)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.inner.set_limit(limit);
    }

    fn ready_at(&self) -> Option<Instant> {
        self.inner.ready_at()
    }

    fn make_room(&mut self, now: Instant, drops: Drops<'_, P>) {
        self.inner.make_room(now, drops);
    }

    fn head_size(&self) -> Option<Bytes> {
        self.inner.head_size()
    }

    fn label_flow(&mut self, flow_hash: u64, labels: FlowLabels) {
        self.inner.label_flow(flow_hash, labels);
    }
}
