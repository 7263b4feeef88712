//! The tests of the explanation, in one program: `cargo test -p sojourn-explain NAME` runs the tests
//! of a module, or one test.

mod estimators;
mod hostile;
mod quic;
mod replay;
mod simulated;
mod sources;
