//! The events at one end of a connection of a QUIC stack, as qlog.

use std::net::SocketAddr;

use serde_json::json;
use sojourn_trace::export::qlog::{Metrics, Qlog, Vantage};
use sojourn_transport::StackEvent;
use sojourn_units::Instant;

use super::sender_log::{Names, congestion_state, metrics, started};

/// The file of one end.
pub struct StackLog(Qlog);

impl StackLog {
    /// A file whose connection begins at `now` between these addresses: the end's own, and the
    /// other's. `epoch_ns`: its time 0, in nanoseconds since 1970.
    pub fn new(
        names: &Names<'_>,
        vantage: Vantage,
        epoch_ns: u64,
        now: Instant,
        ends: [SocketAddr; 2],
    ) -> StackLog {
        let mut log = names.begin(vantage, "QUIC", epoch_ns);
        log.event(now.0, "connection_started", &started(ends));
        StackLog(log)
    }

    /// An event of the end.
    pub fn event(&mut self, now: Instant, event: &StackEvent) {
        let log = &mut self.0;
        match event {
            StackEvent::Packet { is_sent, kind, number, length, frames } => {
                log.framed_packet(now.0, *is_sent, kind, *number, *length, frames);
            }
            StackEvent::Lost(kind, number) => {
                let header = json!({ "packet_type": kind, "packet_number": number });
                log.event(now.0, "packet_lost", &json!({ "header": header }));
            }
            // The header is optional (draft-ietf-quic-qlog-quic-events, PacketLost), and the stack
            // reports no part of it.
            StackEvent::LostBytes(bytes) => {
                log.event(now.0, "packet_lost", &json!({ "lost_bytes": bytes }));
            }
            StackEvent::State(vitals) => {
                log.metrics(now.0, &Metrics { pto_count: None, ..metrics(vitals) });
                congestion_state(log, now, vitals);
            }
        }
    }

    /// The file.
    pub fn log(&mut self) -> &mut Qlog {
        &mut self.0
    }
}
