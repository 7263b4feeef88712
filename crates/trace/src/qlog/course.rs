//! The state of one path over time.

use std::sync::Arc;

/// Least time between two rows, in seconds; samples are made from rows at the end.
const ROW_S: f64 = 1e-3;

/// The state at the end of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Time of its first event, in seconds.
    pub(super) t: f64,
    pub(super) cwnd: Option<f64>,
    pub(super) ssthresh: Option<f64>,
    pub(super) srtt: Option<f64>,
    /// The greatest RTT within the row.
    pub(super) rtt: Option<f64>,
    pub(super) min_rtt: Option<f64>,
    pub(super) pacing: Option<f64>,
    pub(super) in_flight: Option<f64>,
    /// Bytes of data; the greatest number means too many.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) acked: u64,
    pub(super) lost: u64,
    /// Packets with data that was sent before.
    pub(super) again: u64,
    pub(super) marked: u64,
    pub(super) phase: Arc<str>,
}

/// One path of a trace.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The complete rows; those of the whole path after [`Course::finish`].
    pub(super) rows: Vec<Row>,
    pub(super) row: Row,
    /// RTT samples in seconds.
    pub(super) samples: Vec<f64>,
    pub(super) timeouts: u64,
    pub(super) sent_packets: u64,
    /// Events of the path, of unknown types too.
    pub(super) events: u64,
    /// Whether the samples come from packets and acknowledgements.
    is_measured: bool,
    pto: f64,
}

impl Course {
    /// Begins a row if it is time for one; returns whether it did.
    pub(super) fn advance(&mut self, now: f64) -> bool {
        if now - self.row.t < ROW_S {
            return false;
        }
        let next = Row { t: now, rtt: None, ..self.row.clone() };
        let row = std::mem::replace(&mut self.row, next);
        if self.events > 1 {
            self.rows.push(row);
        }
        true
    }

    /// Completes the last row, after all events.
    pub(super) fn finish(&mut self) {
        if self.events > 0 {
            self.rows.push(self.row.clone());
        }
    }

    /// Records the RTT, in seconds, of a packet and its acknowledgement.
    pub(super) fn measure(&mut self, rtt: f64) {
        if !self.is_measured {
            self.is_measured = true;
            self.samples.clear();
        }
        self.sample(rtt);
    }

    /// Records an RTT that the log names, unless the packets show them.
    pub(super) fn report(&mut self, rtt: f64) {
        if !self.is_measured {
            self.sample(rtt);
        }
    }

    fn sample(&mut self, rtt: f64) {
        // Below 0, the log's clock ran backwards between packet and acknowledgement.
        if rtt >= 0.0 {
            self.samples.push(rtt);
            self.row.rtt = Some(rtt.max(self.row.rtt.unwrap_or(0.0)));
        }
    }

    /// Records the number of consecutive timeouts.
    pub(super) fn pto_count(&mut self, count: f64) {
        self.timeouts += u64::from(count > self.pto);
        self.pto = count;
    }

    /// Memory in bytes.
    pub(super) fn weight(&self) -> usize {
        size_of::<Course>() + self.rows.capacity() * size_of::<Row>() + self.samples.capacity() * 8
    }
}
