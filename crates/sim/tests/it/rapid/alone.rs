//! A flow alone on its link, or beside constant-rate traffic.

use super::dumbbell::{Dumbbell, estimates, loads, mean};
use crate::common::{flow, link};

const GBIT: f64 = 1e9;

/// Rapid carries 0.95 of 1 Gbit/s after the longer of four round trips and five tau (five time
/// constants leave 0.7 % of the distance; four round trips are the claim of the paper of 2009), and
/// 0.98 from then on. The queue stays below 5 ms, and no packet is lost.
#[test]
fn alone_it_fills_a_gigabit_and_hardly_queues() {
    for (filter, rtt_ms) in
        [("exponential", 1.0), ("exponential", 50.0), ("exponential", 400.0), ("linear", 50.0)]
    {
        let params = if filter == "linear" { ", filter = \"linear\"" } else { "" };
        let run =
            Dumbbell { capacity: GBIT, rtt_ms, seconds: 4, sample_ms: 10, params, cross: None }
                .run();
        let what = format!("{filter}, {rtt_ms} ms");
        let loads = loads(&run);
        let ready = (4.0 * rtt_ms / 1e3).max(5.0 * 0.2);
        let share = |from: f64, to: f64| {
            let within = loads.iter().filter(|(t, ..)| (from..to).contains(t));
            mean(within.map(|(_, bps, _)| bps / GBIT))
        };
        // 100 ms: some 300 streams.
        let begin = share(ready, ready + 0.1);
        assert!(begin >= 0.95, "{what}: {begin} once it is time");
        let rest = share(ready, 4.1);
        assert!(rest >= 0.98, "{what}: {rest} from then on");
        let link = link(&run.summary, "bottleneck");
        assert!(link.queue_delay_max_s.unwrap() < 0.005, "{what}: {link:?}");
        assert_eq!(flow(&run.summary, "f").retransmitted_packets, 0, "{what}");
    }
}

/// Ten times the capacity takes one more round of start-up, with the same parameters.
#[test]
fn alone_it_fills_ten_gigabits() {
    let run = Dumbbell {
        capacity: 10.0 * GBIT,
        rtt_ms: 50.0,
        seconds: 2,
        sample_ms: 10,
        params: "",
        cross: None,
    }
    .run();
    let loads = loads(&run);
    let late = mean(loads.iter().filter(|(t, ..)| *t > 1.0).map(|(_, bps, _)| bps / 1e10));
    assert!(late >= 0.98, "{late}");
    assert!(link(&run.summary, "bottleneck").queue_delay_max_s.unwrap() < 0.005);
}

/// Means over the seconds after the third of a run beside a constant rate: the estimate and the
/// sending rate, as shares of the available bandwidth.
fn beside(load: f64, rtt_ms: f64, params: &'static str) -> [f64; 2] {
    let cross = Some((load * GBIT, 1000, 0, 0));
    let run = Dumbbell { capacity: GBIT, rtt_ms, seconds: 8, sample_ms: 5, params, cross }.run();
    let truth = (1.0 - load) * GBIT;
    let estimates = estimates(&run).into_iter().filter(|(t, _)| *t > 3.0).map(|e| e.1 / truth);
    let loads = loads(&run);
    let sent = mean(loads.iter().filter(|(t, ..)| *t > 3.0).map(|(_, bps, _)| *bps));
    [mean(estimates), (sent - load * GBIT) / truth]
}

/// The estimates of single streams scatter, since packets of other flows arrive between their
/// packets: a stream is 30 packets, and each packet between them is 3 % of it. The mean estimate is
/// correct within 5 %, and so is the sending rate, with either filter.
#[test]
fn the_estimate_is_right_beside_constant_traffic() {
    let linear = ", filter = \"linear\"";
    let cells = [(0.5, 1.0, ""), (0.1, 50.0, ""), (0.5, 50.0, ""), (0.9, 50.0, "")];
    for (load, rtt_ms, params) in cells.into_iter().chain([(0.5, 50.0, linear), (0.9, 250.0, "")]) {
        let [estimate, sent] = beside(load, rtt_ms, params);
        let what = format!("{load} of the link, {rtt_ms} ms{params}");
        assert!((0.95..1.05).contains(&estimate), "{what}: estimates {estimate}");
        assert!((0.95..1.05).contains(&sent), "{what}: sends {sent}");
    }
}
