//! A table of columns.

use crate::column::{Column, Text};

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
/// assert_eq!(table.columns()[time].1.len(), 1);
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
}
