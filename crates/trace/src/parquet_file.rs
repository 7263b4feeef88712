//! The Parquet encoding of a table.

use std::fmt;
use std::sync::Arc;

use parquet::basic::{
    Compression, ConvertedType, Encoding, GzipLevel, Repetition, Type as Physical,
};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};

use crate::column::Column;
use crate::table::Table;

/// Rows per row group: the unit in which readers skip or read, and the amount copied while
/// writing (some 10 MB per column).
const ROWS_PER_GROUP: usize = 1 << 20;

/// The fastest: higher levels save one per cent on such series.
const GZIP_LEVEL: u32 = 1;

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

impl Table {
    /// The table as a Parquet file, compressed with gzip. The file's footer stores
    /// `metadata` in the given order.
    ///
    /// The same table and version of Sojourn give the same bytes: the file contains no time
    /// and no host name.
    ///
    /// ```
    /// use sojourn_trace::Table;
    ///
    /// let mut table = Table::new();
    /// table.add("time_s", vec![0.25]);
    /// let bytes = table.to_parquet(&[("seed", "1")])?;
    /// assert!(bytes.starts_with(b"PAR1"));
    /// # Ok::<(), sojourn_trace::TableError>(())
    /// ```
    ///
    /// # Errors
    /// If columns differ in length or share a name, or if there are none.
    pub fn to_parquet(&self, metadata: &[(&str, &str)]) -> Result<Vec<u8>, TableError> {
        let rows = self.rows()?;
        let schema = Arc::new(self.schema()?);
        let properties = Arc::new(self.properties(metadata)?);
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, schema, properties)?;
        for from in (0..rows).step_by(ROWS_PER_GROUP) {
            let to = rows.min(from + ROWS_PER_GROUP);
            let mut group = writer.next_row_group()?;
            for (_, column) in self.columns() {
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
        let Some((first, column)) = self.columns().first() else {
            return Err(TableError::NoColumns);
        };
        let (first, expected) = (first.clone(), column.len());
        match self.columns().iter().find(|(_, column)| column.len() != expected) {
            None => Ok(expected),
            Some((name, column)) => {
                let (name, rows) = (name.clone(), column.len());
                Err(TableError::Unequal { name, rows, first, expected })
            }
        }
    }

    fn schema(&self) -> Result<Type, TableError> {
        let mut fields = Vec::new();
        for (i, (name, column)) in self.columns().iter().enumerate() {
            if self.columns()[..i].iter().any(|(other, _)| other == name) {
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
            .set_compression(Compression::GZIP(GzipLevel::try_new(GZIP_LEVEL)?))
            .set_key_value_metadata(Some(pairs.collect()));
        for (name, column) in self.columns() {
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

impl Column {
    /// The column's field in a Parquet schema.
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, converted, repetition) = match self {
            // Always optional, so that the schema does not depend on the events of a run.
            Column::F64(_) => (Physical::DOUBLE, ConvertedType::NONE, Repetition::OPTIONAL),
            Column::U64(_) => (Physical::INT64, ConvertedType::UINT_64, Repetition::REQUIRED),
            Column::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8, Repetition::REQUIRED),
        };
        Type::primitive_type_builder(name, physical)
            .with_converted_type(converted)
            .with_repetition(repetition)
            .build()
    }

    /// Writes the rows from `from` up to, but not including, `to`.
    fn write(
        &self,
        from: usize,
        to: usize,
        writer: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        match self {
            Column::F64(values) => {
                let rows = &values[from..to];
                let present: Vec<f64> = rows.iter().copied().filter(|v| !v.is_nan()).collect();
                let levels: Vec<i16> = rows.iter().map(|v| i16::from(!v.is_nan())).collect();
                writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
            }
            Column::U64(values) => {
                // Parquet stores unsigned integers in the bits of signed ones.
                let rows: Vec<i64> = values[from..to].iter().map(|v| *v as i64).collect();
                writer.typed::<Int64Type>().write_batch(&rows, None, None)?;
            }
            Column::Text(text) => {
                let dictionary: Vec<ByteArray> =
                    text.values().iter().map(|v| ByteArray::from(v.as_str())).collect();
                let codes = text.codes()[from..to].iter();
                let rows: Vec<ByteArray> = codes.map(|c| dictionary[*c as usize].clone()).collect();
                writer.typed::<ByteArrayType>().write_batch(&rows, None, None)?;
            }
        }
        Ok(())
    }
}

/// Cannot happen: schema and chunks come from the same columns.
fn fewer_columns() -> ParquetError {
    ParquetError::General("the schema has fewer columns than the table".into())
}
