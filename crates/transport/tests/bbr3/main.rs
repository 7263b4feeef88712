//! BBR version 3 against the 22 test cases of draft-ietf-ccwg-bbr-06, appendix A,
//! each by its number. docs/bbr3.md has them as a table.
//!
//! The appendix wants a single connection over a controlled path. This one is the
//! transport's own sender and receiver with a bottleneck that a test can change
//! the moment the flow enters a state.

use sojourn_units::{Duration, Rate};

mod bandwidth;
mod drain;
mod path;
mod probe_bw;
mod probe_rtt;
mod spurious;
mod startup;

use path::{Path, Row, ms};

/// Unless a case needs another: 173 packets of bandwidth-delay product.
const RATE: Rate = Rate::from_mbit(50);
const RTT: Duration = ms(40);
/// Long enough for every state to come by: a probe every two to three seconds.
const CYCLE: Duration = Duration::from_secs(6);

/// A path with a buffer of ten bandwidth-delay products, where nothing is lost.
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
