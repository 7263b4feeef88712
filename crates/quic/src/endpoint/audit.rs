//! The ledger against the stack itself, over a wire that loses and delays packets at random.

use std::collections::BTreeMap;
use std::sync::Mutex;

use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_cc::Catalogue;
use sojourn_transport::{Direction, Stack, StackSetup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Ecn, Instant};

use super::{PARAMS, other};
use crate::ledger::Ledger;
use crate::lock::lock;

/// Packets of the handshake, of which the stack reports those alone that were acknowledged before
/// it discarded their keys.
const HANDSHAKE_PACKETS: u64 = 12;
const BYTES: u64 = 300_000;

/// A connection that shows the ledgers of its ends.
pub(super) trait Audited: Stack {
    /// The ledger of the end that sends in this direction.
    fn ledger(&self, direction: Direction) -> Option<&Mutex<Ledger>>;
}

/// Packets on the wire by time of arrival.
type Wire = BTreeMap<(Instant, u32), (Direction, Ecn)>;

struct Path {
    random: Xoshiro256PlusPlus,
    /// Lost packets, and reordered ones, in 1000.
    lost: u32,
    wire: Wire,
    /// The first packets pass, so that each connection opens soon.
    sent: u32,
    /// Of the times and bytes of all packets sent.
    hash: u64,
    /// Clears the ECN field.
    clears_ecn: bool,
    /// The codepoint of the last packet of data.
    last: Ecn,
}

impl Path {
    fn new(lost: u32, seed: u64) -> Path {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (wire, last) = (Wire::new(), Ecn::NotEct);
        Path { random, lost, wire, sent: 0, hash: 0, clears_ecn: false, last }
    }

    fn carry(&mut self, now: Instant, stack: &mut dyn Audited) {
        let mut out = Vec::new();
        stack.take_datagrams(&mut out);
        for datagram in out {
            self.sent += 1;
            for byte in now.0.to_be_bytes().iter().chain(stack.bytes(datagram.handle)) {
                self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            if datagram.direction == Direction::Forward {
                self.last = datagram.ecn;
            }
            if self.sent > 20 && self.random.next_u32() % 1000 < self.lost {
                stack.on_gone(datagram.handle);
                continue;
            }
            let jitter = if self.random.next_u32() % 1000 < self.lost { 5_000 } else { 0 };
            let at = now + Duration::from_micros(10_000 + jitter);
            let ecn =
                if self.random.next_u32().is_multiple_of(20) { Ecn::Ce } else { datagram.ecn };
            let ecn = if self.clears_ecn { Ecn::NotEct } else { ecn };
            self.wire.insert((at, datagram.handle), (datagram.direction, ecn));
        }
    }
}

/// The state of an end in earlier audits.
#[derive(Default)]
struct Earlier {
    /// The largest window.
    largest: u64,
    /// Packets forgotten before the handshake was certainly confirmed.
    forgotten: Option<u64>,
}

/// Compares both ends' ledgers with the stack. `is_confirmed`: the stack has discarded the keys of
/// the handshake.
fn audit(stack: &dyn Audited, audited: &mut [Earlier; 2], is_confirmed: bool) {
    for direction in [Direction::Forward, Direction::Backward] {
        let Some(ledger) = stack.ledger(direction) else { continue };
        let ledger = lock(ledger);
        let (own, packets, forgotten) = ledger.audit();
        assert_eq!(own, ledger.in_flight().0, "bytes in flight of the {direction:?} sender");
        assert!(forgotten <= HANDSHAKE_PACKETS, "{forgotten} packets forgotten");
        let before = &mut audited[direction.index()];
        before.largest = ledger.limits().cwnd.0.max(before.largest);
        assert!(packets as u64 <= 20 + 3 * before.largest / ledger.mss().0, "{packets} packets");
        if is_confirmed {
            let known = *before.forgotten.get_or_insert(forgotten);
            assert_eq!(forgotten, known, "packets forgotten after the handshake");
        }
    }
}

/// Downloads over a path with faults, and returns it.
fn download(stack: &str, control: &str, crypto: &str, mut path: Path) -> Path {
    let controllers = Catalogue::shipped();
    let control_params = Params::defaults(controllers.find(control).expect("shipped").params);
    let mut params = Params::defaults(PARAMS);
    params.set(PARAMS, "crypto", Value::Choice(crypto.to_owned())).expect("a choice");
    let setup = StackSetup {
        params: &params,
        controllers: &controllers,
        control: (control, &control_params),
        opening: Direction::Backward,
        seed: 1,
    };
    let mut stack: Box<dyn Audited> = match stack {
        #[cfg(feature = "quinn")]
        "quinn" => Box::new(super::quinn::stack::Connection::new(&setup)),
        #[cfg(feature = "noq")]
        "noq" => Box::new(super::noq::stack::Connection::new(&setup)),
        other => panic!("no stack {other}"),
    };
    let (mut now, mut audited) = (Instant(1), [Earlier::default(), Earlier::default()]);
    stack.write(now, Direction::Backward, 300);
    stack.write(now, Direction::Forward, BYTES);
    path.carry(now, &mut *stack);
    while stack.delivered(Direction::Forward) < BYTES {
        let arrival = path.wire.first_key_value().map_or(Instant::MAX, |((at, _), _)| *at);
        now = arrival.min(stack.next_at());
        assert!(now < Instant::ZERO + Duration::from_secs(100), "the download stalls");
        match path.wire.pop_first() {
            Some(((at, handle), (direction, ecn))) if at <= now => {
                stack.receive(now, direction, handle, ecn);
            }
            first => {
                path.wire.extend(first);
                stack.act(now);
            }
        }
        path.carry(now, &mut *stack);
        if stack.delivered(other(Direction::Backward)) > 0 {
            // The first packets pass, the client's and the server's confirmation among them.
            let is_confirmed = stack.delivered(Direction::Forward) > BYTES / 2;
            audit(&*stack, &mut audited, is_confirmed);
        }
    }
    path
}

/// Without cryptography, connections of one seed send equal bytes at equal times.
#[test]
fn packets_without_cryptography_are_equal() {
    for stack in super::stacks().infos() {
        let hash = |seed| download(stack.name, "prague", "none", Path::new(20, seed)).hash;
        assert_eq!(hash(5), hash(5));
        assert_ne!(hash(5), hash(6));
    }
}

/// RFC 9000 section 13.4.2: validation fails if acknowledgements have no counts.
#[test]
fn a_path_that_clears_the_ecn_field_turns_ecn_off() {
    for stack in super::stacks().infos() {
        let last = |path| download(stack.name, "prague", "tls", path).last;
        assert_eq!(last(Path::new(0, 1)), Ecn::Ect1);
        assert_eq!(last(Path { clears_ecn: true, ..Path::new(0, 1) }), Ecn::NotEct);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// After every event, the ledger has as many bytes in flight as the stack, and remembers no
    /// more packets than the window holds.
    #[test]
    fn bytes_in_flight_are_those_of_the_stack(
        lost in 0..100_u32,
        seed: u64,
        name in prop_oneof![Just("prague"), Just("cubic"), Just("bbr3"), Just("reno")],
    ) {
        for stack in super::stacks().infos() {
            download(stack.name, name, "tls", Path::new(lost, seed));
        }
    }
}
