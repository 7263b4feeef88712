//! The recorded series of a run, read back from Parquet as a user would.

use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use sojourn_sim::{Outcome, series_parquet};

/// These columns of the flows or of the links, with a row for each sample. Missing values are NaN.
pub(crate) fn columns<const N: usize>(
    outcome: &Outcome,
    links: bool,
    name: &str,
    columns: [&str; N],
) -> Vec<[f64; N]> {
    let bytes = series_parquet(&[outcome], links).expect("series that Parquet can hold");
    // Tests run concurrently: each uses its own file.
    let file = format!("laws-{name}-{links}.parquet");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let at = {
        let schema = reader.metadata().file_metadata().schema_descr();
        let all: Vec<_> = schema.columns().iter().map(|column| column.name().to_owned()).collect();
        columns.map(|wanted| all.iter().position(|name| name == wanted).expect("a column"))
    };
    let value = |field: &Field| match field {
        Field::Double(value) => *value,
        Field::ULong(value) => *value as f64,
        _ => f64::NAN,
    };
    rows.map(|row| {
        let fields = row.unwrap().into_columns();
        at.map(|at| value(&fields[at].1))
    })
    .collect()
}
