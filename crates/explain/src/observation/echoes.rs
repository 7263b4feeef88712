//! Round-trip times from an acknowledgement to the data that echo its timestamp (RFC 7323).
//!
//! At the receiver, this is the only pair that spans the path. The sender sends data as soon as
//! an acknowledgement permits, so that the least times have no wait at the sender in them.

use std::collections::VecDeque;

use sojourn_trace::capture::Stamps;

/// Acknowledgements that wait for their echo.
const MOST_WAITING: usize = 1 << 12;

/// The timestamps of the receiver's packets that were not echoed yet, each with the time of its
/// first packet in ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Echoes {
    waiting: VecDeque<(u32, i64)>,
}

impl Echoes {
    /// The receiver sends a packet.
    #[inline]
    pub(crate) fn sent(&mut self, now: i64, stamps: Stamps) {
        if self.waiting.back().is_some_and(|last| !is_before(last.0, stamps.value)) {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((stamps.value, now));
    }

    /// Data of the sender pass; returns the time of the packet that they echo first.
    #[inline]
    pub(crate) fn echoed(&mut self, stamps: Stamps) -> Option<i64> {
        while let Some(&(value, at)) = self.waiting.front() {
            if is_before(stamps.echo, value) {
                return None;
            }
            self.waiting.pop_front();
            if value == stamps.echo {
                return Some(at);
            }
        }
        None
    }
}

/// Serial number arithmetic (RFC 7323 section 5.2).
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::Echoes;
    use sojourn_trace::capture::Stamps;

    fn stamps(value: u32, echo: u32) -> Stamps {
        Stamps { value, echo }
    }

    #[test]
    fn only_the_first_echo_of_the_first_packet_counts() {
        let mut echoes = Echoes::default();
        echoes.sent(10, stamps(u32::MAX, 0));
        echoes.sent(15, stamps(u32::MAX, 0));
        echoes.sent(20, stamps(1, 0));
        assert_eq!(echoes.echoed(stamps(0, u32::MAX)), Some(10));
        assert_eq!(echoes.echoed(stamps(0, u32::MAX)), None);
        assert_eq!(echoes.echoed(stamps(0, 1)), Some(20));
        assert_eq!(echoes.echoed(stamps(0, 2)), None);
    }
}
