//! Tail loss probes: what became of one (RFC 8985 section 7).

use crate::wire::Ack;

/// A probe that is out (RFC 8985 section 7.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// `TLP.end_seq`, as a segment: what the next new data after it gets.
    pub(crate) end: u64,
    /// `TLP.is_retrans`, and then the length of the segment.
    pub(crate) resent: Option<u64>,
}

/// What an acknowledgement says of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Pending,
    /// Nothing was lost.
    Redundant,
    /// It repaired a loss of so many bytes, of which nothing else will tell.
    Repaired(u64),
}

impl TailProbe {
    /// `TLP_process_ack` (section 7.4.2). Its case 3, a duplicate
    /// acknowledgement without SACK, cannot come: this receiver always reports
    /// a duplicate.
    pub(crate) fn outcome(&self, ack: &Ack) -> Outcome {
        if ack.cumulative < self.end {
            return Outcome::Pending;
        }
        match self.resent {
            None => Outcome::Redundant,
            Some(_) if ack.duplicate => Outcome::Redundant,
            Some(len) if ack.cumulative > self.end => Outcome::Repaired(len),
            Some(_) => Outcome::Pending,
        }
    }
}
