//! The inputs of a Python controller: the values of `sojourn_cc`'s contract under the same names,
//! with their unit at the end (`_ns`, `_bytes`, `_packets`).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_params::Value;
use sojourn_units::{Bytes, Duration};

use super::repr::{Repr, class_repr};

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

/// A packet that leaves the sender: the argument of `on_sent`.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Sent {
    /// Packet number: counts every transmission of the connection from 0.
    number: u64,
    /// Payload.
    bytes: u64,
    /// Bytes in flight before this packet.
    in_flight_before_bytes: u64,
    /// Whether it retransmits data that was deemed lost.
    retransmission: bool,
    /// Whether its delivery-rate sample will be application-limited.
    app_limited: bool,
    /// Time since the last transmission if no packet is in flight, else zero.
    idle_ns: u64,
    /// The current retransmission timeout (RFC 6298); `None` before the first.
    rto_ns: Option<u64>,
}

class_repr! {
    Sent:
    number, bytes, in_flight_before_bytes, retransmission, app_limited, idle_ns, rto_ns,
}

impl Sent {
    pub(super) fn new(sent: &sojourn_cc::Sent) -> Sent {
        Sent {
            number: sent.number,
            bytes: sent.bytes.0,
            in_flight_before_bytes: sent.in_flight_before.0,
            retransmission: sent.retransmission,
            app_limited: sent.app_limited,
            idle_ns: sent.idle.0,
            rto_ns: known(sent.rto),
        }
    }
}

/// The content of one acknowledgement, or of one expiry of the loss timer: the argument of
/// `on_feedback`.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Feedback {
    /// Bytes newly acknowledged, cumulatively or selectively.
    acked_bytes: u64,
    /// Packets newly acknowledged.
    acked_packets: u64,
    /// Bytes newly deemed lost.
    lost_bytes: u64,
    /// Packets newly deemed lost.
    lost_packets: u64,
    /// Packet numbers of the lost packets, for a controller with `on_sent`.
    lost_numbers: Vec<u64>,
    /// Packets newly reported with CE; zero with classic ECN.
    ce_packets: u64,
    /// Packets newly reported with ECT(0).
    ect0_packets: u64,
    /// Packets newly reported with ECT(1).
    ect1_packets: u64,
    /// The first loss of a recovery episode.
    loss_event: bool,
    /// The first congestion-experienced echo of an episode (RFC 3168 section 6.1.2).
    ecn_event: bool,
    /// Within a recovery episode, after this feedback: the window must not grow.
    in_recovery: bool,
    /// A duplicate acknowledgement, after which the window must not grow: with the transport setting
    /// `growth_by_sack = false`.
    is_duplicate: bool,
    /// All losses of this episode were spurious: the packets arrived late.
    spurious: bool,
    /// A timeout expired, and its losses are not repaired yet.
    after_timeout: bool,
    /// Round-trip time of the newest acknowledged packet; `None` if it is ambiguous. It contains
    /// `ack_delay_ns`: subtract that to estimate a queue.
    rtt_ns: Option<u64>,
    /// Longest time for which the receiver may have delayed this acknowledgement, up to 40 ms with
    /// Linux's receiver; zero if it left at once. QUIC reports the time; over TCP, the last packets of
    /// a small window wait.
    ack_delay_ns: u64,
    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    srtt_ns: Option<u64>,
    /// Least round-trip time of the connection, with that of the handshake, whose packets are small;
    /// `None` before the first sample.
    min_rtt_ns: Option<u64>,
    /// Delivery-rate sample; `None` if this feedback has none.
    rate: Option<RateSample>,
    /// Total bytes delivered, including this feedback.
    delivered_bytes: u64,
    /// Bytes in flight before this feedback.
    in_flight_before_bytes: u64,
    /// Bytes in flight after it.
    in_flight_bytes: u64,
    /// Whether the window, or its pacing, limited the sender when it had sent the newest acknowledged
    /// packet, or since. If not, the window must not grow (RFC 9002 section 7.8).
    cwnd_limited: bool,
    /// Whether the data in flight filled the window then.
    cwnd_filled: bool,
    /// Window up to which slow start may grow if `cwnd_limited` is false: with TCP twice the
    /// greatest flight in the window of data (Linux, `tcp_is_cwnd_limited`), with QUIC zero.
    slow_start_to_bytes: u64,
    /// Largest packet number acknowledged so far.
    largest_acked: u64,
    /// Packet number of the next transmission. A round trip ends when `largest_acked` reaches
    /// the value that this had at its start.
    next_number: u64,
    /// Receive times of the newly acknowledged packets, for a controller with `receive_times`.
    received: Vec<Received>,
}

