//! The inputs of a Python controller: the values of `sojourn_cc`'s contract under the same names,
//! with their unit at the end (`_ns`, `_bytes`, `_packets`).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_units::Duration;
use sojourn_units::params::Value;

use super::repr::{Repr, input};

/// The inputs of a controller's constructor. Amounts are payload bytes.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Setup {
    /// Payload of a full packet.
    mss_bytes: u64,
    /// The initial congestion window.
    initial_window_bytes: u64,
    /// Whether the transport paces its packets.
    paced: bool,
    /// Seed of the random draws of the controller.
    seed: u64,
    /// Every declared parameter: times in ns, data in bytes, rates in bit/s.
    params: Py<PyDict>,
}

#[pymethods]
impl Setup {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Setup { mss_bytes, initial_window_bytes, paced, seed, params } = self;
        let (paced, params) = (paced.repr(), params.bind(py).repr()?);
        Ok(format!(
            "Setup(mss_bytes={mss_bytes}, initial_window_bytes={initial_window_bytes}, \
             paced={paced}, seed={seed}, params={params})"
        ))
    }
}

impl Setup {
    pub(super) fn new(py: Python<'_>, setup: &sojourn_cc::Setup) -> PyResult<Setup> {
        let params = PyDict::new(py);
        for (name, value) in setup.params.iter() {
            match value {
                Value::Number(v) => params.set_item(name, v)?,
                Value::Switch(v) => params.set_item(name, v)?,
                Value::Choice(v) => params.set_item(name, v)?,
                Value::Integer(v) => params.set_item(name, v)?,
                Value::Time(v) => params.set_item(name, v.0)?,
                Value::Data(v) => params.set_item(name, v.0)?,
                Value::Rate(v) => params.set_item(name, v.0)?,
            }
        }
        Ok(Setup {
            mss_bytes: setup.mss.0,
            initial_window_bytes: setup.initial_window.0,
            paced: setup.paced,
            seed: setup.seed,
            params: params.unbind(),
        })
    }
}

input! {
    /// A packet that leaves the sender: the argument of `on_sent`.
    Sent(sent: &sojourn_cc::Sent) {
        /// Packet number: counts every transmission of the connection from 0.
        number: u64 = sent.number,
        /// Payload.
        bytes: u64 = sent.bytes.0,
        /// Bytes in flight before this packet.
        in_flight_before_bytes: u64 = sent.in_flight_before.0,
        /// Whether it retransmits data that was deemed lost.
        retransmission: bool = sent.retransmission,
        /// Whether its delivery-rate sample will be application-limited.
        app_limited: bool = sent.app_limited,
        /// Time since the last transmission if no packet is in flight, else zero.
        idle_ns: u64 = sent.idle.0,
        /// The current retransmission timeout (RFC 6298); `None` before the first.
        rto_ns: Option<u64> = known(sent.rto),
    }
}

