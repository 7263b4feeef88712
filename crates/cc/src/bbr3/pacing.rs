//! The pacing rate and the send quantum (sections 5.6.2 and 5.6.3).

use sojourn_units::{Bytes, Duration, Rate};

use super::Bbr3;
use super::config::Config;
use super::factor::Factor;

/// Round-trip time before the first sample (section 5.6.2).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// A send quantum is the data sent at the pacing rate in this time (section 5.6.3).
const QUANTUM_SPAN: Duration = Duration::from_millis(1);
/// Maximum send quantum (section 5.6.3).
const MOST_QUANTUM: Bytes = Bytes(64 * 1024);

/// The pacing rate and the send quantum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// `C.pacing_rate`.
    pub(super) rate: Rate,
    /// `C.send_quantum`.
    pub(super) send_quantum: Bytes,
    seen_rtt: bool,
}

impl Pacer {
    pub(super) fn new(config: &Config) -> Pacer {
        let rate = initial_rate(NOMINAL_RTT, config);
        let mut pacer = Pacer { rate, send_quantum: Bytes::ZERO, seen_rtt: false };
        pacer.set_send_quantum(config);
        pacer
    }

    /// `InitPacingRate`: the first round-trip time, of the handshake or of the first
    /// acknowledgement, replaces the nominal one.
    pub(super) fn on_first_rtt(&mut self, srtt: Duration, config: &Config) {
        if !self.seen_rtt && srtt > Duration::ZERO {
            self.seen_rtt = true;
            self.rate = initial_rate(srtt, config);
        }
    }

    /// `SetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self, config: &Config) {
        let quantum = self.rate.bytes_in(QUANTUM_SPAN).min(MOST_QUANTUM);
        self.send_quantum = quantum.max(config.smss * 2);
    }
}

fn initial_rate(rtt: Duration, config: &Config) -> Rate {
    config.startup_pacing_gain.of_rate(Rate::from_transfer(config.initial_cwnd, rtt))
}

impl Bbr3 {
    /// `SetPacingRateWithGain`: until the pipe is full, the rate may only rise. Without an
    /// estimate of the bandwidth, the rate does not change.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: Factor) {
        let rate = self.config.pacing_share.of_rate(gain.of_rate(self.bandwidth.bw));
        if rate > self.pacer.rate || (self.full_bw.reached && rate > Rate::ZERO) {
            self.pacer.rate = rate;
        }
    }
}
