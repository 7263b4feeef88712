//! Tail loss probes and their outcome (RFC 8985 section 7).

use crate::wire::Ack;

/// A probe in flight (RFC 8985 section 7.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailProbe {
    /// `TLP.end_seq`, as a segment: the number of the next new data after it.
    pub(crate) end: u64,
    /// `TLP.is_retrans`, with the length of the segment.
    pub(crate) resent: Option<u64>,
}

/// The outcome of a probe after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Not known yet.
    Pending,
    /// No loss.
    Redundant,
    /// It repaired a loss of this many bytes, which no other signal reports.
    Repaired(u64),
}

impl TailProbe {
    /// `TLP_process_ack` (section 7.4.2). Its case 3, a duplicate acknowledgement without SACK,
    /// cannot occur: this receiver always reports a duplicate.
    ///
    /// Deviation (RFC 8985 section 7.4.2): a tail loss probe treats any report of a duplicate as
    /// its own, as in Linux.
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
