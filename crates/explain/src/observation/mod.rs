//! The one form of an observation: what was seen of each flow, and from where.
//!
//! What a source cannot tell is absent. A capture at one point knows both parts of each round trip:
//! *ahead* of the point, from data to their acknowledgement, and *behind* it, from an
//! acknowledgement to the data that echo its timestamp. At the sender the part behind takes no time,
//! at the receiver the part ahead.

mod board;
mod capture;
mod echoes;
mod half;
mod series;

pub use capture::Observer;
pub use half::{Count, EcnUse, Flight, Gap, Half, RttSample};
pub use series::Series;

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
#[derive(Debug)]
pub struct Observation {
    /// Time of the first packet, in ns since 1970; `None` without packets.
    pub begin_ns: Option<i64>,
    /// Time from the first packet to the last, in ns.
    pub duration: i64,
    /// Packets read.
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
    /// The data and what was said of them.
    pub half: Half,
}

/// Of the least round trip, the part below which the capture is at the end of the path.
const NEAR: f64 = 0.1;

impl Flow {
    pub(crate) fn new(from: String, to: String, begin: i64, half: Half) -> Flow {
        let vantage = vantage(&half);
        Flow { from, to, begin, vantage, half }
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