class_repr! {
    Feedback:
    acked_bytes, acked_packets, lost_bytes, lost_packets, lost_numbers, ce_packets,
    ect0_packets, ect1_packets, loss_event, ecn_event, in_recovery, is_duplicate, spurious, after_timeout,
    rtt_ns, ack_delay_ns, srtt_ns, min_rtt_ns, rate, delivered_bytes, in_flight_before_bytes, in_flight_bytes,
    cwnd_limited, cwnd_filled, slow_start_to_bytes, largest_acked, next_number, received,
}

impl Feedback {
    pub(super) fn new(feedback: &sojourn_cc::Feedback<'_>) -> Feedback {
        let Bytes(acked_bytes) = feedback.acked;
        Feedback {
            acked_bytes,
            acked_packets: feedback.acked_packets,
            lost_bytes: feedback.lost.0,
            lost_packets: feedback.lost_packets,
            lost_numbers: feedback.lost_numbers.to_vec(),
            ce_packets: feedback.ce_packets,
            ect0_packets: feedback.ect0_packets,
            ect1_packets: feedback.ect1_packets,
            loss_event: feedback.loss_event,
            ecn_event: feedback.ecn_event,
            in_recovery: feedback.in_recovery,
            is_duplicate: feedback.is_duplicate,
            spurious: feedback.spurious,
            after_timeout: feedback.after_timeout,
            rtt_ns: feedback.rtt.map(|rtt| rtt.0),
            ack_delay_ns: feedback.ack_delay.0,
            // Before the first sample, the contract has zero and the greatest value.
            srtt_ns: Some(feedback.srtt.0).filter(|srtt| *srtt > 0),
            min_rtt_ns: known(feedback.min_rtt),
            rate: feedback.rate.map(RateSample::new),
            delivered_bytes: feedback.delivered.0,
            in_flight_before_bytes: feedback.in_flight_before.0,
            in_flight_bytes: feedback.in_flight.0,
            cwnd_limited: feedback.cwnd_limited,
            cwnd_filled: feedback.cwnd_filled,
            slow_start_to_bytes: feedback.slow_start_to.0,
            largest_acked: feedback.largest_acked,
            next_number: feedback.next_number,
            received: feedback.received.iter().map(Received::new).collect(),
        }
    }
}

/// A delivery-rate sample.
#[pyclass(module = "sojourn", frozen, get_all)]
#[derive(Clone, Copy)]
pub(crate) struct RateSample {
    /// Bytes delivered over `interval_ns`.
    delivered_bytes: u64,
    /// Packet number of the sampled packet, the newest of those acknowledged.
    number: u64,
    /// The longer of the send and the acknowledgement interval.
    interval_ns: u64,
    /// Delivered bytes when the sampled packet was sent.
    prior_delivered_bytes: u64,
    /// Whether the packet was sent while the application had no more data to send.
    app_limited: bool,
    /// The sampled rate.
    bps: u64,
}

class_repr! {
    RateSample:
    delivered_bytes, number, interval_ns, prior_delivered_bytes, app_limited, bps,
}

impl RateSample {
    fn new(sample: sojourn_cc::RateSample) -> RateSample {
        RateSample {
            delivered_bytes: sample.delivered.0,
            number: sample.number,
            interval_ns: sample.interval.0,
            prior_delivered_bytes: sample.prior_delivered.0,
            app_limited: sample.app_limited,
            bps: sample.rate().0,
        }
    }
}

/// The send and receive times of a packet.
#[pyclass(module = "sojourn", frozen, get_all)]
#[derive(Clone, Copy)]
pub(crate) struct Received {
    /// Packet number.
    number: u64,
    /// Send time, on the sender's clock.
    sent_at_ns: u64,
    /// Receive time, on the receiver's clock.
    received_at_ns: u64,
    /// Payload.
    bytes: u64,
}

class_repr! {
    Received:
    number, sent_at_ns, received_at_ns, bytes,
}

impl Received {
    fn new(received: &sojourn_cc::Received) -> Received {
        Received {
            number: received.number,
            sent_at_ns: received.sent_at.0,
            received_at_ns: received.received_at.0,
            bytes: received.bytes.0,
        }
    }
}

/// `None` for the greatest value, which means "none yet" in the contract.
fn known(span: Duration) -> Option<u64> {
    (span < Duration::MAX).then_some(span.0)
}
