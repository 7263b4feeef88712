//! One bulk flow over links that only delay and lose packets: losses alone limit it, as the laws of
//! the loss rate assume.

use crate::common::{scenario, simulate};
use crate::series::flow_series;

/// Payload of a full packet of the TCP profile.
const MSS: f64 = 1448.0;

/// Parameters of a run.
pub(crate) struct Path {
    /// A name that is unique among all runs.
    pub(crate) name: String,
    /// The controller, in the scenario's syntax.
    pub(crate) control: String,
    /// Round-trip time in seconds.
    pub(crate) rtt: f64,
    /// The key `loss` of the link.
    pub(crate) loss: String,
    /// Average number of packets for each loss.
    pub(crate) period: f64,
    /// Packets for each acknowledgement.
    pub(crate) ack_every: u32,
    /// Expected average window in packets.
    pub(crate) expected: f64,
    /// Initial window and receive window, in packets. If they are equal, the flight is constant before
    /// the first loss: after an unlimited slow start far above the steady windows, the effect would
    /// last long. The window leads the flight by a factor of two, which some losses make up for.
    pub(crate) start_and_limit: (f64, f64),
    /// Number of losses to skip at first, and number of losses to measure.
    pub(crate) losses: (u64, u64),
}

impl Path {
    fn text(&self) -> String {
        let Path { control, loss, ack_every, losses: (skipped, measured), .. } = self;
        let round_trips = (skipped + measured) as f64 * self.period / self.expected;
        // A third more than expected, so that the run does not end too soon.
        let duration = (1.3 * round_trips * self.rtt).ceil();
        format!(
            r#"
duration = "{duration}s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "{interval}us" }}
[link.way]
delay = "{half}us"
loss = {loss}
[link.back]
delay = "{half}us"
[flow.f]
control = {control}
path = ["way"]
back = ["back"]
host = {{ ack_every = {ack_every}, initial_window = {start}, receive_window = "{limit}B" }}
"#,
            interval = (self.rtt * 1e6).round(),
            half = (self.rtt * 5e5).round(),
            start = self.start_and_limit.0.round(),
            limit = self.start_and_limit.1.round() * MSS,
        )
    }

    /// Average window of a run without timeouts, since the laws leave timeouts out.
    pub(crate) fn mean_window(&self) -> f64 {
        let (window, timeouts) = self.window_and_timeouts();
        assert_eq!(timeouts, 0, "{}", self.name);
        window
    }

    /// Average number of packets delivered in a round trip, over whole periods between losses, and
    /// the number of timeouts in the run. Without a queue this number is the average window.
    pub(crate) fn window_and_timeouts(&self) -> (f64, u64) {
        let scenario = scenario(&self.text());
        let outcome = simulate(&scenario, scenario.seed);
        let columns = ["t_s", "delivered_bytes", "lost_packets"];
        let rows = flow_series(&outcome, "f", columns);
        let with = |losses: u64| {
            let found = rows.iter().find(|row| row[2] >= losses as f64);
            *found.unwrap_or_else(|| panic!("the run ends before {losses} losses"))
        };
        let (skipped, measured) = self.losses;
        let (first, last) = (with(skipped), with(skipped + measured));
        let window = (last[1] - first[1]) / (last[0] - first[0]) * self.rtt / MSS;
        (window, outcome.summary.flows[0].timeouts.unwrap())
    }
}
