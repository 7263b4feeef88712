//! Datagrams for both ends of QUIC, in each stack.

use crate::connection;
use crate::known::survive;

/// Passes the steps in `data` to a connection of each stack, whose memory and work stay bounded.
pub(crate) fn check(data: &[u8]) {
    survive(|| connection::quic(data));
}
