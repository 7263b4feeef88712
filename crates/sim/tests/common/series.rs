//! Series of a run, read back from Parquet.

// Each test file uses a part of this module.
#![allow(dead_code)]

use std::fs::File;
use std::path::Path;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use sojourn_sim::{Outcome, series_parquet};

/// The columns `names` of one flow's rows. `file` is unique to each test, since tests run
/// concurrently. Absent and non-numeric values are NaN.
pub(crate) fn flow_series<const N: usize>(
    outcome: &Outcome,
    file: &str,
    flow: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    select(rows(outcome, file, false), ("flow", flow), names)
}

/// The columns `names` of one link's rows, as in [`flow_series`].
pub(crate) fn link_series<const N: usize>(
    outcome: &Outcome,
    file: &str,
    link: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    select(rows(outcome, file, true), ("link", link), names)
}

type Row = Vec<(String, Field)>;

fn rows(outcome: &Outcome, file: &str, links: bool) -> impl Iterator<Item = Row> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}.parquet"));
    std::fs::write(&path, series_parquet(&[outcome], links).unwrap()).unwrap();
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.into_iter().map(|row| row.unwrap().into_columns())
}

fn select<const N: usize>(
    rows: impl Iterator<Item = Row>,
    of: (&str, &str),
    names: [&str; N],
) -> Vec<[f64; N]> {
    let is_of = |columns: &Row| {
        columns.iter().any(|(name, field)| name == of.0 && *field == Field::Str(of.1.into()))
    };
    let values = |columns: Row| {
        names.map(|name| {
            let found = columns.iter().find(|(column, _)| column == name);
            number(&found.unwrap_or_else(|| panic!("no column {name}")).1)
        })
    };
    rows.filter(is_of).map(values).collect()
}

/// The phase of one flow's controller in each of its rows.
pub(crate) fn flow_phases(outcome: &Outcome, file: &str, flow: &str) -> Vec<String> {
    let text = |row: &[(String, Field)], column: &str| {
        let found = row.iter().find(|(name, _)| name == column).map(|(_, field)| field.clone());
        match found {
            Some(Field::Str(text)) => text,
            other => panic!("column {column}: {other:?}"),
        }
    };
    let rows = rows(outcome, file, false);
    rows.filter(|row| text(row, "flow") == flow).map(|row| text(&row, "phase")).collect()
}

fn number(field: &Field) -> f64 {
    match field {
        Field::Double(value) => *value,
        Field::ULong(value) => *value as f64,
        _ => f64::NAN,
    }
}
