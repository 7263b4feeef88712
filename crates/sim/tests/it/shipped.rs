//! Every shipped scenario runs, and shows the effects that its comment describes.

use crate::common::{all_shipped, flow, link, run, run_all, shipped, shipped_text};
use sojourn_sim::{RunSummary, estimate};

fn summaries(name: &str) -> Vec<RunSummary> {
    let scenario = shipped(name);
    run_all(&scenario, scenario.seed).into_iter().map(|outcome| outcome.summary).collect()
}

#[test]
fn every_one_runs_and_moves_data() {
    for name in all_shipped() {
        for summary in summaries(&name) {
            for flow in &summary.flows {
                let what = format!("{name}: {} of {}", flow.name, summary.control);
                if flow.control == "none" && flow.rtt_p50_s.is_some() {
                    // Pings, of 512 bits each, are answered unless a full queue drops one.
                    assert!(flow.completed_transfers >= 20, "{what}: {flow:?}");
                    assert!(flow.dropped_packets <= 3, "{what}: {flow:?}");
                    continue;
                }
                assert!(flow.goodput_bps > 10e3, "{what}: {flow:?}");
                assert!(flow.sent_packets > 100, "{what}: {flow:?}");
            }
            for link in &summary.links {
                assert!(link.utilisation.is_none_or(|u| u <= 1.0 + 1e-4), "{name}: {link:?}");
            }
        }
    }
}

#[test]
fn every_one_says_what_it_is() {
    for name in all_shipped() {
        assert!(shipped_text(&name).starts_with("# "), "{name} begins with a comment");
        assert!(!shipped(&name).title.is_empty(), "{name} has a title");
    }
}

#[test]
fn every_one_is_small() {
    for name in all_shipped() {
        let bytes = estimate(&shipped(&name)).0;
        assert!(bytes < 200 << 20, "{name} would take {bytes} bytes");
    }
}

/// A shaper keeps the modem's buffer empty. Without it the upload fills the buffer, and the
/// download waits for its acknowledgements.
#[test]
fn the_shaper_moves_the_queue() {
    let shaped = summaries("shaper.toml").remove(0);
    let modem = |summary: &RunSummary| link(summary, "modem").queue_delay_p99_s.unwrap();
    // The shaper's burst and the packet beyond it, 4500 bytes, at 20 Mbit/s.
    assert!(modem(&shaped) <= 4500.0 * 8.0 / 20e6, "{}", modem(&shaped));
    assert!(link(&shaped, "router").utilisation.unwrap() > 0.98, "the shaper is in use");
    let text = shipped_text("shaper.toml");
    let queue = text.lines().find(|line| line.starts_with("queue = { kind = \"htb\"")).unwrap();
    let plain = run(&text.replace(queue, "queue = \"droptail\""));
    assert!(modem(&plain) > 0.3, "{}", modem(&plain));
    let download = |summary: &RunSummary| flow(summary, "download").rtt_p50_s.unwrap();
    assert!(download(&plain) > 5.0 * download(&shaped));
}

/// The trace follows the formula in the scenario's comment.
#[test]
fn the_cellular_trace_is_its_formula() {
    let (mut carried, mut lines) = (0.0, Vec::new());
    for m in 1..=8000 {
        let turn = |period: f64| libm::sin(std::f64::consts::TAU * f64::from(m) / period);
        let mbit = (4.0 + 3.0 * turn(8000.0) + 2.5 * turn(1600.0)).max(0.0);
        carried += mbit * 1e3;
        if carried >= 1504.0 * 8.0 {
            carried -= 1504.0 * 8.0;
            lines.push(m);
        }
    }
    if lines.last() != Some(&8000) {
        lines.push(8000);
    }
    let text: String = lines.iter().map(|m| format!("{m}\n")).collect();
    assert_eq!(text, shipped_text("traces/cellular.trace"));
}

#[test]
fn a_cellular_link_s_buffer_costs_cubic_more_than_the_ideal() {
    let all = summaries("cellular.toml");
    let wait = |run: &RunSummary| link(run, "downlink").queue_delay_p50_s.unwrap();
    let [cubic, _, ideal] = &all[..] else { panic!("three controllers") };
    assert!(wait(cubic) > 2.0 * wait(ideal), "{} {}", wait(cubic), wait(ideal));
}

#[test]
fn an_outage_is_nobody_s_fault() {
    for summary in summaries("wifi-outage.toml") {
        let [ramp, outage, back] = &summary.spikes[..] else { panic!("three changes") };
        assert!(ramp.bound_s.unwrap() > 0.0);
        // Packets that arrive at the start of the outage wait for half a second.
        assert_eq!(outage.bound_s, Some(0.5));
        // Most packets that wait at its end arrived at its start. (CoDel drops the first of these;
        // of BBR's it drops all, since it is already dropping.)
        let cubic = summary.control == "cubic";
        assert!(!cubic || outage.spike_s.unwrap() > 0.250, "{outage:?}");
        assert_eq!(back.excess_s, None, "a rise");
        // The flow returns to most of 80 Mbit/s.
        assert!(back.utilisation_after.unwrap() > 0.5, "{}: {back:?}", summary.control);
    }
}

