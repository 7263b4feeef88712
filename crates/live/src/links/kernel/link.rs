//! One link of a scenario as qdiscs of the router.

use sojourn_scenario::{Buffer, Capacity, Link, Loss, Schedule};
use sojourn_sim::{LinkChange, LinkValue};
use sojourn_units::{Bytes, Duration, Rate};

use super::places::{Direction, Place};
use super::queue::ETHERNET;
use super::step::{Step, refused};
use super::wire::Wire;
use super::{network, queue, wire};
use crate::error::Error;
use crate::machine::IpVersion;

/// Handles of the qdiscs: the shaper, its queue, and the wire.
const SHAPER: &str = "1:";
const CLASS: &str = "1:1";
/// Major number of the queue's handle.
pub(crate) const QUEUE: u16 = 0x10;
/// Major number of the wire's handle.
pub(crate) const WIRE: u16 = 0x20;

/// Time whose bytes HTB may send at once after a pause. Its timer may be late by this much without
/// a loss of rate. Queueing delays change by at most this time.
const BURST: Duration = Duration::from_millis(1);
/// The least burst, one packet: the default of tc-htb(8).
const LEAST_BURST: Bytes = Bytes(1600);

/// A link made from the kernel's queues.
#[derive(Clone, Debug)]
pub(crate) struct KernelLink {
    /// Its place in the scenario.
    pub(crate) place: usize,
    pub(crate) direction: Direction,
    /// Its rate at the start, and the queue; `None` without a rate.
    shaped: Option<Rate>,
    /// The arguments of the queue without its limit, for each rate.
    spec: Link,
    /// Largest packet.
    mtu: u32,
    /// Largest packet as the link counts it.
    largest: Bytes,
    /// Whether it delays, loses, copies or reorders packets.
    has_wire: bool,
}

impl KernelLink {
    /// A link, or the reason why the kernel's queues cannot form it.
    pub(crate) fn new(
        spec: &Link,
        place: usize,
        direction: Direction,
        mtu: u32,
    ) -> Result<KernelLink, Error> {
        let of = || format!("link `{}`", spec.name);
        // Each key is translated or refused, here, in `queue` or in `wire`: a new one does not compile.
        let Link {
            name: _,
            shaper: _,
            rate,
            delay: _,
            queue: _,
            buffer: _,
            ring,
            loss: _,
            jitter: _,
            reorder: _,
            duplicate: _,
            ecn: _,
            ack_thinning: _,
            slots: _,
            overhead,
        } = spec;
        if ring.is_some() {
            return Err(refused(of(), "a device's `ring`", "leave it out"));
        }
        let shaped = match rate {
            Capacity::Unlimited => None,
            Capacity::Rate(rates) => Some(rates.start),
            Capacity::Trace(_) => {
                return Err(refused(of(), "a trace of capacity", "use a `rate` with steps"));
            }
        };
        let link = KernelLink {
            place,
            direction,
            shaped,
            spec: spec.clone(),
            mtu,
            largest: Bytes(u64::from(mtu)) + *overhead,
            has_wire: wire::is_needed(spec),
        };
        if let Some(rate) = shaped {
            link.shape("add", rate)?;
            link.queue(rate)?;
        }
        wire::refuse_damage(spec)?;
        wire::arguments(spec, &Wire::at_start(spec))?;
        Ok(link)
    }

    /// Whether it has a shaper with a queue.
    pub(crate) fn is_shaped(&self) -> bool {
        self.shaped.is_some()
    }

    /// Whether it delays, loses, copies or reorders packets.
    pub(crate) fn has_wire(&self) -> bool {
        self.has_wire
    }

    /// Name of the queue in the kernel, with its arguments.
    pub(crate) fn queue_at_start(&self) -> Option<String> {
        self.queue(self.shaped?).ok()
    }

