//! A flow that has its link to itself, or shares it with a constant rate.

use crate::common::{flow, link};
use crate::dumbbell::{Dumbbell, estimates, loads, mean};

const GBIT: f64 = 1e9;

/// It carries 0.95 of 1 Gbit/s once the longer of four round trips and five tau has
/// passed (five time constants leave 0.7 % of any way; four round trips are what the
/// paper of 2009 claims), and 0.98 from then on; the queue stays below 5 ms, and nothing
/// is lost.
#[test]
fn alone_it_fills_a_gigabit_and_hardly_queues() {
    for filter in ["exponential", "linear"] {
        for rtt_ms in [1.0, 10.0, 50.0, 100.0, 250.0, 400.0] {
            let params = if filter == "linear" { ", filter = \"linear\"" } else { "" };
            let run =
                Dumbbell { capacity: GBIT, rtt_ms, seconds: 6, sample_ms: 10, params, cross: None }
                    .run();
            let what = format!("{filter}, {rtt_ms} ms");
            let loads = loads(&run, &format!("alone-{filter}-{rtt_ms}"));
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

/// Ten times the capacity takes one more round of start-up, and no other parameters.
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
    let loads = loads(&run, "alone-10g");
    let late = mean(loads.iter().filter(|(t, ..)| *t > 1.0).map(|(_, bps, _)| bps / 1e10));
    assert!(late >= 0.98, "{late}");
    assert!(link(&run.summary, "bottleneck").queue_delay_max_s.unwrap() < 0.005);
}

/// What each stream says scatters, since packets of others come between single packets
/// of its own; the mean of what they say is right within 5 %, and so is the rate that
/// follows them.
#[test]
fn the_estimate_is_right_beside_constant_traffic() {
    for rtt_ms in [1.0, 5.0, 50.0, 250.0] {
        for load in [0.1, 0.5, 0.9] {
            let cross = Some((load * GBIT, 1000, 0, 0));
            let run =
                Dumbbell { capacity: GBIT, rtt_ms, seconds: 10, sample_ms: 5, params: "", cross }
                    .run();
            let truth = (1.0 - load) * GBIT;
            let file = format!("constant-{rtt_ms}-{load}");
            let late = estimates(&run, &file).into_iter().filter(|(t, _)| *t > 3.0);
            let estimate = mean(late.map(|(_, bps)| bps)) / truth;
            assert!((0.95..1.05).contains(&estimate), "{rtt_ms} ms, {load}: {estimate}");
            let late = loads(&run, &file).into_iter().filter(|(t, ..)| *t > 3.0);
            let rate = (mean(late.map(|(_, bps, _)| bps)) - load * GBIT) / truth;
            assert!((0.95..1.05).contains(&rate), "{rtt_ms} ms, {load}: sends {rate}");
        }
    }
}
