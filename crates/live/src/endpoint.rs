//! The state of a flow's two ends, as the bottleneck's record samples it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sojourn_sim::{Endpoint, EndpointState};
use sojourn_units::{Bytes, Duration, Rate};

use crate::sys::tcp_info::TcpInfo;

/// The state of a flow, shared by its threads and the bottleneck.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Payload that the receiver has read.
    pub(crate) received: AtomicU64,
    /// The sender's latest state.
    pub(crate) info: Mutex<TcpInfo>,
}

/// The view of the record.
pub(crate) struct Observer {
    shared: Arc<Shared>,
    /// Last state, for the moment at which a thread writes the next.
    last: Cell<TcpInfo>,
}

impl Observer {
    pub(crate) fn new(shared: Arc<Shared>) -> Observer {
        Observer { shared, last: Cell::default() }
    }
}

impl Endpoint for Observer {
    fn state(&self) -> EndpointState {
        // Never waits: the caller is the bottleneck.
        if let Ok(info) = self.shared.info.try_lock() {
            self.last.set(*info);
        }
        state(&self.last.get(), self.shared.received.load(Ordering::Relaxed))
    }
}

/// Slow start threshold before the first reduction (Linux `TCP_INFINITE_SSTHRESH`).
const INFINITE: u32 = 0x7fff_ffff;

fn state(info: &TcpInfo, received_bytes: u64) -> EndpointState {
    let bytes = |packets: u32| Bytes(u64::from(packets) * u64::from(info.snd_mss));
    let span = |us: u32| (0 < us && us < u32::MAX).then(|| Duration::from_micros(u64::from(us)));
    let rate = |bytes: u64| (0 < bytes && bytes < u64::MAX / 8).then(|| Rate(bytes * 8));
    let gone = info.sacked + info.lost;
    EndpointState {
        received_bytes,
        phase: phase(info),
        cwnd: (info.snd_cwnd > 0).then(|| bytes(info.snd_cwnd)),
        ssthresh: (info.snd_ssthresh < INFINITE).then(|| bytes(info.snd_ssthresh)),
        srtt: span(info.rtt_us),
        min_rtt: span(info.min_rtt_us),
        pacing: rate(info.pacing_rate),
        bandwidth: rate(info.delivery_rate),
        in_flight: bytes((info.unacked + info.retrans).saturating_sub(gone)),
        // Each packet that the sender deems lost is retransmitted, and TCP_INFO counts only these.
        lost: u64::from(info.total_retrans),
        retransmitted: u64::from(info.total_retrans),
        marked: u64::from(info.delivered_ce),
    }
}

/// The state of Linux's recovery (`enum tcp_ca_state`).
fn phase(info: &TcpInfo) -> &'static str {
    match info.ca_state {
        _ if info.snd_mss == 0 => "",
        1 => "disorder",
        2 => "cwr",
        3 => "recovery",
        4 => "loss",
        _ if info.snd_cwnd < info.snd_ssthresh => "slow_start",
        _ => "avoidance",
    }
}
