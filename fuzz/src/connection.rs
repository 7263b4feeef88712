//! Damaged and foreign datagrams for the two ends of a connection of a real stack.
//!
//! An input is a list of steps: the kind, a place and a value (1 octet each), the length of the octets
//! that follow (1 octet). A step is about the datagram that arrives next: it arrives, is lost, arrives
//! twice, with changed octets or cut; or the octets of the input arrive before it. The packets are in
//! plain text, so that changed octets reach the stack's readers of frames.

use std::collections::BTreeMap;

use sojourn_cc::Catalogue;
use sojourn_quic::endpoint::{Exposed, exposed, stacks};
use sojourn_transport::{Direction, StackSetup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Ecn, Instant};

const HEAD: usize = 4;
const DELAY: Duration = Duration::from_millis(10);
/// Data that the two ends exchange.
const BYTES: u64 = 100_000;
/// Simulated time after the last step: longer than several probe timeouts.
const AFTER: Duration = Duration::from_secs(20);
/// Events of a run. A stack whose timer never advances would exceed it.
const MOST_EVENTS: usize = 200_000;
/// Datagrams on the wire: far more than a window of this path has.
const MOST_UNDER_WAY: usize = 2_000;
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Passes the steps in `data` to a connection of each stack, whose memory and work stay bounded.
pub(crate) fn quic(data: &[u8]) {
    for stack in ["noq", "quinn"] {
        for control in ["prague", "bbr3"] {
            assault(stack, control, data);
        }
    }
}

/// A step of the input.
struct Step<'a> {
    kind: u8,
    place: u8,
    value: u8,
    octets: &'a [u8],
}

fn assault(stack: &str, control: &str, mut data: &[u8]) {
    let mut path = Path::new(stack, control);
    while let Some((head, rest)) = data.split_at_checked(HEAD) {
        let (octets, rest) = rest.split_at(usize::from(head[3]).min(rest.len()));
        path.step(&Step { kind: head[0], place: head[1], value: head[2], octets });
        data = rest;
    }
    let end = path.now + AFTER;
    while path.next_at() <= end {
        path.step(&Step { kind: 0, place: 0, value: 0, octets: &[] });
    }
}

/// The path between the two ends.
struct Path {
    stack: Box<dyn Exposed>,
    now: Instant,
    /// Datagrams by time of arrival.
    wire: BTreeMap<(Instant, u64), (Direction, u32, Ecn)>,
    sent: u64,
    events: usize,
}

impl Path {
    fn new(name: &str, control: &str) -> Path {
        let controllers = Catalogue::shipped();
        let control_params = Params::defaults(controllers.find(control).expect("shipped").params);
        let infos = stacks();
        let info = infos.find(name).expect("both stacks are there");
        let mut params = Params::defaults(info.params);
        params.set(info.params, "crypto", Value::Choice("none".to_owned())).expect("a choice");
        let stack = exposed(
            name,
            &StackSetup {
                params: &params,
                controllers: &controllers,
                control: (control, &control_params),
                opening: Direction::Backward,
                seed: 1,
            },
        );
        let mut path = Path {
            stack: stack.expect("both stacks are there"),
            now: Instant(1),
            wire: BTreeMap::new(),
            sent: 0,
            events: 0,
        };
        path.stack.write(path.now, Direction::Backward, BYTES);
        path.stack.write(path.now, Direction::Forward, BYTES);
        path.collect();
        path
    }

    fn next_at(&self) -> Instant {
        let arrival = self.wire.first_key_value().map_or(Instant::MAX, |((at, _), _)| *at);
        arrival.min(self.stack.next_at())
    }

    fn collect(&mut self) {
        let mut out = Vec::new();
        self.stack.take_datagrams(&mut out);
        for datagram in out {
            self.sent += 1;
            let packet = (datagram.direction, datagram.handle, datagram.ecn);
            self.wire.insert((self.now + DELAY, self.sent), packet);
        }
        assert!(self.wire.len() <= MOST_UNDER_WAY, "{} datagrams under way", self.wire.len());
    }

    /// Lets timers act up to the next arrival, and the datagram arrive as the step says.
    fn step(&mut self, step: &Step<'_>) {
        self.events += 1;
        assert!(self.events <= MOST_EVENTS, "more than {MOST_EVENTS} events");
        if step.kind % 8 == 7 {
            let direction =
                if step.place & 1 == 0 { Direction::Forward } else { Direction::Backward };
            let ecn = ECN[usize::from(step.value & 3)];
            self.stack.inject(self.now, direction, step.octets, ecn);
            return self.collect();
        }
        let next = self.next_at();
        if next == Instant::MAX {
            return;
        }
        let is_timer = self.stack.next_at() == next;
        self.now = self.now.max(next);
        if is_timer {
            self.stack.act(self.now);
        } else if let Some((_, packet)) = self.wire.pop_first() {
            self.arrive(step, packet);
        }
        self.collect();
    }

    fn arrive(&mut self, step: &Step<'_>, (direction, handle, ecn): (Direction, u32, Ecn)) {
        let (now, stack) = (self.now, &mut self.stack);
        let mut bytes = stack.bytes(handle).to_vec();
        match step.kind % 8 {
            0..=2 => return stack.receive(now, direction, handle, ecn),
            3 => return stack.on_gone(handle),
            4 => {
                stack.inject(now, direction, &bytes, ecn);
                return stack.receive(now, direction, handle, ecn);
            }
            5 => {
                let place = usize::from(step.place) % bytes.len();
                bytes[place] ^= step.value | 1;
                for (octet, with) in bytes[place..].iter_mut().skip(1).zip(step.octets) {
                    *octet = *with;
                }
            }
            _ => bytes.truncate(usize::from(step.place)),
        }
        stack.on_gone(handle);
        stack.inject(now, direction, &bytes, ECN[usize::from(step.value & 3)]);
    }
}
