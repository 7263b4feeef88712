//! The observed series beside the twin's, in steps for pictures.

use serde::Serialize;

use crate::path::view::View;

/// Steps of a series: a picture is about as wide.
const STEPS: usize = 240;
/// Least width of a step, in s.
const LEAST_S: f64 = 0.05;

/// The series of all flows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    /// Width of a step.
    pub step_s: f64,
    /// The flows, in the order of the result's.
    pub flows: Vec<FlowSeries>,
}

/// A flow, step by step; null in a step without a value.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowSeries {
    /// The mean round-trip time observed.
    pub rtt_s: Vec<Option<f64>>,
    /// The rate observed, on the link.
    pub rate_bps: Vec<Option<f64>>,
    /// Bytes of payload for each byte on the link.
    pub payload_share: f64,
    /// The twin's round-trip time; empty without a twin.
    pub twin_rtt_s: Vec<Option<f64>>,
    /// The twin's rate.
    pub twin_rate_bps: Vec<Option<f64>>,
}

/// The series of some views over a time in s. `payload`: each one's payload for a byte on the link.
pub(crate) fn series(views: &[View], payload: &[f64], duration: f64) -> Series {
    let step_s = step(views, duration);
    let flows = views.iter().zip(payload).map(|(view, share)| FlowSeries {
        payload_share: *share,
        rtt_s: rtts(view, step_s, duration),
        rate_bps: rates(view, step_s, duration),
        ..FlowSeries::default()
    });
    Series { flows: flows.collect(), step_s }
}

impl Series {
    /// Adds the twin's views, in the order of the flows.
    pub(crate) fn add_twin(&mut self, views: &[Option<View>], duration: f64) {
        for (flow, view) in self.flows.iter_mut().zip(views) {
            let Some(view) = view else { continue };
            flow.twin_rtt_s = rtts(view, self.step_s, duration);
            flow.twin_rate_bps = rates(view, self.step_s, duration);
        }
    }
}

/// The width of a step: no narrower than a source's samples are apart.
fn step(views: &[View], duration: f64) -> f64 {
    let interval = views.iter().map(|view| view.interval).fold(LEAST_S, f64::max);
    (duration / STEPS as f64).max(interval)
}

fn count(step: f64, duration: f64) -> usize {
    ((duration / step).ceil() as usize).clamp(1, STEPS + 1)
}

fn rtts(view: &View, step: f64, duration: f64) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); count(step, duration)];
    for trip in &view.trips {
        if let Some(sum) = sums.get_mut((trip.at / step).max(0.0) as usize) {
            *sum = (sum.0 + trip.rtt, sum.1 + 1.0);
        }
    }
    sums.into_iter().map(|(sum, n)| (n > 0.0).then(|| sum / n)).collect()
}

fn rates(view: &View, step: f64, duration: f64) -> Vec<Option<f64>> {
    let (begin, end) = view.span();
    let rate = |k: usize| {
        let (from, to) = (k as f64 * step, (k + 1) as f64 * step);
        let bytes = view.delivered_at(to) - view.delivered_at(from);
        (to >= begin && from <= end).then(|| 8.0 * bytes / step)
    };
    (0..count(step, duration)).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::series;
    use crate::path::view::{Trip, View};

    #[test]
    fn steps_have_means_and_none_where_nothing_was_seen() {
        let trips = [(0.1, 0.02), (0.15, 0.04), (0.9, 0.05)];
        let view = View {
            delivered: vec![(0.0, 0.0), (1.0, 1000.0)],
            trips: trips.map(|(at, rtt)| Trip { at, rtt, window: 0.0 }).to_vec(),
            interval: 0.25,
            ..View::default()
        };
        let found = series(&[view], &[0.9], 2.0);
        assert_eq!(found.step_s, 0.25);
        let flow = &found.flows[0];
        assert_eq!(flow.rtt_s[..4], [Some(0.03), None, None, Some(0.05)]);
        assert_eq!(
            flow.rate_bps[..6],
            [Some(8e3), Some(8e3), Some(8e3), Some(8e3), Some(0.0), None]
        );
    }
}
