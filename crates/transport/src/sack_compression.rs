//! Compression of selective acknowledgements, as in Linux (`net/ipv4/tcp_input.c`,
//! `__tcp_ack_snd_check`).

use sojourn_units::Duration;

use crate::config::Config;

/// Acknowledgements of packets beyond a gap that leave at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;
/// Packets that one acknowledgement may wait for (`tcp_comp_sack_nr`).
const MOST: u8 = 44;
/// The timer's slack, which passes before it expires on an idle processor (`tcp_comp_sack_slack_ns`).
const SLACK: Duration = Duration::from_micros(100);
/// Part of a round trip for which an acknowledgement may wait.
const PART: u64 = 20;

/// Delays acknowledgements of packets beyond a gap, from the fourth on.
#[derive(Debug)]
pub(crate) struct SackCompression {
    delay: Duration,
    /// The first missing segment, and the acknowledgements that have left since it is missing.
    missing: u64,
    sent: u8,
    /// Packets since the last acknowledgement.
    held: u8,
}

impl SackCompression {
    pub(crate) fn new(config: &Config) -> Option<SackCompression> {
        let delay = config.sack_compression;
        let is_on = delay > Duration::ZERO && config.sack_ranges > 0;
        is_on.then_some(SackCompression { delay, missing: 0, sent: 0, held: 0 })
    }

    /// The handshake took `rtt`.
    ///
    /// Deviation (Linux `__tcp_ack_snd_check`): the delay is a part of the handshake's round trip; in
    /// Linux, of the receiver's later estimate if that is less.
    pub(crate) fn on_established(&mut self, rtt: Duration) {
        self.delay = self.delay.min(rtt / PART);
    }

    /// The delay of the acknowledgement of a packet out of order; `None` if it leaves at once.
    /// `missing`: the first missing segment after the packet, which `advanced` it by these segments.
    pub(crate) fn delay(&mut self, missing: u64, advanced: u64) -> Option<Duration> {
        if advanced > 1 || self.held >= MOST {
            return None;
        }
        if self.missing != missing {
            (self.missing, self.sent) = (missing, 0);
        }
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        self.held += 1;
        Some(self.delay + SLACK)
    }

    pub(crate) fn on_ack(&mut self) {
        self.held = 0;
    }
}