    /// The commands that make it.
    pub(crate) fn setup(&self, version: IpVersion) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(rate) = self.shaped {
            steps.extend(self.redirection(version));
            steps.extend(self.shape("add", rate));
            steps.extend(self.queue(rate).map(|queue| self.set_queue("add", &queue)));
        }
        if self.has_wire {
            steps.extend(self.set_wire("add", &self.wire_at_start()));
        }
        steps
    }

    /// Its wire before the first change.
    pub(crate) fn wire_at_start(&self) -> Wire {
        Wire::at_start(&self.spec)
    }

    /// The commands for a change. `wire` is the wire before it, and after it.
    pub(crate) fn change(&self, change: &LinkChange, wire: &mut Wire) -> Result<Vec<Step>, Error> {
        match change.to {
            LinkValue::Delay(delay) => wire.delay = delay,
            LinkValue::Loss(p) => wire.loss = Loss::Random(Schedule::constant(p)),
            LinkValue::Rate(rate) => {
                let mut steps = vec![self.shape("change", rate)?];
                if matches!(self.spec.buffer, Buffer::Time(_)) {
                    steps.push(self.set_queue("change", &self.queue(rate)?));
                }
                return Ok(steps);
            }
        }
        Ok(vec![self.set_wire("change", wire)?])
    }

    /// The commands that pass copies of the ingress' packets through the shaper, and drop the
    /// packets. A packet belongs to the socket that sent it, also in another namespace, until the
    /// router's IP layer has it. TCP allows a socket two packets below itself, or a millisecond at its
    /// pacing rate (`tcp_small_queue_check`), so that the queue would hardly fill. A copy belongs to
    /// no socket.
    /// Only packets to the other hosts pass: those to multicast groups (RFC 3810) are of no flow.
    /// `stab` makes HTB count them as the scenario's link does.
    fn redirection(&self, version: IpVersion) -> Vec<Step> {
        let (ingress, shaper) = (self.direction.ingress(), self.direction.shaper());
        let (network, length) = self.direction.to().network(version);
        let (protocol, field) =
            if version == IpVersion::V4 { ("ip", "ip") } else { ("ipv6", "ip6") };
        let overhead = self.spec.overhead.0 as i64 - ETHERNET;
        let mut steps = network::shaper(self.direction, self.mtu).to_vec();
        steps.extend([
            Step::tc(Place::Router, format!("qdisc add dev {ingress} ingress")),
            Step::tc(
                Place::Router,
                format!(
                    "filter add dev {ingress} ingress protocol {protocol} u32 match {field} dst \
                     {network}/{length} action mirred egress mirror dev {shaper} drop"
                ),
            ),
            Step::tc(
                Place::Router,
                format!(
                    "qdisc add dev {shaper} root handle {SHAPER} stab overhead {overhead} htb \
                     default 1"
                ),
            ),
        ]);
        steps
    }

    /// The command that sets the shaper's rate.
    fn shape(&self, verb: &str, rate: Rate) -> Result<Step, Error> {
        if rate < Rate(8) {
            return Err(refused(
                format!("link `{}`", self.spec.name),
                format!("a rate of {rate}"),
                "use at least 8 bit/s",
            ));
        }
        let burst = rate.bytes_in(BURST).max(LEAST_BURST).max(self.largest).0;
        let shaper = self.direction.shaper();
        // The quantum has no effect on a single class, but its default brings a warning of the
        // kernel.
        Ok(Step::tc(
            Place::Router,
            format!(
                "class {verb} dev {shaper} parent {SHAPER} classid {CLASS} htb rate {}bit \
                 burst {burst} cburst {burst} quantum 1514",
                rate.0
            ),
        ))
    }

    fn queue(&self, rate: Rate) -> Result<String, Error> {
        queue::arguments(&self.spec, rate, self.largest)
    }

    fn set_queue(&self, verb: &str, queue: &str) -> Step {
        let shaper = self.direction.shaper();
        Step::tc(
            Place::Router,
            format!("qdisc {verb} dev {shaper} parent {CLASS} handle {QUEUE:x}: {queue}"),
        )
    }

    fn set_wire(&self, verb: &str, wire: &Wire) -> Result<Step, Error> {
        let wire = wire::arguments(&self.spec, wire)?;
        let egress = self.direction.egress();
        Ok(Step::tc(
            Place::Router,
            format!("qdisc {verb} dev {egress} root handle {WIRE:x}: {wire}"),
        ))
    }
}
