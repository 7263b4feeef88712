//! The events of a trace as they are read, for other analyses than [`Figures`](super::Figures).

use std::fmt::Debug;

use serde_json::{Map, Value};

/// An event of one path of a connection, with its meaning after all events before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// A packet leaves.
    Sent {
        /// Its length without the headers of UDP and IP, in bytes; 0 if the log omits it.
        length: u64,
        /// The data in it, in bytes. Without its frames, its length.
        payload: u64,
        /// Whether some of its data was sent before.
        is_again: bool,
    },
    /// A packet arrives.
    Received {
        /// See [`Event::Sent`].
        length: u64,
        /// The data that arrive for the first time, in bytes. Without its frames, its length.
        payload: u64,
    },
    /// An acknowledgement arrives.
    Acked {
        /// The data that it acknowledges for the first time, in bytes.
        payload: u64,
        /// The RTT sample, in seconds, as of RFC 9002 section 5.1.
        rtt: Option<f64>,
        /// Packets below the newest acknowledged one that it shows to be missing.
        missing: u64,
    },
    /// The stack declares a packet lost.
    Lost,
    /// The counts of an acknowledgement.
    Ecn {
        /// Packets with ECT(0), ECT(1) and CE so far.
        counts: [u64; 3],
        /// Whether this endpoint sends the acknowledgement: the counts are of packets that it received.
        is_own: bool,
    },
    /// Metrics of the stack; an unchanged one is absent.
    Metrics {
        /// The newest RTT, in seconds.
        rtt: Option<f64>,
        /// Congestion window, in bytes.
        cwnd: Option<f64>,
        /// Bytes in flight.
        in_flight: Option<f64>,
    },
    /// The stack names its congestion controller.
    Controller(&'a str),
}

/// Hears the events of a trace.
pub trait Listener: Debug + Default {
    /// The fields of the trace, such as `vantage_point`. In a file that has them behind the events,
    /// they come last.
    fn describe(&mut self, _about: &Map<String, Value>) {}

    /// An event of a path at a time in seconds.
    fn event(&mut self, _at_s: f64, _path: u64, _event: &Event<'_>) {}

    /// Its memory in bytes.
    fn weight(&self) -> usize {
        0
    }
}

/// Hears nothing.
impl Listener for () {}
