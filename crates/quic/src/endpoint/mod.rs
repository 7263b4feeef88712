//! Both ends of a connection of a real stack in virtual time: [`stacks`] for the simulator.
//!
//! The two ends run the stack's own state machines and exchange its own packets, encrypted by TLS.
//! Time, random numbers of the stack and connection IDs come from the caller. TLS draws its keys
//! from the operating system: the bytes differ from run to run, their number and times do not.
//! Without cryptography, the bytes are equal too.

#[cfg(test)]
mod audit;
mod handshake;
mod keylog;
#[cfg(feature = "noq")]
pub mod noq;
mod payloads;
#[cfg(feature = "quinn")]
#[expect(clippy::duplicate_mod, reason = "one source for both stacks, whose types differ")]
pub mod quinn;
mod tls;

use std::sync::OnceLock;

pub use keylog::KeyLogSink;
#[cfg(feature = "noq")]
pub use noq::{Crypto, SERVER_NAME, cryptography, key_log};
use sojourn_transport::{Direction, Stack, StackInfo, StackSetup, Stacks};
use sojourn_units::params::{Key, Kind};
use sojourn_units::{Ecn, Instant};

/// The settings of each stack.
const PARAMS: &[Key] = &[
    StackInfo::MTU,
    Key::new(
        "crypto",
        Kind::Choice("tls", &["tls", "none"]),
        "`tls`: TLS 1.3; `none`: packets of the same sizes in plain text, for speed",
    )
    .from("RFC 9001"),
    Key::new(
        "ack_every",
        Kind::Integer(2, 1, 1_000),
        "data packets for each acknowledgement, as the sender requests it",
    )
    .from("RFC 9000 section 13.2.2; draft-ietf-quic-ack-frequency"),
];

#[cfg(feature = "noq")]
const NOQ: StackInfo = StackInfo {
    name: "noq",
    title: "noq-proto: a QUIC stack in Rust, with TLS 1.3",
    params: PARAMS,
    lacks: crate::noq::LACKS,
};

#[cfg(feature = "quinn")]
const QUINN: StackInfo = StackInfo {
    name: "quinn",
    title: "quinn-proto: a QUIC stack in Rust, with TLS 1.3",
    params: PARAMS,
    lacks: crate::quinn::LACKS,
};

/// A connection that can be given datagrams that neither end has sent, for tests of robustness.
pub trait Exposed: Stack {
    /// A datagram with these bytes arrives in this direction.
    fn inject(&mut self, now: Instant, direction: Direction, bytes: &[u8], ecn: Ecn);
}

/// A connection of the stack of this name; `None` if the crate's features select no such stack.
pub fn exposed(name: &str, setup: &StackSetup<'_>) -> Option<Box<dyn Exposed>> {
    match name {
        #[cfg(feature = "noq")]
        "noq" => Some(Box::new(noq::stack::Connection::new(setup))),
        #[cfg(feature = "quinn")]
        "quinn" => Some(Box::new(quinn::stack::Connection::new(setup))),
        _ => None,
    }
}

/// The stacks that scenarios may name, as the crate's features select them: `noq` and `quinn`.
pub fn stacks() -> Stacks {
    static STACKS: OnceLock<Stacks> = OnceLock::new();
    let build = || {
        let stacks = Stacks::none();
        #[cfg(feature = "noq")]
        let stacks = stacks.with(NOQ, |setup| Box::new(noq::stack::Connection::new(setup)));
        #[cfg(feature = "quinn")]
        let stacks = stacks.with(QUINN, |setup| Box::new(quinn::stack::Connection::new(setup)));
        stacks
    };
    STACKS.get_or_init(build).clone()
}

/// The opposite direction.
fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Backward,
        Direction::Backward => Direction::Forward,
    }
}
