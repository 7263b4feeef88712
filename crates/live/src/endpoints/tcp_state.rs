//! The state of a sender of the kernel's TCP, for the record and the event file.

use sojourn_sim::RemoteState;
use sojourn_transport::{Vitals, Why};
use sojourn_units::{Bytes, Duration, Rate};

use crate::machine::sys::tcp_info::{INFINITE, TcpInfo};

/// Payload that the sender knows to be delivered, also beyond gaps. Packets may be smaller than the
/// greatest segment, so it is at most what was sent.
fn delivered_bytes(info: &TcpInfo) -> u64 {
    let packets = u64::from(info.delivered.saturating_sub(1));
    let sent = info.bytes_sent.saturating_sub(info.bytes_retransmitted);
    (packets * u64::from(info.snd_mss)).min(sent)
}

/// The state of a sender for the record.
pub(crate) fn state(info: &TcpInfo) -> RemoteState {
    let bytes = |packets: u32| Bytes(u64::from(packets) * u64::from(info.snd_mss));
    let span = |us: u32| (0 < us && us < u32::MAX).then(|| Duration::from_micros(u64::from(us)));
    let rate = |bytes: u64| (0 < bytes && bytes < u64::MAX / 8).then(|| Rate(bytes * 8));
    let gone = info.sacked + info.lost;
    RemoteState {
        received_bytes: delivered_bytes(info),
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
        spurious_retransmissions: Some(u64::from(info.dsack_dups)),
        timeouts: info.total_rto.map(u64::from),
        rwnd_limited: Duration::from_micros(info.rwnd_limited_us),
        marked: u64::from(info.delivered_ce),
        ..RemoteState::default()
    }
}

/// The state of a sender for its event file; `None` before the connection is open.
pub(crate) fn vitals(info: &TcpInfo) -> Option<Vitals> {
    let state = state(info);
    let (cwnd, srtt) = (state.cwnd?, state.srtt?);
    Some(Vitals {
        latest_rtt: None,
        smoothed_rtt: Some(srtt),
        min_rtt: state.min_rtt,
        rtt_variation: Some(Duration::from_micros(u64::from(info.rttvar_us))),
        timeouts: u32::from(info.backoff),
        cwnd,
        ssthresh: state.ssthresh,
        in_flight: state.in_flight,
        pacing: state.pacing,
        phase: state.phase,
        recovery: Why::Nothing,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets beyond a gap count, a SYN does not, and small packets count as what was sent.
    #[test]
    fn delivered_payload_is_known_beyond_gaps() {
        let info = TcpInfo { snd_mss: 1448, delivered: 11, ..TcpInfo::default() };
        let sent = |bytes_sent, bytes_retransmitted| {
            delivered_bytes(&TcpInfo { bytes_sent, bytes_retransmitted, ..info })
        };
        assert_eq!(sent(20 * 1448, 2 * 1448), 10 * 1448);
        assert_eq!(sent(5_000, 1_000), 4_000);
        assert_eq!(delivered_bytes(&TcpInfo::default()), 0);
    }
}
