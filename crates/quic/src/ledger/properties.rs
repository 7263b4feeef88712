//! The ledger against a model of a stack with three packet number spaces.

use std::sync::Arc;

use proptest::prelude::*;
use sojourn_cc::{Catalogue, Setup};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

use super::Ledger;
use crate::tally::Tally;

const MSS: u64 = 1200;

/// One step of a stack.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Sends packets in a space, as far as the window allows.
    Send {
        space: usize,
        bytes: u64,
    },
    /// An ACK frame for every `every`th packet in flight of a space. Those before the newest are
    /// lost if `loses`.
    Ack {
        space: usize,
        every: usize,
        loses: bool,
    },
    /// Discards the keys of a space, without a report (RFC 9001 section 4.9). The space sends no
    /// more.
    Discard {
        space: usize,
    },
    Wait {
        us: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Each space has sizes of its own, by which the ledger finds the space of a coalesced packet.
        8 => (0..3_usize, 0..MSS / 3)
            .prop_map(|(space, third)| Step::Send { space, bytes: 3 * third + 1 + space as u64 }),
        4 => (0..3_usize, 1..4_usize, any::<bool>())
            .prop_map(|(space, every, loses)| Step::Ack { space, every, loses }),
        1 => (0..2_usize).prop_map(|space| Step::Discard { space }),
        4 => (1..50_000_u64).prop_map(|us| Step::Wait { us }),
    ]
}

/// A packet of the model: number, departure, size.
type Packet = (u64, Instant, u64);

struct Model {
    ledger: Ledger,
    now: Instant,
    in_flight: [Vec<Packet>; 3],
    next: [u64; 3],
    is_discarded: [bool; 3],
    /// Whether packets of discarded keys may be in the ledger.
    has_unreported: bool,
}

impl Model {
    fn new(controller: &str) -> Model {
        let catalogue = Catalogue::shipped();
        let params = Params::defaults(catalogue.find(controller).expect("shipped").params);
        let needs = catalogue.needs(controller, &params).expect("shipped");
        let (mss, initial_window) = (Bytes(MSS), Bytes(10 * MSS));
        let (paced, round_recovery, seed) = (true, true, 1);
        let setup = Setup { mss, initial_window, paced, round_recovery, seed, params };
        let controller = catalogue.build(controller, &setup).expect("shipped");
        Model {
            ledger: Ledger::new(controller, needs, mss, Arc::<Tally>::default(), true),
            now: Instant(1),
            in_flight: Default::default(),
            next: [0; 3],
            is_discarded: [false; 3],
            has_unreported: false,
        }
    }

    fn bytes(&self) -> u64 {
        self.in_flight.iter().flatten().map(|(_, _, bytes)| bytes).sum()
    }

    fn send(&mut self, space: usize, bytes: u64) {
        if self.is_discarded[space] {
            return;
        }
        self.ledger.gate().open(self.now);
        if self.bytes() + MSS > self.ledger.window() {
            return self.ledger.on_blocked();
        }
        let pn = self.next[space];
        self.next[space] += 1;
        self.ledger.on_sent(self.now, pn, bytes);
        self.in_flight[space].push((pn, self.now, bytes));
    }

    fn ack(&mut self, space: usize, every: usize, loses: bool) {
        let (mut acked, mut kept) = (Vec::new(), Vec::new());
        for (place, packet) in self.in_flight[space].drain(..).enumerate() {
            if place % every == 0 { &mut acked } else { &mut kept }.push(packet);
        }
        self.in_flight[space] = kept;
        let Some((newest, ..)) = acked.last().copied() else { return };
        for (pn, sent_at, bytes) in acked {
            self.ledger.on_acked(self.now, pn, sent_at, bytes, Duration::from_millis(20));
        }
        self.ledger.on_acks_end(self.now, self.bytes(), false);
        self.check();
        if loses {
            let (lost, kept) = self.in_flight[space].iter().partition(|(pn, ..)| *pn < newest);
            self.in_flight[space] = kept;
            let lost: Vec<Packet> = lost;
            lost.iter().for_each(|(pn, _, bytes)| self.ledger.on_lost(self.now, *pn, *bytes));
            self.check();
        }
    }

    fn discard(&mut self, space: usize) {
        self.has_unreported |= !self.in_flight[space].is_empty();
        self.is_discarded[space] = true;
        self.in_flight[space].clear();
    }

    /// After a report, the ledger has the bytes of the stack. Only after a discard may the packets
    /// that it remembers be fewer, as it forgets the oldest ones.
    fn check(&mut self) {
        let (known, bytes) = (self.ledger.flight.bytes, self.bytes());
        assert_eq!(self.ledger.in_flight().0, bytes);
        if self.has_unreported {
            assert!(known <= bytes, "{known} bytes remembered of {bytes}");
        } else {
            assert_eq!((known, self.ledger.forgotten), (bytes, 0));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send { space, bytes } => self.send(space, bytes),
            Step::Ack { space, every, loses } => self.ack(space, every, loses),
            Step::Discard { space } => self.discard(space),
            Step::Wait { us } => self.now += Duration::from_micros(us),
        }
    }
}

proptest! {
    /// After every ACK frame, the packets that the ledger remembers have the bytes that the stack
    /// has in flight.
    #[test]
    fn bytes_in_flight_are_those_of_the_stack(
        steps in proptest::collection::vec(step(), 1..200),
        name in prop_oneof![Just("prague"), Just("cubic"), Just("bbr3"), Just("lola")],
    ) {
        let mut model = Model::new(name);
        for step in steps {
            model.step(step);
        }
        // The acknowledgement of all packets leaves no memory of any.
        for space in 0..3 {
            model.in_flight[space].clear();
        }
        model.ledger.on_acks_end(model.now, 0, false);
        prop_assert_eq!(model.ledger.flight.len(), 0);
        prop_assert!(model.ledger.window() > 0);
    }
}
