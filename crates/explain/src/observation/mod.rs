//! The one form of an observation: what was seen of each flow, and from where.
//!
//! What a source cannot tell is absent. A capture at one point knows both parts of each round trip:
//! *ahead* of the point, from data to their acknowledgement, and *behind* it, from an
//! acknowledgement to the data that echo its timestamp. At the sender the part behind takes no time,
//! at the receiver the part ahead.

//!
//! Other sources know less: [`Observation::lacks`] says what, and [`read()`] reads all of them.

mod board;
mod capture;
mod echoes;
mod flent;
mod half;
mod iperf3;
mod json;
mod log;
mod polled;
mod qlog;
mod read;
mod run;
mod series;
mod spin;
mod ss;
mod udp;

pub use capture::Observer;
pub(crate) use half::GREATEST_SCALE;
pub use half::{Count, EcnUse, Flight, Gap, Half, RttSample, Waits};
pub use log::{Answer, Log, Passed};
pub use read::{ACCEPTED, read};
pub use series::Series;

/// The kind of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A pcap or pcapng file.
    #[default]
    Capture,
    /// A qlog file.
    Qlog,
    /// The series of a run directory.
    Run,
    /// A data file of Flent.
    Flent,
    /// JSON of iperf3.
    Iperf3,
    /// A log of `ss -ti`.
    Ss,
}

impl Kind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Capture => "capture",
            Kind::Qlog => "qlog",
            Kind::Run => "run",
            Kind::Flent => "flent",
            Kind::Iperf3 => "iperf3",
            Kind::Ss => "ss",
        }
    }

    /// What no source of this kind can tell.
    fn lacks(self) -> &'static [&'static str] {
        match self {
            Kind::Capture => &[],
            Kind::Qlog => &[],
            Kind::Run => {
                &["a run's samples have no times of single losses, which would show the buffer"]
            }
            Kind::Flent => &["Flent has no losses, and rates of intervals only"],
            Kind::Iperf3 => &[
                "iperf3 has no times of losses, smoothed round-trip times of intervals only, and \
                 counts data as sent when they enter the sender's socket",
            ],
            Kind::Ss => &["ss has no times of losses, and smoothed round-trip times only"],
        }
    }
}

/// The protocol of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// QUIC.
    Quic,
    /// Any other protocol over UDP.
    Udp,
}

impl Protocol {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Quic => "QUIC",
            Protocol::Udp => "UDP",
        }
    }
}

/// An error in a file: everything before it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its place in the unpacked content, in bytes.
    pub offset: u64,
    /// The error.
    pub message: String,
}

/// The place of a capture on a flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender of the data.
    Sender,
    /// At the receiver of the data.
    Receiver,
    /// On the path between both.
    Between,
}

impl Vantage {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Receiver => "receiver",
            Vantage::Between => "between",
        }
    }
}

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Observation {
    /// The kind of source.
    pub kind: Kind,
    /// What it cannot tell, a sentence without its full stop each.
    pub lacks: Vec<&'static str>,
    /// The error at which reading stopped.
    pub damage: Option<Damage>,
    /// Time of the first packet, in ns since 1970; `None` without packets.
    pub begin_ns: Option<i64>,
    /// Time from the first packet to the last, in ns.
    pub duration: i64,
    /// Packets read; of a source without packets, samples.
    pub packets: u64,
    /// Packets that are not part of any flow: of other protocols, cut, copies.
    pub skipped: u64,
    /// Packets with a time before that of the packet before them.
    pub backward: u64,
    /// The flows with data, each in one direction, in the order of their first packets.
    pub flows: Vec<Flow>,
}

/// The data of one direction of a connection.
#[derive(Debug)]
pub struct Flow {
    /// The sender's address and port.
    pub from: String,
    /// The receiver's.
    pub to: String,
    /// Time of the connection's first packet, in ns since the first packet of all.
    pub begin: i64,
    /// Place of the capture; `None` if it cannot be told.
    pub vantage: Option<Vantage>,
    /// Its protocol.
    pub protocol: Protocol,
    /// The congestion controller, if the source names it.
    pub controller: Option<String>,
    /// The data and what was said of them.
    pub half: Half,
}

impl Observation {
    fn new(kind: Kind) -> Observation {
        Observation { kind, lacks: kind.lacks().to_vec(), ..Observation::default() }
    }
}

/// Of the least round trip, the part below which the capture is at the end of the path.
const NEAR: f64 = 0.1;

impl Flow {
    pub(crate) fn new(from: String, to: String, begin: i64, half: Half) -> Flow {
        let vantage = vantage(&half);
        Flow { from, to, begin, vantage, protocol: Protocol::Tcp, controller: None, half }
    }
}

fn least(samples: &Series<RttSample>) -> Option<i64> {
    samples.items().iter().map(|sample| sample.rtt).min()
}

fn vantage(half: &Half) -> Option<Vantage> {
    let (ahead, behind) = (least(&half.ahead)? as f64, least(&half.behind));
    // Without timestamps the part behind is unknown, and a short part ahead is the only sign.
    let Some(behind) = behind.map(|ns| ns as f64) else {
        return (ahead > 2e6).then_some(Vantage::Sender);
    };
    let share = ahead / (ahead + behind).max(1.0);
    Some(match share {
        near if near < NEAR => Vantage::Receiver,
        far if far > 1.0 - NEAR => Vantage::Sender,
        _ => Vantage::Between,
    })
}
