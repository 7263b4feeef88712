//! Damage on a link's wire to ECN and to acknowledgements.

use sojourn_transport::choices;
use sojourn_units::Duration;

use crate::check::Checker;
use crate::checked::Fields;
use crate::model::{AckThinning, Slots};

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

impl AckThinning {
    /// Whether it drops none.
    pub(crate) fn passes_all(&self) -> bool {
        self.every <= 1
    }
}

impl Slots {
    /// Greatest time from a slot to the next one.
    pub fn most(&self) -> Duration {
        self.most.unwrap_or(self.least)
    }
}

/// Refuses a greatest time below the least.
pub(crate) fn slots_in_order(
    checker: &mut Checker,
    fields: &Fields,
    least: Option<&Duration>,
    most: Option<&Option<Duration>>,
) {
    let (Some(least), Some(Some(most))) = (least, most) else { return };
    if let Some(given) = fields.get("most").filter(|_| most < least) {
        let message = format!("`most` is {most}, less than `least`, which is {least}");
        checker.report(&given.at, message, format!("set `most` to at least {least}"));
    }
}
