//! Estimate of the dequeue rate, for packets without timestamps (RFC 8033 section 5.2).

use sojourn_units::{Bytes, Instant};

/// `DQ_THRESHOLD`: bytes of one measurement.
const DQ_THRESHOLD: Bytes = Bytes(1 << 14);
/// Weight of a measurement in the average: `DQ_THRESHOLD` over 2^16.
const WEIGHT: f64 = 0.25;

/// The average time in which `DQ_THRESHOLD` bytes leave. Measured only with at least that
/// many bytes waiting, because a shorter queue may run empty during the measurement.
#[derive(Default)]
pub(super) struct DqRate {
    measurement: Option<Measurement>,
    /// `avg_dq_time_`, in seconds.
    avg_dq_time: Option<f64>,
}

/// A measurement in progress.
struct Measurement {
    start: Instant,
    /// `dq_count_`.
    dequeued: Bytes,
}

impl DqRate {
    /// Time in seconds to transmit `backlog`; zero before the first measurement.
    pub(super) fn qdelay(&self, backlog: Bytes) -> f64 {
        let per_threshold = self.avg_dq_time.unwrap_or(0.0);
        backlog.as_f64() * per_threshold / DQ_THRESHOLD.as_f64()
    }

    /// Records a dequeued packet of `size`, which left `backlog` behind.
    pub(super) fn on_dequeued(&mut self, now: Instant, size: Bytes, backlog: Bytes) {
        let is_long = backlog >= DQ_THRESHOLD;
        if self.measurement.is_none() && is_long {
            self.measurement = Some(Measurement { start: now, dequeued: Bytes::ZERO });
        }
        let Some(measurement) = &mut self.measurement else { return };
        measurement.dequeued += size;
        if measurement.dequeued < DQ_THRESHOLD {
            return;
        }
        let dq_time = now.since(measurement.start).as_secs_f64();
        let average = self.avg_dq_time.unwrap_or(dq_time);
        self.avg_dq_time = Some(WEIGHT * dq_time + (1.0 - WEIGHT) * average);
        self.measurement = is_long.then_some(Measurement { start: now, dequeued: Bytes::ZERO });
    }
}
