//! A connection: a sender at one host, a receiver at another, and the routes between them.

use std::collections::VecDeque;

use sojourn_cc::{Catalogue, EcnUse, Info, Needs};
use sojourn_params::Params;
use sojourn_scenario::{self as scenario, Profile};
use sojourn_trace::Histogram;
use sojourn_transport::{Ack, Receiver, Seen, Sender};
use sojourn_units::Instant;

use crate::events::{EventQueue, Kind};
use crate::meter::Metering;
use crate::peak::Peak;
use crate::tap::Wiring;

/// One direction of data, with its acknowledgements.
pub(crate) struct Connection<M: Metering> {
    pub(crate) sender: Sender<M::Controller>,
    pub(crate) receiver: Receiver,
    /// Start of the routes of its data and of its acknowledgements.
    pub(crate) out: u32,
    pub(crate) back: u32,
    pub(crate) header: u32,
    pub(crate) ack_size: u32,
    pub(crate) flow: usize,
    /// Whether it carries the flow's requests, against the flow's direction.
    pub(crate) is_request: bool,
    /// The controller's use of ECN; `None` if the transport does not use ECN.
    ecn: EcnUse,
    /// Times of the pending timer and pacer events.
    pub(crate) timer_at: Instant,
    pub(crate) pace_at: Instant,
    /// Time of the handshake's next repetition, for the connection of its client.
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
    /// Packet numbers that have arrived, if a link may copy packets and the receiver discards
    /// copies: QUIC's does (RFC 9000 section 12.3).
    pub(crate) seen: Option<Box<Seen>>,
}

impl<M: Metering> Connection<M> {
    /// The time at which its timer should fire.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.sender.timer().min(self.receiver.timer()).min(self.opening_due)
    }

    /// The description of this connection for a tap.
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring { flow: self.flow, is_request: self.is_request, ecn: self.ecn }
    }

    /// Schedules the timer event. If the timer moves later, the pending event stays and checks
    /// again when it fires. `id`: this connection's index.
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

/// A connection of `flow`, or of its requests the other way; its routes are set later.
pub(crate) fn connect<M: Metering>(
    spec: &scenario::Flow,
    flow: usize,
    chosen: &Chosen<'_>,
    seed: u64,
    is_request: bool,
) -> Connection<M> {
    let transport = &spec.transport;
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
        flow,
        is_request,
        ecn: if transport.ecn { needs.ecn } else { EcnUse::None },
        timer_at: Instant::MAX,
        pace_at: Instant::MAX,
        opening_due: Instant::MAX,
        watch: u64::MAX,
        rtts: Histogram::default(),
        longest_rtt: Peak::default(),
        dropped: 0,
        is_limited: chosen.is_limited,
        seen: None,
    }
}

/// Acknowledgements in a block.
const BLOCK: usize = 32;

/// Acknowledgements in flight. Freed slots are reused with their memory in the order in which they
/// became free. That is about the order of arrival, so that reads stay sequential in memory.
#[derive(Debug, Default)]
pub(crate) struct AckSlab {
    #[expect(clippy::vec_box, reason = "a block for itself, or the list would be one block")]
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

    /// A wire has copied the acknowledgement in this slot. The slot is free after both have
    /// arrived.
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
