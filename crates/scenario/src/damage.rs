//! Damage on a link's wire to ECN and to acknowledgements: types, and from checked values to them.

use sojourn_transport::{Choice, choices};
use sojourn_units::params::Value as Scalar;
use sojourn_units::{Bytes, Duration};

use crate::check::Checker;
use crate::checked::{Fields, Got};

/// The default of [`AckThinning::gap`], as [`BURST_GAP_TEXT`].
const BURST_GAP: Duration = Duration::from_millis(5);
/// Its spelling in scenarios: longer than the time between acknowledgements of a burst, and
/// shorter than most round trips.
pub(crate) const BURST_GAP_TEXT: &str = "5ms";

/// Damage to the ECN field by a device on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnFault {
    /// The damage.
    pub kind: EcnFaultKind,
    /// Probability that it happens to a packet.
    pub probability: f64,
}

choices! {
    /// The kinds of damage to ECN.
    EcnFaultKind {
        /// The field is cleared.
        Bleach = "bleach",
        /// ECT(1) turns into ECT(0).
        Rewrite = "ect1-to-ect0",
        /// Every packet gets CE, also one that is Not-ECT.
        Mark = "mark",
        /// Packets with ECT or CE are dropped.
        Drop = "drop",
        /// SYNs that ask for ECN are dropped.
        DropSyn = "drop-syn",
    }
}

/// A middlebox that drops pure TCP acknowledgements. It does not recognise those of QUIC, which are
/// encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckThinning {
    /// Acknowledgements of a connection of which the first one passes.
    pub every: u64,
    /// After this time without an acknowledgement of the connection, the next one is a first one.
    pub gap: Duration,
}

/// Deliveries in batches, as netem's slots emulate WiFi, cable and LTE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Least and greatest time from a slot to the next one.
    pub least: Duration,
    /// See `least`.
    pub most: Duration,
    /// Greatest number of packets in a slot.
    pub packets: u64,
    /// Bytes in a slot; it ends with the packet that reaches them.
    pub bytes: Bytes,
    /// Whether the modem keeps only the newest acknowledgement of a connection in a slot.
    pub filters_acks: bool,
}

/// `None` after a reported problem; `Some(None)` without damage.
pub(crate) fn ecn(fields: &Fields) -> Option<Option<EcnFault>> {
    let Some(given) = fields.get("ecn") else { return Some(None) };
    let (name, probability) = match &given.value {
        Got::Scalar(Scalar::Choice(name)) => (name.as_str(), 1.0),
        Got::Table(table) => (table.choice("kind")?, table.number("probability")?),
        _ => return None,
    };
    Some(Some(EcnFault { kind: EcnFaultKind::named(name)?, probability }))
}

/// As [`ecn`].
pub(crate) fn ack_thinning(fields: &Fields) -> Option<Option<AckThinning>> {
    let thinning = match &fields.get("ack_thinning")?.value {
        Got::Scalar(Scalar::Integer(every)) => AckThinning { every: *every, gap: BURST_GAP },
        Got::Table(table) => {
            AckThinning { every: table.integer("every")?, gap: table.time("gap")? }
        }
        _ => return None,
    };
    Some(Some(thinning).filter(|thinning| thinning.every > 1))
}

/// As [`ecn`].
pub(crate) fn slots(checker: &mut Checker, fields: &Fields) -> Option<Option<Slots>> {
    let Some(given) = fields.get("slots") else { return Some(None) };
    let table = given.table()?;
    let (least, most) = (table.time("least")?, table.time("most").or(table.time("least"))?);
    if let Some(given) = table.get("most").filter(|_| most < least) {
        let message = format!("`most` is {most}, less than `least`, which is {least}");
        checker.report(&given.at, message, format!("set `most` to at least {least}"));
    }
    Some(Some(Slots {
        least,
        most,
        packets: table.integer("packets").unwrap_or(u64::MAX),
        bytes: table.data("bytes").unwrap_or(Bytes::MAX),
        filters_acks: table.switch("filter_acks")?,
    }))
}
