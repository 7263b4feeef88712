//! The topology of TR11-007, figure 2: a bottleneck between links that only delay, with a buffer
//! that never overflows.

use sojourn_sim::Outcome;

use crate::common::{scenario, simulate};
use crate::series::{flow_series, link_series};

/// Wire bits at the bottleneck for each payload bit.
pub(crate) const WIRE: f64 = 1500.0 / 1448.0;

/// A run of flow `f`.
pub(crate) struct Dumbbell {
    /// Capacity in bit/s.
    pub(crate) capacity: f64,
    pub(crate) rtt_ms: f64,
    pub(crate) seconds: u64,
    /// Time between samples.
    pub(crate) sample_ms: u64,
    /// Keys after `kind = "rapid"`.
    pub(crate) params: &'static str,
    /// Traffic without congestion control: its rate on the bottleneck while it is on, in bit/s; its
    /// on and off times in milliseconds; and its start in seconds.
    pub(crate) cross: Option<(f64, u64, u64, u64)>,
}

impl Dumbbell {
    pub(crate) fn run(&self) -> Outcome {
        let half = self.rtt_ms / 2.0;
        let (capacity, seconds) = (self.capacity as u64, self.seconds);
        let (sample, params) = (self.sample_ms, self.params);
        let cross = self.cross.map_or(String::new(), |(rate, on, off, start)| {
            let payload = (rate / WIRE) as u64;
            format!(
                "[flow.cross]\ncontrol = \"none\"\npath = [\"bottleneck\"]\nstart = \"{start}s\"\n\
                 source = {{ kind = \"on-off\", rate = \"{payload}bit\", on = \"{on}ms\", \
                 off = \"{off}ms\" }}\n"
            )
        });
        let text = format!(
            r#"
duration = "{seconds}s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "{sample}ms" }}
[link.bottleneck]
rate = "{capacity}bit"
delay = "{half}ms"
buffer = "unlimited"
[link.back]
delay = "{half}ms"
[flow.f]
control = {{ kind = "rapid"{params} }}
path = ["bottleneck"]
back = ["back"]
host = {{ receive_times = true }}
{cross}"#
        );
        simulate(&scenario(&text), 1)
    }
}

/// Time in seconds and estimate of the available bandwidth in wire bit/s.
pub(crate) fn estimates(outcome: &Outcome) -> Vec<(f64, f64)> {
    let rows = flow_series(outcome, "f", ["t_s", "bandwidth_bps"]);
    rows.into_iter().map(|[t, bps]| (t, bps * WIRE)).collect()
}

/// Time in seconds, the bottleneck's carried rate since the previous sample, and the maximum delay
/// in that interval.
pub(crate) fn loads(outcome: &Outcome) -> Vec<(f64, f64, f64)> {
    let names = ["t_s", "carried_bps", "queue_delay_s"];
    let rows = link_series(outcome, "bottleneck", names);
    rows.into_iter()
        .map(|[t, bps, wait]| (t, bps, if wait.is_nan() { 0.0 } else { wait }))
        .collect()
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v, count + 1));
    sum / f64::from(count)
}
