//! A table of columns, and its Parquet encoding.

use std::fmt;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type};

use crate::column::{Column, Text};

/// Rows per row group: the unit in which readers skip or read, and the amount copied while
/// writing (some 10 MB per column).
const ROWS_PER_GROUP: usize = 1 << 20;

/// zstd's default: a higher level takes several times as long to save a few per cent on
/// such series.
const ZSTD_LEVEL: i32 = 3;

/// Reasons why a table could not be written.
#[derive(Debug)]
pub enum TableError {
    /// The table has no columns, but a Parquet file needs at least one.
    NoColumns,
    /// Two columns have the same name.
    Duplicate {
        /// Their name.
        name: String,
    },
    /// A column's length differs from that of the first.
    Unequal {
        /// The column's name.
        name: String,
        /// Its rows.
        rows: usize,
        /// The first column's name.
        first: String,
        /// The first column's rows.
        expected: usize,
    },
    /// The Parquet writer returned an error.
    Parquet(ParquetError),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::NoColumns => write!(f, "the table has no columns"),
            TableError::Duplicate { name } => write!(f, "two columns are named `{name}`"),
            TableError::Unequal { name, rows, first, expected } => {
                write!(f, "column `{name}` has {rows} rows, but `{first}` has {expected}")
            }
            TableError::Parquet(error) => write!(f, "the table could not be encoded: {error}"),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TableError::Parquet(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> TableError {
        TableError::Parquet(error)
    }
}

/// Named columns of equal length.
///
/// Add columns in the order of the file, then append rows by column index; or add complete
/// columns at the end.
///
/// ```
/// use sojourn_trace::{Table, Text};
///
/// let mut table = Table::new();
/// let time = table.add("time_s", Vec::<f64>::new());
/// let flow = table.add("flow", Text::default());
/// table.f64(time).push(0.25);
/// table.text(flow).push("upload");
/// let bytes = table.to_parquet(&[("seed", "1")])?;
/// assert!(bytes.starts_with(b"PAR1"));
/// # Ok::<(), sojourn_trace::TableError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Column)>,
}

impl Table {
    /// An empty table.
    pub fn new() -> Table {
        Table::default()
    }

    /// Adds a column at the end. Returns its index for the accessors below.
    pub fn add(&mut self, name: impl Into<String>, column: impl Into<Column>) -> usize {
        self.columns.push((name.into(), column.into()));
        self.columns.len() - 1
    }

    /// The columns in the order of the file.
    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    /// A column of floats, to append to. Panics if column `index` has another type: an
    /// error in the recorder's own code, which its first test finds.
    #[inline]
    pub fn f64(&mut self, index: usize) -> &mut Vec<f64> {
        match &mut self.columns[index] {
            (_, Column::F64(values)) => values,
            (name, _) => panic!("column `{name}` is not of floats"),
        }
    }

    /// A column of whole numbers, to append to; panics as [`Table::f64`].
    #[inline]
    pub fn u64(&mut self, index: usize) -> &mut Vec<u64> {
        match &mut self.columns[index] {
            (_, Column::U64(values)) => values,
            (name, _) => panic!("column `{name}` is not of whole numbers"),
        }
    }

    /// A column of text, to append to; panics as [`Table::f64`].
    #[inline]
    pub fn text(&mut self, index: usize) -> &mut Text {
        match &mut self.columns[index] {
            (_, Column::Text(values)) => values,
            (name, _) => panic!("column `{name}` is not of text"),
        }
    }

    /// The table as a Parquet file, compressed with zstd. The file's footer stores
    /// `metadata` in the given order.
    ///
    /// The same table and version of Sojourn give the same bytes: the file contains no time
    /// and no host name.
    pub fn to_parquet(&self, metadata: &[(&str, &str)]) -> Result<Vec<u8>, TableError> {
        let rows = self.rows()?;
        let schema = Arc::new(self.schema()?);
        let properties = Arc::new(self.properties(metadata)?);
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, schema, properties)?;
        for from in (0..rows).step_by(ROWS_PER_GROUP) {
            let to = rows.min(from + ROWS_PER_GROUP);
            let mut group = writer.next_row_group()?;
            for (_, column) in &self.columns {
                let mut chunk = group.next_column()?.ok_or_else(fewer_columns)?;
                column.write(from, to, &mut chunk)?;
                chunk.close()?;
            }
            group.close()?;
        }
        writer.close()?;
        Ok(file)
    }

    /// Number of rows of every column; an error if they differ.
    fn rows(&self) -> Result<usize, TableError> {
        let Some((first, column)) = self.columns.first() else {
            return Err(TableError::NoColumns);
        };
        let (first, expected) = (first.clone(), column.len());
        match self.columns.iter().find(|(_, column)| column.len() != expected) {
            None => Ok(expected),
            Some((name, column)) => {
                let (name, rows) = (name.clone(), column.len());
                Err(TableError::Unequal { name, rows, first, expected })
            }
        }
    }

    fn schema(&self) -> Result<Type, TableError> {
        let mut fields = Vec::new();
        for (i, (name, column)) in self.columns.iter().enumerate() {
            if self.columns[..i].iter().any(|(other, _)| other == name) {
                return Err(TableError::Duplicate { name: name.clone() });
            }
            fields.push(Arc::new(column.field(name)?));
        }
        Ok(Type::group_type_builder("schema").with_fields(fields).build()?)
    }

    fn properties(&self, metadata: &[(&str, &str)]) -> Result<WriterProperties, TableError> {
        let pairs = metadata.iter().map(|(k, v)| KeyValue::new(k.to_string(), v.to_string()));
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("sojourn {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_key_value_metadata(Some(pairs.collect()));
        for (name, column) in &self.columns {
            // Text repeats. Counters and times mostly increase: their differences are far
            // shorter than a dictionary of unique values.
            let path = ColumnPath::from(name.as_str());
            let repeats = !matches!(column, Column::U64(_));
            properties = properties.set_column_dictionary_enabled(path.clone(), repeats);
            if !repeats {
                properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
        }
        Ok(properties.build())
    }
}

/// Cannot happen: schema and chunks come from the same columns.
fn fewer_columns() -> ParquetError {
    ParquetError::General("the schema has fewer columns than the table".into())
}
