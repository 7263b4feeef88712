//! A flow alone on its link, or beside constant-rate traffic.

use super::dumbbell::{Dumbbell, estimates, loads, mean};
use crate::common::{flow, link};
use crate::table::Table;

const GBIT: f64 = 1e9;

/// Rapid carries 0.95 of 1 Gbit/s after the longer of four round trips and five tau (five time
/// constants leave 0.7 % of the distance; four round trips are the claim of the paper of 2009), and
/// 0.98 from then on. The queue stays below 5 ms, and no packet is lost.
#[test]
fn alone_it_fills_a_gigabit_and_hardly_queues() {
    for filter in ["exponential", "linear"] {
        for rtt_ms in [1.0, 10.0, 50.0, 100.0, 250.0, 400.0] {
            let params = if filter == "linear" { ", filter = \"linear\"" } else { "" };
            let run =
                Dumbbell { capacity: GBIT, rtt_ms, seconds: 6, sample_ms: 10, params, cross: None }
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
            let rest = share(ready, 6.1);
            assert!(rest >= 0.98, "{what}: {rest} from then on");
            let link = link(&run.summary, "bottleneck");
            assert!(link.queue_delay_max_s.unwrap() < 0.005, "{what}: {link:?}");
            assert_eq!(flow(&run.summary, "f").retransmitted_packets, 0, "{what}");
        }
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

/// Results of ten seconds beside a constant rate, from the third second on.
struct Beside {
    /// Mean estimate and mean sending rate, as shares of the available bandwidth.
    estimate: f64,
    sent: f64,
    /// Share of the estimates that are correct within 5 %.
    right: f64,
    /// Maximum queueing delay in the third second and in the last, in milliseconds.
    queues: [f64; 2],
}

fn beside(load: f64, rtt_ms: f64, params: &'static str) -> Beside {
    let cross = Some((load * GBIT, 1000, 0, 0));
    let run = Dumbbell { capacity: GBIT, rtt_ms, seconds: 10, sample_ms: 5, params, cross }.run();
    let truth = (1.0 - load) * GBIT;
    let estimates: Vec<_> =
        estimates(&run).into_iter().filter(|(t, _)| *t > 3.0).map(|e| e.1 / truth).collect();
    let loads = loads(&run);
    let sent = mean(loads.iter().filter(|(t, ..)| *t > 3.0).map(|(_, bps, _)| *bps));
    let queue = |from: f64| {
        let within = loads.iter().filter(|(t, ..)| (from..from + 1.0).contains(t));
        within.map(|(.., wait)| wait * 1e3).fold(0.0, f64::max)
    };
    Beside {
        estimate: mean(estimates.iter().copied()),
        sent: (sent - load * GBIT) / truth,
        right: mean(estimates.iter().map(|e| f64::from(u8::from((e - 1.0).abs() <= 0.05)))),
        queues: [queue(2.0), queue(9.0)],
    }
}

/// The estimates of single streams scatter, since packets of other flows arrive between their
/// packets. The mean estimate is correct within 5 %, and so is the sending rate.
#[test]
fn the_estimate_is_right_beside_constant_traffic() {
    for rtt_ms in [1.0, 5.0, 250.0] {
        for load in [0.1, 0.5, 0.9] {
            beside(load, rtt_ms, "").check(&format!("{rtt_ms} ms, {load}"));
        }
    }
}

impl Beside {
    #[track_caller]
    fn check(&self, what: &str) {
        assert!((0.95..1.05).contains(&self.estimate), "{what}: estimates {}", self.estimate);
        assert!((0.95..1.05).contains(&self.sent), "{what}: sends {}", self.sent);
    }
}

#[test]
fn what_constant_traffic_does_to_it_is_shown() {
    let columns =
        ["load", "filter", "mean estimate", "right within 5 %", "rate", "queue, 3rd s", "10th s"];
    let mut table = Table::new(&columns);
    for load in [0.1, 0.3, 0.5, 0.7, 0.9] {
        for (filter, params) in [("exponential", ""), ("linear", ", filter = \"linear\"")] {
            let found = beside(load, 50.0, params);
            found.check(&format!("{load} {filter}"));
            table.row(&[
                format!("{:.0} %", load * 100.0),
                filter.into(),
                format!("{:.3}", found.estimate),
                format!("{:.0} %", found.right * 100.0),
                format!("{:.3}", found.sent),
                format!("{:.1} ms", found.queues[0]),
                format!("{:.1} ms", found.queues[1]),
            ]);
        }
    }
    table.publish_in("rapid.md");
}
