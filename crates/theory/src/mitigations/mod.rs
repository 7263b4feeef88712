//! The effect of each way to shorten a latency spike on the bound.
//!
//! Source: "A Lower Bound on Latency Spikes for Capacity-Seeking Network Traffic" (see
//! [`crate::spike`]), section IV, "Sketching solutions", which lists them and says whether
//! each acts on r or on d.
//!
//! Deviation (A lower bound on latency spikes, section IV): the paper has no formulas for the
//! mitigations. `docs/theory/spike.md` derives the size of each effect from the same fluid.

pub mod forms;

use sojourn_units::{Duration, Rate};

use crate::spike::SpikeError;

/// The extent of each mitigation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Share of the capacity that is unused before the drop: 0 to 1.
    pub headroom: f64,
    /// Duration of the fall of capacity, instead of a step.
    pub ramp: Duration,
    /// Time before the drop at which the senders learn of it.
    pub warning: Duration,
    /// The loop delay to a nearer server or proxy, instead of d: at most d.
    pub near: Duration,
    /// Queueing delay of signals on the reverse path without priority, in addition to d.
    pub back_queue: Duration,
    /// The delay of a standing queue at the bottleneck before the drop.
    pub standing: Duration,
    /// Users that share the link by fair queueing after the drop; `None` if `from` and `to`
    /// are already one user's capacities.
    pub users: Option<u64>,
    /// The loop delay between the bottleneck and the node that holds several fidelities and
    /// chooses among them: at most d.
    pub node: Duration,
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MitigationError {
    /// No mitigation has this name.
    #[error("there is no mitigation `{0}`; there are: {names}", names = NAMES.join(", "))]
    Unknown(String),
    /// The text is not a value of the setting.
    #[error("`{name}`: {what}")]
    Value {
        /// The setting.
        name: &'static str,
        /// The error.
        what: String,
    },
    /// A part of the loop is longer than the whole loop.
    #[error("`{name}` is {part}, longer than the loop delay d = {delay} that it is to shorten")]
    Longer {
        /// The setting.
        name: &'static str,
        /// Its value.
        part: Duration,
        /// The loop delay.
        delay: Duration,
    },
    /// Capacity does not fall.
    #[error("capacity goes from {from} to {to}: without a drop there is nothing to mitigate")]
    NoDrop {
        /// Capacity before the change.
        from: Rate,
        /// Capacity after it.
        to: Rate,
    },
    /// A bound does not exist.
    #[error(transparent)]
    Spike(#[from] SpikeError),
}

/// The settings' names, in the order of the table.
pub const NAMES: [&str; 8] =
    ["headroom", "ramp", "warning", "near", "back_queue", "standing", "users", "node"];

impl Settings {
    /// Example settings for a loop delay: a tenth unused; a ramp as long as the loop; a
    /// warning, and a server, at half of it; a quarter of it in the reverse queue; CoDel's
    /// target of 5 ms standing (RFC 8289, section 4.3); two users; a node at a tenth of the
    /// loop. These are not published values: replace them with your own.
    pub fn examples(delay: Duration) -> Settings {
        Settings {
            headroom: 0.1,
            ramp: delay,
            warning: delay.mul_f64(0.5),
            near: delay.mul_f64(0.5),
            back_queue: delay.mul_f64(0.25),
            standing: Duration::from_millis(5),
            users: Some(2),
            node: delay.mul_f64(0.1),
        }
    }

    /// Sets one of [`NAMES`] from text: a plain number for a share or a number of users, a
    /// duration with a unit for the others.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), MitigationError> {
        match name {
            "headroom" => self.headroom = share(text)?,
            "users" => self.users = Some(users(text)?),
            "ramp" => self.ramp = span("ramp", text)?,
            "warning" => self.warning = span("warning", text)?,
            "near" => self.near = span("near", text)?,
            "back_queue" => self.back_queue = span("back_queue", text)?,
            "standing" => self.standing = span("standing", text)?,
            "node" => self.node = span("node", text)?,
            _ => return Err(MitigationError::Unknown(name.to_owned())),
        }
        Ok(())
    }
}

fn share(text: &str) -> Result<f64, MitigationError> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| MitigationError::Value {
        name: "headroom",
        what: format!("{text} is not a share of the capacity from 0 to 1"),
    })
}

fn users(text: &str) -> Result<u64, MitigationError> {
    let number: Option<u64> = text.trim().parse().ok();
    number.filter(|users| *users > 0).ok_or_else(|| MitigationError::Value {
        name: "users",
        what: format!("{text} is not a number of users, 1 or more"),
    })
}

fn span(name: &'static str, text: &str) -> Result<Duration, MitigationError> {
    text.parse().map_err(|error| MitigationError::Value { name, what: format!("{error}") })
}

/// One mitigation: the maximum queueing delay without and with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, one of [`NAMES`].
    pub name: &'static str,
    /// Its setting, with a unit.
    pub setting: String,
    /// The maximum queueing delay without it. This exceeds equation 2 if the mitigation
    /// removes a delay in addition to d: `back_queue`, `standing`.
    pub before: Duration,
    /// The maximum queueing delay with it.
    pub after: Duration,
}

/// The table of mitigations, each applied alone, for a drop from `from` to `to` with a loop
/// `delay` and an unlimited queue. Several flows on one FIFO count as one flow with their
/// mean loop delay ([`crate::spike::mean_delay`]).
///
/// ```
/// use sojourn_theory::mitigations::{Settings, table};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let delay = "50ms".parse()?;
/// let rows = table("60Mbit".parse()?, "20Mbit".parse()?, delay, &Settings::examples(delay))?;
/// // A tenth of headroom: (0.9 x 3 - 1) x 50 ms.
/// assert_eq!(rows[0].after.to_string(), "85ms");
/// # Ok(())
/// # }
/// ```
pub fn table(
    from: Rate,
    to: Rate,
    delay: Duration,
    settings: &Settings,
) -> Result<Vec<Row>, MitigationError> {
    let step = forms::step(from, to, delay)?;
    if from <= to {
        return Err(MitigationError::NoDrop { from, to });
    }
    let Settings { headroom, ramp, warning, near, back_queue, standing, users, node } = *settings;
    within("near", near, delay)?;
    within("node", node, delay)?;
    let mut rows = vec![
        row("headroom", headroom, step, forms::headroom(from, to, delay, headroom)?),
        row("ramp", ramp, step, forms::gradual(from, to, delay, ramp)?),
        row("warning", warning, step, forms::early(from, to, delay, warning)?),
        row("near", near, step, forms::step(from, to, near)?),
        row("back_queue", back_queue, forms::step(from, to, delay + back_queue)?, step),
        row(
            "standing",
            standing,
            forms::at_enqueue(from, to, delay, standing)?,
            forms::at_dequeue(from, to, delay, standing)?,
        ),
    ];
    if let Some(users) = users {
        rows.push(row("users", users, step, forms::fair(from, to, delay, users)?));
    }
    rows.push(row("node", node, step, forms::step(from, to, node)?));
    Ok(rows)
}

fn within(name: &'static str, part: Duration, delay: Duration) -> Result<(), MitigationError> {
    if part > delay { Err(MitigationError::Longer { name, part, delay }) } else { Ok(()) }
}

fn row(name: &'static str, setting: impl ToString, before: Duration, after: Duration) -> Row {
    Row { name, setting: setting.to_string(), before, after }
}
