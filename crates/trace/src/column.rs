//! Columns: values of one type, appended row by row.

use std::collections::BTreeMap;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

/// Repetitive text, such as names of flows and links: each distinct value is stored once,
/// and each row holds an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    codes: Vec<u32>,
    values: Vec<String>,
    code_of: BTreeMap<String, u32>,
}

impl Text {
    /// Appends a row. This is fast if the value equals that of the previous row, or is the
    /// next distinct value, as with names that take turns. Otherwise it searches the
    /// distinct values.
    pub fn push(&mut self, value: &str) {
        let last = self.codes.last().map_or(0, |code| *code as usize);
        let turn = if last + 1 < self.values.len() { last + 1 } else { 0 };
        let is = |code: &usize| self.values.get(*code).is_some_and(|known| known == value);
        let code = match [last, turn].into_iter().find(is) {
            Some(code) => code as u32,
            None => self.code(value),
        };
        self.codes.push(code);
    }

    fn code(&mut self, value: &str) -> u32 {
        if let Some(code) = self.code_of.get(value) {
            return *code;
        }
        let code = u32::try_from(self.values.len()).expect("over 2^32 distinct texts in a column");
        self.values.push(value.to_string());
        self.code_of.insert(value.to_string(), code);
        code
    }

    /// The value of a row, or `None` past the last.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.codes.get(row).map(|code| self.values[*code as usize].as_str())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

impl<'a> FromIterator<&'a str> for Text {
    fn from_iter<I: IntoIterator<Item = &'a str>>(values: I) -> Text {
        let mut text = Text::default();
        values.into_iter().for_each(|value| text.push(value));
        text
    }
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Floats; NaN is a missing value, and becomes a Parquet null.
    F64(Vec<f64>),
    /// Whole numbers, such as times in ns, bytes and counts.
    U64(Vec<u64>),
    /// Names.
    Text(Text),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::F64(values) => values.len(),
            Column::U64(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// Whether the column is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column's field in a Parquet schema.
    pub(crate) fn field(&self, name: &str) -> Result<Type, ParquetError> {
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
    pub(crate) fn write(
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
                    text.values.iter().map(|v| ByteArray::from(v.as_str())).collect();
                let codes = text.codes[from..to].iter();
                let rows: Vec<ByteArray> = codes.map(|c| dictionary[*c as usize].clone()).collect();
                writer.typed::<ByteArrayType>().write_batch(&rows, None, None)?;
            }
        }
        Ok(())
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Column {
        Column::F64(values)
    }
}
impl From<Vec<Option<f64>>> for Column {
    fn from(values: Vec<Option<f64>>) -> Column {
        Column::F64(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}
impl From<Vec<u64>> for Column {
    fn from(values: Vec<u64>) -> Column {
        Column::U64(values)
    }
}
impl From<Text> for Column {
    fn from(values: Text) -> Column {
        Column::Text(values)
    }
}
