//! The tests of recorded series, captures and qlog, in one program: `cargo test -p sojourn-trace NAME` runs the tests of a
//! module, or one test.

mod captures;
mod histogram;
mod qlog;
mod table;
