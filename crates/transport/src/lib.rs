//! Sans-IO transport: loss recovery, acknowledgements, ECN feedback, pacing.
//!
//! One implementation has two profiles, [`Profile::Tcp`] and [`Profile::Quic`]. [`Sender`] and
//! [`Receiver`] are state machines without clock or sockets. The caller passes in `now`, takes
//! packets from [`Sender::poll_transmit`] and [`Receiver::take_ack`] and delivers them, and calls
//! back when [`Sender::timer`] or [`Receiver::timer`] is due.
//!
//! Data is numbered by *segment*: the position of a packet's payload in the stream, which a
//! retransmission keeps. Every transmission also has a *packet number* that is never reused, as in
//! QUIC; TCP has the same information in its timestamps.

mod ack_frequency;
mod choices;
mod config;
mod delivery;
mod ecn_path;
mod f_rto;
mod gro;
mod handshake;
mod hosts;
mod loss;
mod newly;
mod noise;
mod pacer;
mod prr;
mod ranges;
mod reassembly;
mod receive_buffer;
mod receiver;
mod recovery;
mod rtp;
mod rtt;
mod runs;
mod sack_compression;
mod scoreboard;
mod seen;
mod sender;
mod setting;
mod stack;
mod suspicion;
mod tail_probe;
mod usage;
mod window_tuning;
mod wire;

pub use ack_frequency::{AckFrames, AckRequest};
pub use choices::{
    CwndValidation, EcnAcks, EcnFeedback, EcnRequest, HandshakeMode, Profile, PrrRule,
    RecoveryPeriod, TsoDefer, WindowTuning,
};
pub use config::Config;
pub use delivery::{Delivery, Stamp};
pub use ecn_path::EcnFailure;
pub use handshake::{Answered, Handshake, Repeat};
pub use hosts::{Host, HostSetting, Parameter};
pub use newly::Newest;
pub use noise::{AnswerTimes, Noise};
pub use pacer::Pacer;
pub use ranges::RangeSet;
pub use receiver::Receiver;
pub use recovery::Reduced;
pub use rtp::{
    Arrival, FeedbackRule, Format, Late, MediaFrame, Played, Playout, Repair, Report, RtpPacket,
    RtpReceiver, RtpSender, RtpSetup, RtpStats,
};
pub use seen::Seen;
pub use sender::{LossCause, Poll, Sender, Stats, Vitals, Why};
pub use setting::{Choice, Setting, Side};
pub use stack::{
    Direction, Lacks, Stack, StackDatagram, StackEvent, StackInfo, StackSetup, StackState, Stacks,
};
pub use usage::Usage;
pub use wire::{Ack, AckDetails, Data, EcnCounts, SegmentRange, WindowUpdate};

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
