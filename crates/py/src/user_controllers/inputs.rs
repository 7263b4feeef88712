//! The inputs of a Python controller: the values of `sojourn_cc`'s contract under the same names,
//! with their unit at the end (`_ns`, `_bytes`, `_packets`).

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_params::Value;
use sojourn_units::{Bytes, Duration};

/// The inputs of a controller's constructor.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Setup {
    mss_bytes: u64,
    initial_window_bytes: u64,
    paced: bool,
    seed: u64,
    /// Every declared parameter: times in ns, data in bytes, rates in bit/s.
    params: Py<PyDict>,
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

/// A packet that leaves the sender.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Sent {
    number: u64,
    bytes: u64,
    in_flight_before_bytes: u64,
    retransmission: bool,
    app_limited: bool,
    idle_ns: u64,
    rto_ns: Option<u64>,
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

/// The content of one acknowledgement, or of one expiry of the loss timer.
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Feedback {
    acked_bytes: u64,
    acked_packets: u64,
    lost_bytes: u64,
    lost_packets: u64,
    lost_numbers: Vec<u64>,
    ce_packets: u64,
    ect0_packets: u64,
    ect1_packets: u64,
    loss_event: bool,
    ecn_event: bool,
    in_recovery: bool,
    spurious: bool,
    after_timeout: bool,
    rtt_ns: Option<u64>,
    srtt_ns: Option<u64>,
    min_rtt_ns: Option<u64>,
    rate: Option<RateSample>,
    delivered_bytes: u64,
    in_flight_before_bytes: u64,
    in_flight_bytes: u64,
    cwnd_limited: bool,
    largest_acked: u64,
    next_number: u64,
    received: Vec<Received>,
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
            spurious: feedback.spurious,
            after_timeout: feedback.after_timeout,
            rtt_ns: feedback.rtt.map(|rtt| rtt.0),
            // Before the first sample, the contract has zero and the greatest value.
            srtt_ns: Some(feedback.srtt.0).filter(|srtt| *srtt > 0),
            min_rtt_ns: known(feedback.min_rtt),
            rate: feedback.rate.map(RateSample::new),
            delivered_bytes: feedback.delivered.0,
            in_flight_before_bytes: feedback.in_flight_before.0,
            in_flight_bytes: feedback.in_flight.0,
            cwnd_limited: feedback.cwnd_limited,
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
    delivered_bytes: u64,
    number: u64,
    interval_ns: u64,
    prior_delivered_bytes: u64,
    app_limited: bool,
    /// The sampled rate.
    bps: u64,
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
    number: u64,
    sent_at_ns: u64,
    received_at_ns: u64,
    bytes: u64,
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
