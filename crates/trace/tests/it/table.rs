//! Tables, written and read back with Parquet's own reader.

use std::fs::File;
use std::path::Path;

use parquet::basic::{Compression, Encoding};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use sojourn_trace::{Column, Table, TableError, Text};

/// Opens bytes as a Parquet file. `name` separates tests, which run concurrently.
fn open(name: &str, bytes: &[u8]) -> SerializedFileReader<File> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.parquet"));
    std::fs::write(&path, bytes).unwrap();
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows(reader: &SerializedFileReader<File>) -> Vec<Vec<Field>> {
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
        .collect()
}

/// Three rows of each type, filled as a recorder would.
fn example() -> Table {
    let mut table = Table::new();
    let time = table.add("time_ns", Vec::<u64>::new());
    let rtt = table.add("rtt_s", Vec::<f64>::new());
    let flow = table.add("flow", Text::default());
    for (t, r, name) in [(0, 0.05, "up"), (u64::MAX, f64::NAN, "down"), (7, 0.1, "up")] {
        table.u64(time).push(t);
        table.f64(rtt).push(r);
        table.text(flow).push(name);
    }
    table
}

#[test]
fn reads_back_what_was_written() {
    let reader = open("reads_back", &example().to_parquet(&[]).unwrap());
    let text = |value: &str| Field::Str(value.into());
    let expected = [
        vec![Field::ULong(0), Field::Double(0.05), text("up")],
        vec![Field::ULong(u64::MAX), Field::Null, text("down")],
        vec![Field::ULong(7), Field::Double(0.1), text("up")],
    ];
    assert_eq!(rows(&reader), expected);
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<_> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, ["time_ns", "rtt_s", "flow"]);
}

#[test]
fn the_file_says_what_made_it() {
    let bytes = example().to_parquet(&[("seed", "7"), ("scenario", "a \"drop\"\n")]).unwrap();
    let reader = open("says", &bytes);
    let metadata = reader.metadata().file_metadata();
    let made_by = format!("sojourn {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(metadata.created_by(), Some(made_by.as_str()));
    let pairs = metadata.key_value_metadata().unwrap().iter();
    let pairs: Vec<_> = pairs.map(|kv| (kv.key.as_str(), kv.value.as_deref())).collect();
    assert_eq!(pairs, [("seed", Some("7")), ("scenario", Some("a \"drop\"\n"))]);
}

#[test]
fn the_same_table_gives_the_same_bytes() {
    let write = || example().to_parquet(&[("seed", "7")]).unwrap();
    assert_eq!(write(), write());
}

#[test]
fn options_are_floats_or_null() {
    let mut table = Table::new();
    table.add("x", vec![None, Some(-0.0), Some(f64::INFINITY), None]);
    let reader = open("options", &table.to_parquet(&[]).unwrap());
    let (null, double) = (vec![Field::Null], |v| vec![Field::Double(v)]);
    assert_eq!(rows(&reader), [null.clone(), double(-0.0), double(f64::INFINITY), null]);
}

#[test]
fn a_table_without_rows_keeps_its_columns() {
    let mut table = Table::new();
    table.add("time_s", Vec::<f64>::new());
    table.add("flow", Text::default());
    let reader = open("no_rows", &table.to_parquet(&[]).unwrap());
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), 2);
    assert_eq!(rows(&reader), Vec::<Vec<Field>>::new());
}

#[test]
fn refuses_what_is_no_table() {
    let mut table = Table::new();
    assert!(matches!(table.to_parquet(&[]), Err(TableError::NoColumns)));
    table.add("a", vec![1_u64, 2]);
    table.add("b", vec![0.5, 1.0]);
    table.add("c", ["x"].into_iter().collect::<Text>());
    let error = table.to_parquet(&[]).unwrap_err();
    assert_eq!(error.to_string(), "column `c` has 1 rows, but `a` has 2");
    table.text(2).push("y");
    assert!(table.to_parquet(&[]).is_ok());
    table.add("a", vec![1_u64, 2]);
    assert_eq!(table.to_parquet(&[]).unwrap_err().to_string(), "two columns are named `a`");
}

#[test]
#[should_panic(expected = "column `rtt_s` is not of text")]
fn a_column_has_one_type() {
    example().text(1).push("50ms");
}

#[test]
fn repeated_text_is_stored_once() {
    let name = "a rather long name of a flow in a scenario with many of them";
    let mut text = Text::default();
    for i in 0..100_000 {
        text.push(if i % 3 == 0 { name } else { "other" });
    }
    assert_eq!((text.get(0), text.get(1), text.get(100_000)), (Some(name), Some("other"), None));
    let mut table = Table::new();
    table.add("flow", text);
    let bytes = table.to_parquet(&[]).unwrap();
    let reader = open("repeated", &bytes);
    let chunk = reader.metadata().row_group(0).column(0);
    assert!(chunk.encodings().any(|encoding| encoding == Encoding::RLE_DICTIONARY));
    assert!(matches!(chunk.compression(), Compression::GZIP(_)));
    // A bit per row before compression, not 20 bytes.
    assert!(chunk.uncompressed_size() < 100_000 / 8 + 1000);
    assert_eq!(rows(&reader)[3..5], [[Field::Str(name.into())], [Field::Str("other".into())]]);
}

/// More rows than a row group holds, and more distinct floats than a dictionary page: no
/// rows are lost at the boundaries.
#[test]
fn long_tables_come_back_whole() {
    let n = (1 << 20) + 3;
    let times: Vec<u64> = (0..n).map(|i| i * 1_000_003).collect();
    let values: Vec<f64> =
        (0..n).map(|i| if i % 5 == 0 { f64::NAN } else { i as f64 / 7.0 }).collect();
    let mut table = Table::new();
    table.add("time_ns", times.clone());
    table.add("x", values.clone());
    let bytes = table.to_parquet(&[]).unwrap();
    let reader = open("long", &bytes);
    assert_eq!(reader.metadata().num_row_groups(), 2);
    let rows = reader.get_row_iter(None).unwrap();
    let mut count = 0;
    for (i, row) in rows.enumerate() {
        let fields: Vec<_> = row.unwrap().into_columns().into_iter().map(|(_, f)| f).collect();
        let x = if values[i].is_nan() { Field::Null } else { Field::Double(values[i]) };
        assert_eq!(fields, [Field::ULong(times[i]), x]);
        count += 1;
    }
    assert_eq!(count, n);
    // Times that grow evenly take less than a bit per row.
    let chunk = reader.metadata().row_group(0).column(0);
    assert!(chunk.compressed_size() < 1 << 17, "{} bytes", chunk.compressed_size());
}

#[test]
fn columns_can_be_looked_at() {
    let table = example();
    assert_eq!(table.columns()[0], ("time_ns".into(), Column::U64(vec![0, u64::MAX, 7])));
    assert!(table.columns().iter().all(|(_, column)| column.len() == 3 && !column.is_empty()));
}
