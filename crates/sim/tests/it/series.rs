//! Series of a run, read back from Parquet as a user would.

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use sojourn_sim::{Outcome, series_parquet};

/// The columns `names` of one flow's rows. Absent and non-numeric values are NaN.
pub(crate) fn flow_series<const N: usize>(
    outcome: &Outcome,
    flow: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let rows = select(outcome, false, Some(flow), names);
    rows.iter().map(|row| row.each_ref().map(number)).collect()
}

/// The columns `names` of all flows' rows, as in [`flow_series`].
pub(crate) fn all_flows_series<const N: usize>(
    outcome: &Outcome,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let rows = select(outcome, false, None, names);
    rows.iter().map(|row| row.each_ref().map(number)).collect()
}

/// The columns `names` of one link's rows, as in [`flow_series`].
pub(crate) fn link_series<const N: usize>(
    outcome: &Outcome,
    link: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let rows = select(outcome, true, Some(link), names);
    rows.iter().map(|row| row.each_ref().map(number)).collect()
}

/// The phase of one flow's controller in each of its rows.
pub(crate) fn flow_phases(outcome: &Outcome, flow: &str) -> Vec<String> {
    let text = |[phase]: [Field; 1]| match phase {
        Field::Str(text) => text,
        other => panic!("the phase is {other:?}"),
    };
    select(outcome, false, Some(flow), ["phase"]).into_iter().map(text).collect()
}

/// The columns `names` of the rows of the flow or link `of`, or of all.
fn select<const N: usize>(
    outcome: &Outcome,
    links: bool,
    of: Option<&str>,
    names: [&str; N],
) -> Vec<[Field; N]> {
    let bytes = Bytes::from(series_parquet(&[outcome], links).unwrap());
    let reader = SerializedFileReader::new(bytes).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let place = |name: &str| {
        let found = columns.iter().position(|column| column.name() == name);
        found.unwrap_or_else(|| panic!("no column {name}"))
    };
    let (owner, places) = (place(if links { "link" } else { "flow" }), names.map(place));
    let rows = reader.get_row_iter(None).unwrap();
    let rows = rows.map(|row| row.unwrap().into_columns());
    let is_wanted = |row: &Vec<(String, Field)>| {
        of.is_none_or(|name| row[owner].1 == Field::Str(name.to_owned()))
    };
    rows.filter(is_wanted).map(|row| places.map(|place| row[place].1.clone())).collect()
}

fn number(field: &Field) -> f64 {
    match field {
        Field::Double(value) => *value,
        Field::ULong(value) => *value as f64,
        _ => f64::NAN,
    }
}