input! {
    /// The content of one acknowledgement, or of one expiry of the loss timer: the argument of
    /// `on_feedback`.
    Feedback(feedback: &sojourn_cc::Feedback<'_>) {
        /// Bytes newly acknowledged, cumulatively or selectively.
        acked_bytes: u64 = feedback.acked.0,
        /// Packets newly acknowledged.
        acked_packets: u64 = feedback.acked_packets,
        /// Bytes newly deemed lost.
        lost_bytes: u64 = feedback.lost.0,
        /// Packets newly deemed lost.
        lost_packets: u64 = feedback.lost_packets,
        /// Packet numbers of the lost packets, for a controller with `on_sent`.
        lost_numbers: Vec<u64> = feedback.lost_numbers.to_vec(),
        /// Packets newly reported with CE; zero with classic ECN.
        ce_packets: u64 = feedback.ce_packets,
        /// Packets newly reported with ECT(0).
        ect0_packets: u64 = feedback.ect0_packets,
        /// Packets newly reported with ECT(1).
        ect1_packets: u64 = feedback.ect1_packets,
        /// The first loss of a recovery episode.
        loss_event: bool = feedback.loss_event,
        /// The first congestion-experienced echo of an episode (RFC 3168 section 6.1.2).
        ecn_event: bool = feedback.ecn_event,
        /// Within a recovery episode, after this feedback: the window must not grow.
        in_recovery: bool = feedback.in_recovery,
        /// A duplicate acknowledgement, after which the window must not grow: with the transport setting
        /// `growth_by_sack = false`.
        is_duplicate: bool = feedback.is_duplicate,
        /// All losses of this episode were spurious: the packets arrived late.
        spurious: bool = feedback.spurious,
        /// A timeout expired, and its losses are not repaired yet.
        after_timeout: bool = feedback.after_timeout,
        /// Round-trip time of the newest acknowledged packet; `None` if it is ambiguous. It contains
        /// `ack_delay_ns`: subtract that to estimate a queue.
        rtt_ns: Option<u64> = feedback.rtt.map(|rtt| rtt.0),
        /// Longest time for which the receiver may have delayed this acknowledgement, up to 40 ms with
        /// Linux's receiver; zero if it left at once. QUIC reports the time; over TCP, the last packets of
        /// a small window wait.
        ack_delay_ns: u64 = feedback.ack_delay.0,
        /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
        // Before the first sample, the contract has zero and the greatest value.
        srtt_ns: Option<u64> = Some(feedback.srtt.0).filter(|srtt| *srtt > 0),
        /// Least round-trip time of the connection, with that of the handshake, whose packets are small;
        /// `None` before the first sample.
        min_rtt_ns: Option<u64> = known(feedback.min_rtt),
        /// Delivery-rate sample; `None` if this feedback has none.
        rate: Option<RateSample> = feedback.rate.map(RateSample::new),
        /// Total bytes delivered, including this feedback.
        delivered_bytes: u64 = feedback.delivered.0,
        /// Bytes in flight before this feedback.
        in_flight_before_bytes: u64 = feedback.in_flight_before.0,
        /// Bytes in flight after it.
        in_flight_bytes: u64 = feedback.in_flight.0,
        /// Whether the window, or its pacing, limited the sender when it had sent the newest acknowledged
        /// packet, or since. If not, the window must not grow (RFC 9002 section 7.8).
        cwnd_limited: bool = feedback.cwnd_limited,
        /// Whether the data in flight filled the window then.
        cwnd_filled: bool = feedback.cwnd_filled,
        /// Window up to which slow start may grow if `cwnd_limited` is false: with TCP twice the
        /// greatest flight in the window of data (Linux, `tcp_is_cwnd_limited`), with QUIC zero.
        slow_start_to_bytes: u64 = feedback.slow_start_to.0,
        /// Largest packet number acknowledged so far.
        largest_acked: u64 = feedback.largest_acked,
        /// Packet number of the next transmission. A round trip ends when `largest_acked` reaches
        /// the value that this had at its start.
        next_number: u64 = feedback.next_number,
        /// Receive times of the newly acknowledged packets, for a controller with `receive_times`.
        received: Vec<Received> = feedback.received.iter().map(Received::new).collect(),
    }
}

input! {
    /// A delivery-rate sample.
    #[derive(Clone, Copy)]
    RateSample(sample: sojourn_cc::RateSample) {
        /// Bytes delivered over `interval_ns`.
        delivered_bytes: u64 = sample.delivered.0,
        /// Packet number of the sampled packet, the newest of those acknowledged.
        number: u64 = sample.number,
        /// The longer of the send and the acknowledgement interval.
        interval_ns: u64 = sample.interval.0,
        /// Delivered bytes when the sampled packet was sent.
        prior_delivered_bytes: u64 = sample.prior_delivered.0,
        /// Whether the packet was sent while the application had no more data to send.
        app_limited: bool = sample.app_limited,
        /// The sampled rate.
        bps: u64 = sample.rate().0,
    }
}

input! {
    /// The send and receive times of a packet.
    #[derive(Clone, Copy)]
    Received(received: &sojourn_cc::Received) {
        /// Packet number.
        number: u64 = received.number,
        /// Send time, on the sender's clock.
        sent_at_ns: u64 = received.sent_at.0,
        /// Receive time, on the receiver's clock.
        received_at_ns: u64 = received.received_at.0,
        /// Payload.
        bytes: u64 = received.bytes.0,
    }
}

/// `None` for the greatest value, which means "none yet" in the contract.
fn known(span: Duration) -> Option<u64> {
    (span < Duration::MAX).then_some(span.0)
}
