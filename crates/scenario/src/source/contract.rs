//! The contract between a source and its host.

use std::fmt::Debug;
use std::sync::Arc;

use sojourn_units::params::{Key, Params};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::source::cdf::Cdf;

/// A source as it is listed and checked.
#[derive(Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its behaviour, in one line.
    pub title: &'static str,
    /// Its keys in a scenario.
    pub params: &'static [Key],
    /// Pairs of keys that exclude each other.
    pub exclusive: &'static [(&'static str, &'static str)],
    /// Key that names a file of sizes.
    pub file: Option<Key<FileName>>,
    /// Carrier of its data.
    pub carrier: Carrier,
}

impl Info {
    /// A source of a connection, without keys. An entry states its differences:
    /// `Info { name, ..Info::BASE }`.
    pub(crate) const BASE: Info = Info {
        name: "",
        title: "",
        params: &[],
        exclusive: &[],
        file: None,
        carrier: Carrier::Connection,
    };
}

/// The kind of a key that names a file: a text.
#[derive(Clone, Copy, Debug)]
pub struct FileName;

/// An IPv4 header without options (RFC 791 section 3.1), in front of an ICMP message.
pub const IP_HEADER: Bytes = Bytes(20);

/// The carrier of a source's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A connection, in the direction of the flow.
    Connection,
    /// A new connection for each transfer, in the direction of the flow.
    Connections,
    /// A connection, and another one for requests against the direction of the flow.
    Requests,
    /// A connection; or UDP datagrams if the flow has no congestion controller.
    ConnectionOrUdp,
    /// ICMP echo requests. The flow has no congestion controller.
    Echo,
    /// RTP packets over UDP, with feedback. The controller of the flow sets the encoder's rate;
    /// without a controller, the rate is constant.
    Media,
}

impl Carrier {
    /// Whether the source sends at its own times, so that it needs no congestion controller.
    pub fn is_paced(self) -> bool {
        matches!(self, Carrier::ConnectionOrUdp | Carrier::Echo | Carrier::Media)
    }
}

/// A source that acts at its own times, and when its data were delivered.
pub trait Source: Debug + Send {
    /// Time of its next action; [`Instant::MAX`] if it waits for a delivery, or has ended.
    fn next_at(&self) -> Instant;

    /// Performs the action due at [`Source::next_at`], and plans the next one.
    fn act(&mut self, now: Instant) -> Action;

    /// The source waits until this many bytes of the flow, counted from its start, are delivered.
    fn target(&self) -> Option<u64> {
        None
    }

    /// Its [`Source::target`] was delivered. Returns the response time, if it measures one.
    fn on_delivered(&mut self, _: Instant) -> Option<Duration> {
        None
    }

    /// Bytes of requests, counted from the start, after which the responding host sends the
    /// response number `answered`, from 0; `None` without requests.
    fn request_target(&self, _answered: u64) -> Option<u64> {
        None
    }

    /// Size of a response in bytes.
    fn response(&self) -> u64 {
        0
    }

    /// Transfers delivered so far.
    fn transfers(&self) -> Transfers {
        Transfers::default()
    }

    /// Its transfers so far, for a source that draws their sizes from a distribution or makes them in
    /// batches.
    fn sized_transfers(&self) -> Vec<SizedTransfer> {
        Vec::new()
    }

    /// Keep the times at which it turns on and off, for [`Source::take_transitions`].
    fn record_transitions(&mut self) {}

    /// Moves the decided transitions to the end of `transitions`: the time, and whether it turns
    /// on.
    fn take_transitions(&mut self, _: &mut Vec<(Instant, bool)>) {}

    /// The rate that the controller wants for the frames of [`Carrier::Media`].
    fn set_target(&mut self, _: Rate) {}

    /// The receiver of [`Carrier::Media`] needs a key frame.
    fn request_key_frame(&mut self) {}
}

/// An action of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write this many bytes to the flow.
    Write(u64),
    /// Write this many bytes to the requests, against the flow.
    Request(u64),
    /// Transfer this many bytes over a new connection.
    Transfer(u64),
    /// Send a frame of media.
    Frame {
        /// Its size in bytes, without headers.
        bytes: u64,
        /// Whether it can be decoded without an earlier frame.
        is_key: bool,
    },
}

/// The transfers of a source: files, or responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Transfers delivered.
    pub completed: u64,
    /// Delivery of the last transfer; `None` before it, and for a source without an end.
    pub completed_at: Option<Instant>,
}

/// One transfer of a source that lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedTransfer {
    /// Its start; for a response, the time of the request.
    pub start: Instant,
    /// Its size in bytes.
    pub size: u64,
    /// From its start until its last byte was delivered; `None` if it is incomplete.
    pub completion: Option<Duration>,
}

/// Inputs to build a source.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Values of its keys; an optional one may be absent.
    pub params: Params,
    /// Content of the file of sizes, for a source that reads one ([`Model::reads_file`]).
    pub sizes: Option<Arc<Cdf>>,
    /// Start of the flow.
    pub start: Instant,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Seed of its random decisions.
    pub seed: u64,
}

/// Properties of a kind of source before a run, from the values of its keys.
pub trait Model {
    /// Its registry entry.
    const INFO: Info;

    /// Builds the source.
    fn build(setup: &Setup) -> Box<dyn Source>;

    /// The most bytes in one direction that were written within a time of length `span` and are not
    /// yet delivered. `sizes`: the content of its file, if it reads one.
    fn bytes_in(params: &Params, sizes: Option<&Arc<Cdf>>, mss: Bytes, span: Duration) -> Bytes;

    /// Its rate of payload while it is on; zero without a rate of its own.
    fn rate(_: &Params) -> Rate {
        Rate::ZERO
    }

    /// Size of its packets with the IP header, if the transport does not decide it.
    fn packet(_: &Params) -> Option<Bytes> {
        None
    }

    /// Whether another seed can give other actions.
    fn is_random(_: &Params) -> bool {
        false
    }

    /// Whether it needs the file of sizes of [`Info::file`].
    fn reads_file(_: &Params) -> bool {
        false
    }

    /// The most transfers that arrive within `span`, for [`Carrier::Connections`]. `sizes`: the
    /// content of its file, if it reads one.
    fn most_transfers(_: &Params, _sizes: Option<&Arc<Cdf>>, _span: Duration) -> u64 {
        0
    }

    /// The fault of these values, if they are impossible together.
    fn fault(_: &Params, _mss: Bytes) -> Option<Fault> {
        None
    }
}

/// Values that are impossible together: the fault, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The fault.
    pub message: String,
    /// Its remedy.
    pub help: String,
}
