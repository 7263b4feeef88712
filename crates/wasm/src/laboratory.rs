//! The buffers of a module, through which texts and columns pass.

use serde_json::Value;
use sojourn_trace::{Column, Table};

#[cfg(feature = "simulator")]
use crate::simulator::Simulator;

/// The state of a module.
#[derive(Default)]
pub(crate) struct Laboratory {
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<u8>,
    /// The selected samples, and the columns of them that were converted to floats.
    pub(crate) selected: Option<Table>,
    pub(crate) converted: Vec<Vec<f64>>,
    #[cfg(feature = "simulator")]
    pub(crate) simulator: Simulator,
}

impl Laboratory {
    pub(crate) fn input(&mut self, length: usize) -> *mut u8 {
        self.input = vec![0; length];
        self.input.as_mut_ptr()
    }

    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }

    /// Keeps a result or its fault as the output; returns whether it is a result.
    pub(crate) fn keep(&mut self, result: Result<Value, Value>) -> bool {
        let is_result = result.is_ok();
        self.output = result.unwrap_or_else(|fault| fault).to_string().into_bytes();
        is_result
    }

    /// The values of a selected column. Counts become floats, which hold them exactly up to 2^53; a
    /// text becomes the number of its value. A page asks for a third of the columns.
    pub(crate) fn column(&mut self, index: usize) -> *const f64 {
        let columns = self.selected.as_ref().map_or(&[][..], Table::columns);
        let converted = match columns.get(index) {
            None => return std::ptr::null(),
            Some((_, Column::F64(values))) => return values.as_ptr(),
            Some((_, Column::U64(values))) => values.iter().map(|value| *value as f64).collect(),
            Some((_, Column::Text(text))) => text.codes().iter().copied().map(f64::from).collect(),
        };
        self.converted.push(converted);
        self.converted.last().map_or(std::ptr::null(), |column| column.as_ptr())
    }
}
