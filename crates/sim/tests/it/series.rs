//! Series of a run, read back from Parquet as a user would.

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sojourn_sim::{Outcome, series_parquet};

/// The columns `names` of one flow's rows. Absent and non-numeric values are NaN.
pub(crate) fn flow_series<const N: usize>(
    outcome: &Outcome,
    flow: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let series = Series::new(outcome, false);
    series.rows(&series.owned_by(flow), names)
}

/// The columns `names` of all flows' rows, as in [`flow_series`].
pub(crate) fn all_flows_series<const N: usize>(
    outcome: &Outcome,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let series = Series::new(outcome, false);
    series.rows(&series.all(), names)
}

/// The columns `names` of one link's rows, as in [`flow_series`].
pub(crate) fn link_series<const N: usize>(
    outcome: &Outcome,
    link: &str,
    names: [&str; N],
) -> Vec<[f64; N]> {
    let series = Series::new(outcome, true);
    series.rows(&series.owned_by(link), names)
}

/// The phase of one flow's controller in each of its rows.
pub(crate) fn flow_phases(outcome: &Outcome, flow: &str) -> Vec<String> {
    let series = Series::new(outcome, false);
    let phases = series.texts("phase");
    series.owned_by(flow).into_iter().map(|row| phases[row].clone()).collect()
}

/// One Parquet file. It is read by columns, because a reader by rows takes longer than the run.
struct Series {
    file: SerializedFileReader<Bytes>,
    owner: &'static str,
}

impl Series {
    fn new(outcome: &Outcome, links: bool) -> Series {
        let bytes = Bytes::from(series_parquet(&[outcome], links).unwrap());
        let file = SerializedFileReader::new(bytes).unwrap();
        Series { file, owner: if links { "link" } else { "flow" } }
    }

    /// The numbers of all rows.
    fn all(&self) -> Vec<usize> {
        (0..self.texts(self.owner).len()).collect()
    }

    /// The numbers of the rows of the flow or link `name`.
    fn owned_by(&self, name: &str) -> Vec<usize> {
        let owners = self.texts(self.owner);
        (0..owners.len()).filter(|row| owners[*row] == name).collect()
    }

    /// The columns `names` of the rows of these numbers.
    fn rows<const N: usize>(&self, rows: &[usize], names: [&str; N]) -> Vec<[f64; N]> {
        let columns = names.map(|name| self.numbers(name));
        rows.iter().map(|row| columns.each_ref().map(|column| column[*row])).collect()
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        let numbers = |group| match group {
            ColumnReader::DoubleColumnReader(column) => values(column, |value| *value, f64::NAN),
            ColumnReader::Int64ColumnReader(column) => {
                values(column, |value| *value as f64, f64::NAN)
            }
            _ => panic!("{name} is not a column of numbers"),
        };
        self.groups(name).flat_map(numbers).collect()
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let texts = |group| match group {
            ColumnReader::ByteArrayColumnReader(column) => {
                values(column, |value| value.as_utf8().unwrap().to_owned(), String::new())
            }
            _ => panic!("{name} is not a column of texts"),
        };
        self.groups(name).flat_map(texts).collect()
    }

    /// The column `name` of each row group.
    fn groups(&self, name: &str) -> impl Iterator<Item = ColumnReader> {
        let metadata = self.file.metadata();
        let columns = metadata.file_metadata().schema_descr().columns();
        let found = columns.iter().position(|column| column.name() == name);
        let place = found.unwrap_or_else(|| panic!("no column {name}"));
        let groups = 0..metadata.num_row_groups();
        groups.map(move |group| {
            self.file.get_row_group(group).unwrap().get_column_reader(place).unwrap()
        })
    }
}

/// The values of a column, with `absent` for those that are absent.
fn values<T: DataType, V: Clone>(
    mut column: ColumnReaderImpl<T>,
    of: impl Fn(&T::T) -> V,
    absent: V,
) -> Vec<V> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    column.read_records(usize::MAX, Some(&mut levels), None, &mut present).unwrap();
    let mut present = present.iter().map(of);
    if levels.is_empty() {
        return present.collect();
    }
    let value = |level: &i16| if *level == 0 { absent.clone() } else { present.next().unwrap() };
    levels.iter().map(value).collect()
}
