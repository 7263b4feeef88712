//! Series of a run, read back from its Parquet.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use sojourn_sim::{Outcome, series_parquet};

/// The columns `names` of the rows of one flow. `file` keeps tests apart, which
/// run at once. What is no number, or absent, is NaN.
pub(crate) fn flow_series<const N: usize>(
    outcome: &Outcome,
    file: &str,
    flow: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    rows_of(outcome, file, ("flow", flow), names)
}

/// The same of one link.
#[allow(dead_code)]
pub(crate) fn link_series<const N: usize>(
    outcome: &Outcome,
    file: &str,
    link: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    rows_of(outcome, file, ("link", link), names)
}

fn rows_of<const N: usize>(
    outcome: &Outcome,
    file: &str,
    (what, which): (&str, &str),
    names: [&str; N],
) -> Vec<[f64; N]> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}.parquet"));
    std::fs::write(&path, series_parquet(&[outcome], what == "link").unwrap()).unwrap();
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns());
    let is_meant = |columns: &Vec<(String, Field)>| {
        columns.iter().any(|(name, field)| name == what && *field == Field::Str(which.into()))
    };
    let values = |columns: Vec<(String, Field)>| {
        names.map(|name| {
            let found = columns.iter().find(|(column, _)| column == name);
            number(&found.unwrap_or_else(|| panic!("no column {name}")).1)
        })
    };
    rows.filter(is_meant).map(values).collect()
}

fn number(field: &Field) -> f64 {
    match field {
        Field::Double(value) => *value,
        Field::ULong(value) => *value as f64,
        _ => f64::NAN,
    }
}
