//! Both ends of a connection of a real stack in virtual time: [`stacks`] for the simulator.
//!
//! The two ends run the stack's own state machines and exchange its own packets, encrypted by TLS.
//! Time, random numbers of the stack and connection IDs come from the caller. TLS draws its keys
//! from the operating system: the bytes differ from run to run, their number and times do not.
//! Without cryptography, the bytes are equal too.

#[cfg(test)]
mod audit;
mod crypto;
mod end;
mod keys;
mod payloads;
mod plain;
mod stack;
mod tls;

use std::sync::OnceLock;

pub use crypto::{Crypto, SERVER_NAME, cryptography};

use sojourn_params::{Kind, Param};
use sojourn_transport::{Direction, StackInfo, Stacks};

use crate::noq::LACKS;

const NOQ: StackInfo = StackInfo {
    name: "noq",
    title: "noq-proto: a QUIC stack in Rust, with TLS 1.3",
    params: &[
        StackInfo::MTU,
        Param {
            name: "crypto",
            kind: Kind::Choice("tls", crypto::NAMES),
            doc: "`tls`: TLS 1.3; `none`: packets of the same sizes in plain text, for speed",
            source: "RFC 9001",
        },
        Param {
            name: "ack_every",
            kind: Kind::Integer(2, 1, 1_000),
            doc: "data packets for each acknowledgement, as the sender requests it",
            source: "RFC 9000 section 13.2.2; draft-ietf-quic-ack-frequency",
        },
    ],
    lacks: LACKS,
};

/// The stacks that scenarios may name: `noq`.
pub fn stacks() -> Stacks {
    static STACKS: OnceLock<Stacks> = OnceLock::new();
    let build = || Stacks::none().with(NOQ, |setup| Box::new(stack::NoqStack::new(setup)));
    STACKS.get_or_init(build).clone()
}

/// The opposite direction.
fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Backward,
        Direction::Backward => Direction::Forward,
    }
}
