//! A connection: a sender at one host, a receiver at another, and the routes between them.

use std::collections::VecDeque;

use sojourn_cc::{Catalogue, EcnUse, Info, Needs};
use sojourn_scenario::{self as scenario, Profile};
use sojourn_trace::Histogram;
use sojourn_transport::{Ack, Data, Receiver, Seen, Sender};
use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

use super::small_queues::OwnQueue;
use crate::events::{EventQueue, Kind};
use crate::link::packet::Packet;
use crate::meter::Metering;
use crate::peak::Peak;
use crate::tap::Wiring;

/// Half of a connection: data in one direction, with its acknowledgements.
pub(crate) struct Connection<M: Metering> {
    pub(crate) sender: Sender<M::Controller>,
    pub(crate) receiver: Receiver,
    /// Its part of the queue of its first link, if that is limited.
    pub(crate) own_queue: Option<Box<OwnQueue>>,
    /// Index of the first hop of its data, and of its acknowledgements.
    pub(crate) out: u32,
    pub(crate) back: u32,
    pub(crate) header: u32,
    pub(crate) ack_size: u32,
    /// Whether its acknowledgements are encrypted, as QUIC's are.
    pub(crate) is_opaque: bool,
    /// Whether its data packets may be copies, or carry more than [`Packet`] does: requests for
    /// acknowledgements, or timestamps for the receiver; or whether the receiver holds batches.
    pub(crate) has_extras: bool,
    pub(crate) flow: usize,
    /// Whether it carries the flow's requests, against the flow's direction.
    pub(crate) is_request: bool,
    /// The controller's use of ECN; [`EcnUse::None`] if the transport does not use ECN.
    ecn: EcnUse,
    /// Times of the pending timer and pacer events.
    pub(crate) timer_at: Instant,
    pub(crate) pace_at: Instant,
    /// Time at which the client retransmits its packet of the handshake.
    pub(crate) opening_due: Instant,
    /// Number of delivered bytes that the source waits for.
    pub(crate) watch: u64,
    pub(crate) rtts: Histogram,
    /// Greatest round-trip time since the last sample of the series.
    pub(crate) longest_rtt: Peak,
    /// Data packets that a link dropped or lost.
    pub(crate) dropped: u64,
    /// Whether the run's limit of packets in flight applies ([`super::overrun`]).
    pub(crate) is_limited: bool,
    /// Packet numbers that have arrived. `None` unless a link may duplicate packets and the receiver
    /// discards duplicates, as QUIC's does (RFC 9000 section 12.3).
    pub(crate) seen: Option<Box<Seen>>,
}

impl<M: Metering> Connection<M> {
    /// The earliest of its three timers.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.sender.timer().min(self.receiver.timer()).min(self.opening_due)
    }

    /// Gives the receiver the frames and the timestamp echo of a data packet that arrives. Returns
    /// false for a copy of an earlier one.
    #[inline(never)]
    pub(crate) fn pass_extras(&mut self, now: Instant, packet: &Packet, data: &Data) -> bool {
        if let Some(seen) = &mut self.seen
            && !seen.is_new(packet.number.wrapping_add(1))
        {
            return false;
        }
        if let Some(frames) = self.sender.ack_frames(data.number) {
            self.receiver.on_ack_frames(&frames);
        }
        if let Some(echo) = self.sender.echo(data.number) {
            self.receiver.on_echo(now, echo, data.len);
        }
        true
    }

    /// Whether its sender uses ECN.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.ecn != EcnUse::None
    }

    /// The description of this connection for a tap.
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring { flow: self.flow, is_request: self.is_request, ecn: self.ecn }
    }

    /// Schedules the timer event. If the timer moves later, the pending event stays, and its
    /// handler schedules the next one. `id`: this connection's index.
    #[inline]
    pub(crate) fn schedule_timer(&mut self, id: usize, deadline: Instant, events: &mut EventQueue) {
        if deadline < self.timer_at {
            self.timer_at = deadline;
            events.push(deadline, Kind::Timer, id);
        }
    }
}