/// Each flow gets about half of 50 Mbit/s less headers, though one has five times the other's round
/// trip and starts late.
#[test]
fn fair_queueing_gives_the_distant_its_half() {
    let summary = &summaries("fair-share.toml")[0];
    let half = 25e6 * 1448.0 / 1500.0;
    let far = flow(summary, "far").goodput_bps;
    // The distant flow starts slowly, and its window leaves gaps after each mark.
    assert!(far > 0.85 * half && far < 1.02 * half, "{far}");
    assert!(flow(summary, "near").goodput_bps > half);
}

/// The bursts' mean is 30 Mbit/s x 100 / 450, independently of the upload.
#[test]
fn cross_traffic_heeds_nothing() {
    for summary in summaries("cross-traffic.toml") {
        let bursts = flow(&summary, "bursts");
        let mean = 30e6 * 100.0 / 450.0;
        // 67 cycles of random length: a fifth is two standard deviations.
        assert!((0.6 * mean..1.4 * mean).contains(&bursts.goodput_bps), "{bursts:?}");
        let used = link(&summary, "bottleneck").utilisation.unwrap();
        // CUBIC yields at each burst, and its recovery takes longer than the pause.
        assert!(used > 0.6, "{}: {used}", summary.control);
    }
}

#[test]
fn browsing_is_faster_behind_fair_queueing() {
    let summary = &summaries("web.toml")[0];
    let median = |name| flow(summary, name).response_p50_s.unwrap();
    let (deep, fair) = (median("web_deep"), median("web_fair"));
    // Two round trips of 30 ms, 14 packets of 0.6 ms at half the rate.
    assert!((0.060..0.110).contains(&fair), "{fair}");
    assert!(deep > 2.0 * fair, "{deep} {fair}");
}

/// The model gives 0.903, and 50 ms in the worst phase, which this is; CUBIC fills 125 ms.
#[test]
fn rapid_follows_bursts_with_less_than_half_of_cubic_s_queue() {
    let all = summaries("rapid-bursts.toml");
    let [probe, ideal, cubic] = &all[..] else { panic!("three controllers") };
    for summary in [probe, ideal] {
        let bottleneck = link(summary, "bottleneck");
        // Below the model's utilisation, since start-up is a part of the 6 s.
        assert!(bottleneck.utilisation.unwrap() > 0.85, "{bottleneck:?}");
        assert!(bottleneck.queue_delay_max_s.unwrap() < 0.055, "{bottleneck:?}");
        assert_eq!(bottleneck.dropped_packets, 0);
    }
    assert!(link(cubic, "bottleneck").queue_delay_max_s.unwrap() > 0.110);
}

#[test]
fn queues_hold_what_they_aim_at() {
    let summary = &summaries("queues.toml")[0];
    let median_ms = |name| 1e3 * link(summary, name).queue_delay_p50_s.expect("a queue");
    for deep in ["droptail", "head_drop"] {
        assert!(median_ms(deep) > 100.0, "{deep}: {} ms", median_ms(deep));
    }
    // Targets of 15 ms; CoDel's is 5 ms, for the minimum delay of an interval.
    for pi in ["pie", "dualpi2"] {
        assert!((10.0..20.0).contains(&median_ms(pi)), "{pi}: {} ms", median_ms(pi));
    }
    assert!(median_ms("codel") < 7.5, "{} ms", median_ms("codel"));
    // max_th is 60 packets: 36 ms.
    assert!(median_ms("red") < 36.0, "{} ms", median_ms("red"));
    for name in ["droptail", "head_drop", "red", "codel", "pie", "dualpi2"] {
        let utilisation = link(summary, name).utilisation.expect("a rate");
        assert!(utilisation > 0.95, "{name}: {utilisation}");
    }
}

/// With five times the round trip, the far flow still gets a larger share than under CUBIC.
#[test]
fn lola_keeps_a_deep_buffer_nearly_empty() {
    let [lola, cubic] = &summaries("lola.toml")[..] else { panic!("two controllers") };
    let p99 = |run: &RunSummary| link(run, "bottleneck").queue_delay_p99_s.unwrap();
    // Q_target is 5 ms; `lola.rs` bounds by how much a round may exceed it.
    assert!(p99(lola) < 0.008 && p99(cubic) > 0.1, "{} {}", p99(lola), p99(cubic));
    let share = |run: &RunSummary| {
        let [near, far] = ["near", "far"].map(|name| flow(run, name).goodput_bps);
        far / near
    };
    assert!(share(lola) > 0.5 && share(lola) > share(cubic), "{} {}", share(lola), share(cubic));
}
