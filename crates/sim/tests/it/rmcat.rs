//! The test cases of RFC 8867 (`scenarios/rmcat`) and the named kinds of traffic
//! (`scenarios/traffic`). docs/media.md has the figures, which `benches/media.py` writes.

use crate::common::{as_written, link, run_all, shipped};
use sojourn_sim::{FlowSummary, MediaSummary, RunSummary, Simulation};

fn videos(summary: &RunSummary) -> impl Iterator<Item = (&FlowSummary, &MediaSummary)> {
    let media = summary.flows.iter().filter_map(|flow| Some((flow, flow.media.as_ref()?)));
    media.filter(|(flow, _)| !flow.name.starts_with("audio"))
}

/// Runs a case with each controller.
fn case(file: &str) -> Vec<RunSummary> {
    let scenario = shipped(&format!("rmcat/{file}.toml"));
    run_all(&scenario, scenario.seed).into_iter().map(|outcome| outcome.summary).collect()
}

/// RFC 8867 section 5.1: the rate converges to the capacity. Each controller uses more than half of
/// it, although it changes four times in 100 s.
#[test]
fn one_video_follows_the_capacity() {
    for summary in case("variable-one") {
        let (flow, media) = videos(&summary).next().expect("there is a video");
        let used = link(&summary, "forward").utilisation.expect("it has a capacity");
        assert!(used > 0.55, "{}: {used}", summary.control);
        assert!(flow.dropped_packets * 10 < flow.sent_packets, "{flow:?}");
        assert!(media.complete_frames * 10 > media.frames * 8, "{media:?}");
    }
}

/// RFC 8867 section 5.6: at the worst, the video falls to its least rate, 150 kbit/s.
#[test]
fn a_video_keeps_its_least_rate_beside_tcp() {
    for summary in case("long-tcp") {
        let (_, media) = videos(&summary).next().expect("there is a video");
        assert!(media.media_bps > 145e3, "{}: {media:?}", summary.control);
        assert!(media.played_frames * 10 > media.frames * 8, "{media:?}");
    }
}

/// RFC 8867 section 5.2 and RFC 8868 section 3, item 7: the rates of equal flows differ by at most a
/// factor of three. In section 5.4, SCReAM's differ by more (docs/media.md).
#[test]
fn videos_that_start_together_have_comparable_rates() {
    for summary in case("variable-many") {
        let rates: Vec<f64> = videos(&summary).map(|(flow, _)| flow.goodput_bps).collect();
        let (most, least) = rates.iter().fold((0.0, f64::MAX), |(most, least), rate| {
            (f64::max(most, *rate), f64::min(least, *rate))
        });
        assert!(most < 3.0 * least, "{}: {rates:?}", summary.control);
    }
}

/// The named profiles of `scenarios/traffic` run, and their frames arrive.
#[test]
fn named_traffic_runs() {
    for name in ["game", "voip", "cloud-gaming", "web-page", "rrul", "torrent"] {
        let scenario = shipped(&format!("traffic/{name}.toml"));
        for outcome in run_all(&scenario, scenario.seed) {
            for flow in &outcome.summary.flows {
                assert!(flow.goodput_bps > 10e3 || flow.completed_transfers > 100, "{flow:?}");
                let Some(media) = &flow.media else { continue };
                // Cloud gaming has a least rate of 20 Mbit/s, which starves beside the download.
                assert!(media.complete_frames * 3 > media.frames, "{name}: {media:?}");
                assert!(media.quality_mos.is_some_and(|mos| (1.0..=5.0).contains(&mos)));
            }
        }
    }
}

/// Half the round trip of 20 ms and the transmission of a frame are the least delay. SCReAM over
/// DualPI2 adds less than 10 ms at the 99th percentile, and needs most of the link.
#[test]
fn scream_over_dualpi2_adds_little_delay() {
    let text = r#"
duration = "40s"
measure = { from = "10s" }
record = { interval = "0s" }
[link.forward]
rate = "20Mbit"
delay = "10ms"
queue = "dualpi2"
[link.backward]
delay = "10ms"
[flow.video]
control = "scream"
path = ["forward"]
back = ["backward"]
source = { kind = "media", max_rate = "400Mbit", frame_rate = 60 }
"#;
    let summary = Simulation::new(&as_written(text), None, 1).finish().summary;
    let (_, media) = videos(&summary).next().expect("there is a video");
    let least = media.least_frame_delay_mean_s.expect("there are frames");
    let p99 = media.frame_delay.p99_s.expect("there are frames");
    assert!(p99 < least + 0.010, "{p99} {least}");
    let used = link(&summary, "forward").utilisation.expect("it has a capacity");
    assert!(used > 0.65, "{used}");
}