/// The controller of a connection, by name.
pub(crate) struct Chosen<'a> {
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) info: &'a Info,
    pub(crate) needs: Needs,
    pub(crate) params: &'a Params,
    pub(crate) is_limited: bool,
}

/// Builds the connection for the data of `flow`, or for its requests, which travel in the opposite
/// direction. Its routes are set later.
pub(crate) fn connect<M: Metering>(
    spec: &scenario::Flow,
    flow: usize,
    chosen: &Chosen<'_>,
    seed: u64,
    is_request: bool,
) -> Connection<M> {
    let transport = match &spec.reverse {
        Some(reverse) if is_request => reverse,
        _ => &spec.transport,
    };
    let setup = sojourn_cc::Setup {
        mss: transport.mss,
        initial_window: transport.mss * transport.initial_window,
        paced: transport.pacing,
        round_recovery: transport.profile == Profile::Quic,
        seed,
        params: chosen.params.clone(),
    };
    let controller = chosen.catalogue.build(chosen.info.name, &setup);
    let controller = controller.expect("the scenario was validated");
    let needs = chosen.needs;
    Connection {
        sender: Sender::new(transport.clone(), needs, controller.into()),
        receiver: Receiver::new(transport.clone(), needs.receive_times && transport.receive_times),
        out: 0,
        back: 0,
        header: transport.header.0 as u32,
        ack_size: transport.ack_size.0 as u32,
        is_opaque: transport.profile == Profile::Quic,
        has_extras: transport.ack_frequency > 0
            || transport.immediate_ack
            || transport.gro > Duration::ZERO
            || transport.initial_receive_window.is_some(),
        flow,
        is_request,
        ecn: if transport.has_ecn(&needs) { needs.ecn } else { EcnUse::None },
        timer_at: Instant::MAX,
        pace_at: Instant::MAX,
        opening_due: Instant::MAX,
        watch: u64::MAX,
        rtts: Histogram::default(),
        longest_rtt: Peak::default(),
        dropped: 0,
        is_limited: chosen.is_limited,
        own_queue: None,
        seen: None,
    }
}

/// Acknowledgements in a block.
const BLOCK: usize = 32;

/// Acknowledgements in flight. Slots keep their buffers. The first one that became free is reused
/// first, about in the order of arrival, so reads stay sequential in memory.
#[derive(Debug, Default)]
pub(crate) struct AckSlab {
    #[expect(clippy::vec_box, reason = "a list that grows moves no acknowledgement")]
    blocks: Vec<Box<[Ack; BLOCK]>>,
    free: VecDeque<u32>,
    /// Further copies in flight of each slot; empty until a wire copies one.
    copies: Vec<u32>,
}

impl AckSlab {
    #[inline]
    pub(crate) fn take(&mut self) -> usize {
        match self.free.pop_front() {
            Some(place) => place as usize,
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> usize {
        let first = self.blocks.len() * BLOCK;
        self.blocks.push(Box::default());
        self.free.extend((first + 1..first + BLOCK).map(|place| place as u32));
        first
    }

    #[inline]
    pub(crate) fn get(&mut self, place: usize) -> &mut Ack {
        &mut self.blocks[place / BLOCK][place % BLOCK]
    }

    /// A link has duplicated the acknowledgement in this slot. The slot is free after all copies
    /// have arrived.
    #[cold]
    pub(crate) fn share(&mut self, place: usize) {
        if self.copies.len() <= place {
            self.copies.resize(place + 1, 0);
        }
        self.copies[place] += 1;
    }

    /// Whether another copy is in flight; if so, removes one.
    #[cold]
    fn drop_copy(&mut self, place: usize) -> bool {
        let more = self.copies.get_mut(place).filter(|more| **more > 0);
        more.map(|more| *more -= 1).is_some()
    }

    #[inline]
    pub(crate) fn free(&mut self, place: usize) {
        if !self.copies.is_empty() && self.drop_copy(place) {
            return;
        }
        self.free.push_back(place as u32);
    }
}
