//! HTB as a shaper: one class of the hierarchical token bucket, whose `ceil` is its
//! `rate` (Linux, `net/sched/sch_htb.c`; tc-htb(8)).
//!
//! Tokens arrive at `rate`, up to `burst`, and each packet consumes its size. A packet may
//! leave while the bucket is not in debt (`htb_class_mode`, without hysteresis). If a
//! packet consumes more tokens than there are, the next packet waits until the debt is
//! paid. At most rate t + burst thus leaves in any interval t, plus the rest of the packet
//! that used up the burst.
//!
//! Deviation (Linux sch_htb.c): there is one class without a parent, so no borrowing. In Linux two
//! buckets, of `burst` and of `cburst`, hold such a class. With `ceil` = `rate` they fill at the
//! same rate, so the smaller one decides, which is `burst` here.
//! Deviation (Linux sch_htb.c): tokens are exact. Linux counts them as nanoseconds and rounds down
//! for every packet, which at 10 Gbit/s is up to 0.1 % of the rate.
//!
//! A shaper releases a packet at the start of its time at the rate; a link delivers it at the
//! end. An emulator whose bottleneck is HTB is therefore modelled by `htb` in front of a
//! faster link, and a serial line by a link's `rate`.

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::AnyQueue;
use crate::contract::{
    Backlog, Drops, FlowLabels, Info, Inner, Limit, Packet, Queue, Setup, ShaperInfo, Shaping,
};

/// The rates of a shaper.
// Deviation (Linux sch_htb.c): the rate is at least 32 kbit/s. Below it, a large packet's debt lasts
// the 60 s after which Linux forgives it.
pub const SHAPER_RATE: Kind = Kind::Rate(Rate(32_000), Rate(32_000), Kind::FASTEST);

keys! {
    /// Rate of the shaper; a schedule of rates, as that of a link, if it is the outermost queue
    const RATE = required rate: SHAPER_RATE, "tc-htb(8); mbuffer in sch_htb.c";
}

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "htb",
    title: "HTB: a shaper, which limits its inner queue to a rate and a burst",
    source: "Linux net/sched/sch_htb.c",
    params: keys! {
        RATE;
        /// Greatest burst after a pause
        burst: Kind::Data(Bytes(1600), Bytes(1), Bytes(1_000_000_000)),
            "tc-htb(8); iproute2 q_htb.c: one Ethernet packet and what a timer's tick carries";
    },
    inner: &[Inner { name: "inner", default: "droptail", doc: "queue that waits for tokens" }],
    default_packets: 0,
    shaper: Some(ShaperInfo { shaping: |params| Some(shaping(params)), changes: Some(RATE.name) }),
    ..Info::BASE
};

fn shaping(params: &Params) -> Shaping {
    Shaping { rate: params.rate("rate"), burst: params.data("burst") }
}

/// A queue behind a token bucket.
pub struct Htb<P: Packet> {
    inner: Box<AnyQueue<P>>,
    bucket: Bucket,
}

/// A token is a billionth of a bit: a rate of 1 bit/s carries one in 1 ns.
struct Bucket {
    rate: Rate,
    burst: i64,
    /// Tokens at `since`; below zero while the bucket is in debt.
    tokens: i64,
    since: Instant,
    /// Time at which the debt is paid.
    ready_at: Instant,
}

const TOKENS_PER_BYTE: u64 = 8_000_000_000;

/// Maximum time over which tokens accumulate (`mbuffer` of `htb_change_class`).
const LONGEST: Duration = Duration::from_secs(60);

impl Bucket {
    /// A full bucket.
    fn new(Shaping { rate, burst }: Shaping) -> Bucket {
        let burst = (burst.0 * TOKENS_PER_BYTE) as i64;
        Bucket { rate, burst, tokens: burst, since: Instant::ZERO, ready_at: Instant::ZERO }
    }

    /// `htb_charge_class`: adds the tokens that arrived since the last packet, then charges
    /// this packet.
    fn charge(&mut self, now: Instant, size: Bytes) {
        let span = now.since(self.since).min(LONGEST);
        let gained = u128::from(self.rate.0) * u128::from(span.0);
        let room = self.burst.abs_diff(self.tokens);
        self.tokens += gained.min(u128::from(room)) as i64;
        self.tokens -= (size.0 * TOKENS_PER_BYTE) as i64;
        self.since = self.since.max(now);
        let debt = self.tokens.min(0).unsigned_abs();
        // Round up: one nanosecond earlier the bucket is still in debt.
        self.ready_at = now + Duration(debt.div_ceil(self.rate.0.max(1)));
    }

    /// Changes the rate. Linux counts tokens in nanoseconds, which `htb_change_class` keeps: a
    /// waiting packet leaves at the time that was set before.
    fn set_rate(&mut self, rate: Rate) {
        let tokens = i128::from(self.tokens) * i128::from(rate.0) / i128::from(self.rate.0.max(1));
        self.tokens = tokens.min(i128::from(self.burst)) as i64;
        self.rate = rate;
    }
}

impl<P: Packet + Send> Htb<P> {
    pub(crate) fn new(setup: &Setup) -> Htb<P> {
        // The inner queue holds all packets, so it gets the whole limit.
        let inner = AnyQueue::inside(&setup.of_active_classes(), 0, 0, setup.limit);
        Htb { inner: Box::new(inner), bucket: Bucket::new(shaping(&setup.params)) }
    }
}

impl<P: Packet + Send> Queue<P> for Htb<P> {
    fn enqueue(&mut self, now: Instant, packet: P, drops: Drops<'_, P>) {
        self.inner.enqueue(now, packet, drops);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        if now < self.bucket.ready_at {
            return None;
        }
        let packet = self.inner.dequeue(now, drops)?;
        self.bucket.charge(now, packet.size());
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.inner.set_limit(limit);
    }

    fn set_rate(&mut self, rate: Rate) {
        self.bucket.set_rate(rate);
    }

    fn ready_at(&self) -> Option<Instant> {
        let waits = self.inner.backlog().packets > 0;
        // Both the inner queue and the bucket must release the packet.
        waits.then(|| self.inner.ready_at().unwrap_or_default().max(self.bucket.ready_at))
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
