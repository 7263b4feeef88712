//! BBR version 3 against the 22 test cases of draft-ietf-ccwg-bbr-06, appendix A, by number.
//!
//! The appendix requires a single connection over a controlled path. This path connects the
//! transport's own sender and receiver through a bottleneck that a test can change as soon as the
//! flow enters a state.

use sojourn_units::{Duration, Rate};

mod bandwidth;
mod drain;
mod path;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use path::{Path, Row, ms};

/// Default of the test cases: a bandwidth-delay product of 173 packets.
const RATE: Rate = Rate::from_mbit(50);
const RTT: Duration = ms(40);
/// Long enough for every state: a probe comes every two to three seconds.
const CYCLE: Duration = Duration::from_secs(6);

/// A path with a buffer of ten bandwidth-delay products, which loses no packets.
fn deep() -> Path {
    Path::without_probe_rtt(RATE, RTT, 10.0)
}

/// A path with a buffer so shallow that each probe loses packets.
fn shallow() -> Path {
    Path::without_probe_rtt(RATE, RTT, 0.5)
}

/// The rows in which the flow has just entered another state.
fn changes(rows: &[Row]) -> Vec<&Row> {
    rows.windows(2).filter(|w| w[0].view.state != w[1].view.state).map(|w| &w[1]).collect()
}
