//! Validated values, by name and by type.

use sojourn_units::Duration;
use sojourn_units::params::Value as Scalar;

use crate::error::At;
use crate::model::Buffer;

/// A value that fits its shape, or a value with a reported problem.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) at: At,
    pub(crate) value: Got,
    /// Whether the document contains it; otherwise it is the default.
    pub(crate) given: bool,
}

/// The type and content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Got {
    /// Invalid; a problem was reported.
    Bad,
    Text(String),
    Scalar(Scalar),
    Buffer(Buffer),
    List(Vec<Checked>),
    Table(Fields),
    Variant(String, Fields),
}

/// The values of a table, including defaults.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) entries: Vec<(String, Checked)>,
}

impl Fields {
    /// The value under `name`; `None` if it is absent and has no default.
    pub(crate) fn get(&self, name: &str) -> Option<&Checked> {
        self.entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn scalar(&self, name: &str) -> Option<&Scalar> {
        self.get(name)?.scalar()
    }

    pub(crate) fn time(&self, name: &str) -> Option<Duration> {
        self.get(name)?.time()
    }

    pub(crate) fn integer(&self, name: &str) -> Option<u64> {
        match self.scalar(name)? {
            Scalar::Integer(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.scalar(name)? {
            Scalar::Number(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn choice(&self, name: &str) -> Option<&str> {
        self.get(name)?.choice()
    }

    /// The single value under `name`, or the first value of a schedule.
    pub(crate) fn first(&self, name: &str) -> Option<&Scalar> {
        let value = self.get(name)?;
        value.scalar().or_else(|| value.table()?.scalar("start"))
    }

    pub(crate) fn list(&self, name: &str) -> &[Checked] {
        match self.get(name).map(|value| &value.value) {
            Some(Got::List(items)) => items,
            _ => &[],
        }
    }

    /// The tables under `name`, each with the name that the user chose.
    pub(crate) fn named(&self, name: &str) -> &[(String, Checked)] {
        self.get(name).and_then(Checked::table).map_or(&[], |fields| &fields.entries)
    }
}

impl Checked {
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            Got::Scalar(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn time(&self) -> Option<Duration> {
        match self.scalar()? {
            Scalar::Time(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn choice(&self) -> Option<&str> {
        match self.scalar()? {
            Scalar::Choice(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Got::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&Fields> {
        match &self.value {
            Got::Table(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn variant(&self) -> Option<(&str, &Fields)> {
        match &self.value {
            Got::Variant(name, fields) => Some((name, fields)),
            _ => None,
        }
    }
}
