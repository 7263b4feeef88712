//! Queueing delay from one-way delays (RFC 6817), shared by controllers of media.

use sojourn_units::{Duration, Instant};

use crate::contract::Received;

/// Base delays of the last minutes (RFC 6817 section 2.5: BASE_HISTORY of ten minutes).
///
/// Deviation (RFC 8698 section 5.1.1): NADA's base delay is the least of ten minutes, and not of
/// tens of minutes.
const BASE_HISTORY: usize = 10;
/// RFC 6817 section 2.4.2: one base delay for each minute.
const MINUTE: Duration = Duration::from_secs(60);

/// The one-way delay above the least one of the last ten minutes. The clocks of sender and receiver
/// may differ, so a single delay may be negative.
#[derive(Clone, Debug, Default)]
pub(crate) struct OneWay {
    /// Least delay of each minute in nanoseconds, the latest last.
    base: Vec<i128>,
    minute_at: Option<Instant>,
}

impl OneWay {
    /// The queueing delay of a packet, in seconds.
    pub(crate) fn queueing(&mut self, now: Instant, packet: &Received) -> f64 {
        let delay = packet.one_way_delay();
        let begins = self.minute_at.is_none_or(|at| now.since(at) >= MINUTE);
        match self.base.last_mut() {
            Some(least) if !begins => *least = delay.min(*least),
            _ => {
                self.minute_at = Some(now);
                if self.base.len() == BASE_HISTORY {
                    self.base.remove(0);
                }
                self.base.push(delay);
            }
        }
        (delay - self.base().unwrap_or(delay)) as f64 / 1e9
    }

    /// The base delay in nanoseconds, with the offset of the clocks; `None` before the first packet.
    pub(crate) fn base(&self) -> Option<i128> {
        self.base.iter().copied().min()
    }

    /// Forgets all base delays.
    pub(crate) fn reset(&mut self) {
        *self = OneWay::default();
    }
}
