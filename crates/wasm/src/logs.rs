//! Logs of real connections.

use serde_json::Value;
use sojourn_explain::{ACCEPTED, Options, explain_source};
use sojourn_trace::Table;
use sojourn_trace::qlog::{self, Figures, Limits};

use crate::json;
use crate::laboratory::Laboratory;

impl Laboratory {
    /// Explains a file: its name, of `name_length` bytes, and its content.
    pub(crate) fn explain(&mut self, name_length: usize, cures: bool) -> bool {
        let mut name = std::mem::take(&mut self.input);
        let content = name.split_off(name_length.min(name.len()));
        let name = String::from_utf8_lossy(&name).into_owned();
        let options = Options { cures, ..Options::default() };
        let found = explain_source(&name, || Ok(&content[..]), &options, &|| false);
        let failed = |message: &str| json::fault(message).to_string();
        let (output, is_result) = match found {
            Ok(Some(text)) => (text, true),
            Ok(None) => (failed(&format!("{name}: not {ACCEPTED}")), false),
            Err(error) => (failed(&format!("{name}: {error}")), false),
        };
        self.output = output.into_bytes();
        is_result
    }

    /// Reads the qlog file in the input, which stands after its name of `name_length` bytes. Its samples
    /// are then selected.
    pub(crate) fn read_qlog(&mut self, name_length: usize) -> bool {
        let input = std::mem::take(&mut self.input);
        let read = figures_of(&input, name_length).map(|(found, samples)| {
            (self.selected, self.converted) = (Some(samples), Vec::new());
            found
        });
        self.keep(read)
    }
}

/// The figures of a qlog file as JSON, with its `damage` and the heads of its samples in `columns`.
fn figures_of(input: &[u8], name_length: usize) -> Result<(Value, Table), Value> {
    let (name, file) = input.split_at_checked(name_length).unwrap_or((&[], input));
    let name = String::from_utf8_lossy(name);
    let log = qlog::read(qlog::trace_name(&name), || Ok(file), &Limits::default())
        .map_err(|error| json::fault(&error.to_string()))?;
    let damage = log.damage.as_ref().map(ToString::to_string);
    if log.traces.is_empty() {
        let fault = damage.unwrap_or_else(|| "the file has no events of a connection".to_owned());
        return Err(json::fault(&fault));
    }
    let figures = Figures::new(&[log], None);
    let mut found = figures.to_json();
    found["damage"] = damage.into();
    let heads = figures.samples.columns().iter();
    found["columns"] = heads.map(|(name, column)| json::column(name, column)).collect();
    Ok((found, figures.samples))
}
