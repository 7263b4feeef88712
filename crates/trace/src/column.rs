//! Columns: values of one type, appended row by row.

use std::collections::BTreeMap;

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

    /// The distinct values, in the order of their first rows.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The index into [`Text::values`] of each row.
    pub fn codes(&self) -> &[u32] {
        &self.codes
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
