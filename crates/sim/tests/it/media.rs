//! Flows of media: frames, feedback, playout, and the controllers of an encoder.

use crate::common::{flow, link, run, scenario, simulate};
use crate::series::flow_series;
use sojourn_sim::{MediaSummary, RunSummary};
use sojourn_theory::quality::{voice_rating, voice_score};

fn media(summary: &RunSummary) -> &MediaSummary {
    flow(summary, "video").media.as_ref().expect("it is a flow of media")
}

/// A call over one link. `queue`: its queue; `control`; `source`: further keys of the source.
fn call(mbit: f64, rtt_ms: u64, queue: &str, control: &str, source: &str) -> String {
    let rate = (mbit * 1e6) as u64;
    let half = rtt_ms as f64 / 2.0;
    format!(
        r#"
duration = "60s"
start_jitter = "0s"
noise = "none"
measure = {{ from = "20s" }}
[link.out]
rate = "{rate}bit"
delay = "{half}ms"
queue = {queue}
[link.back]
rate = "100Mbit"
delay = "{half}ms"
[flow.video]
control = {control}
path = ["out"]
back = ["back"]
source = {{ kind = "media", {source} }}
"#
    )
}

const FIXED: &str = r#"max_rate = "3Mbit", start_rate = "1Mbit", variation = 0.0"#;

/// 4,166 bytes a frame: four packets of 1,042 and 1,041 bytes with 40 of headers each. At 10 Mbit/s
/// they take 4 * 1,081.5 * 8 / 10 us, after 10 ms on the wire.
#[test]
fn a_frame_without_other_traffic_has_the_least_delay() {
    let summary = run(&call(10.0, 20, "\"droptail\"", "\"none\"", FIXED));
    let media = media(&summary);
    assert_eq!((media.frames, media.complete_frames, media.played_frames), (1201, 1200, 1200));
    let expected = 0.010 + (4_166.0 + 160.0) * 8.0 / 10e6;
    let least = media.least_frame_delay_mean_s.unwrap();
    let delay = media.frame_delay_mean_s.unwrap();
    assert!((least - expected).abs() < 1e-6, "{least}");
    assert!((delay - expected).abs() < 2e-6, "{delay} {expected}");
    assert!(media.avoidable_share.unwrap() < 1e-3, "{media:?}");
    assert_eq!((media.freezes, media.late_frames), (0, 0));
    assert!((media.media_bps / 1e6 - 1.0).abs() < 0.001, "{}", media.media_bps);
    // No controller reads reports.
    assert_eq!(link(&summary, "back").arrived_packets, 0);
}

#[test]
fn an_outage_freezes_the_video() {
    let text = call(10.0, 20, "\"droptail\"", "\"none\"", FIXED).replace(
        "rate = \"10000000bit\"",
        "rate = { start = \"10Mbit\", steps = [{ at = \"30s\", rate = \"0bit\" }, \
         { at = \"31s\", rate = \"10Mbit\" }] }\nbuffer = \"unlimited\"",
    );
    let summary = run(&text);
    let media = media(&summary);
    assert_eq!(media.freezes, 1, "{media:?}");
    assert!((0.95..1.1).contains(&media.frozen_s), "{media:?}");
    assert!(media.frame_delay_max_s.unwrap() > 0.9, "{media:?}");
    // 30 frames came after their playout time.
    assert!((25..=45).contains(&media.late_frames), "{media:?}");
}

/// A paused source makes no frames: the pause is no freeze, and its seconds have no quality.
#[test]
fn a_pause_is_no_freeze() {
    let paused = format!("{FIXED}, pause = \"30s\", resume = \"40s\"");
    let [whole, paused] =
        [FIXED, &paused].map(|source| run(&call(10.0, 20, "\"droptail\"", "\"none\"", source)));
    let (whole, paused) = (media(&whole), media(&paused));
    assert_eq!((whole.frames, paused.frames), (1201, 901));
    assert_eq!((paused.freezes, paused.frozen_s), (0, 0.0), "{paused:?}");
    // 40 and 30 seconds of 30 equal frames; the last second lacks the frame in flight.
    let (with, without) = (paused.quality_mos.unwrap(), whole.quality_mos.unwrap());
    assert!((with - without).abs() < 0.01, "{with} {without}");
}

/// An outage within the pause ends after it: its freeze counts from the end of the pause.
#[test]
fn an_outage_after_a_pause_is_a_freeze() {
    let source = format!("{FIXED}, pause = \"30s\", resume = \"40s\"");
    let text = call(10.0, 20, "\"droptail\"", "\"none\"", &source).replace(
        "rate = \"10000000bit\"",
        "rate = { start = \"10Mbit\", steps = [{ at = \"35s\", rate = \"0bit\" }, \
         { at = \"41s\", rate = \"10Mbit\" }] }\nbuffer = \"unlimited\"",
    );
    let summary = run(&text);
    let media = media(&summary);
    assert_eq!(media.freezes, 1, "{media:?}");
    // From 40 s to 41 s, and a frame interval.
    assert!((1.0..1.1).contains(&media.frozen_s), "{media:?}");
}

/// A voice frame that comes after its playout time has lost its place. The E-model counts it as lost
/// (ITU-T G.107: Ppl is the loss of the network and of the jitter buffer). An outage of a second ends 50
/// ms after the capture of the frame at 30.95 s: the frames from 30.00 s to 30.96 s are late, since
/// they need 10 ms more.
#[test]
fn late_voice_is_lost() {
    let voice = r#"min_rate = "64kbit", frame_rate = 50, variation = 0.0, packet = "172B", quality = "voice", playout_delay = "50ms""#;
    let text = call(10.0, 20, "\"droptail\"", "\"none\"", voice).replace(
        "rate = \"10000000bit\"",
        "rate = { start = \"10Mbit\", steps = [{ at = \"30s\", rate = \"0bit\" }, \
         { at = \"31s\", rate = \"10Mbit\" }] }\nbuffer = \"unlimited\"",
    );
    let summary = run(&text);
    let media = media(&summary);
    assert_eq!((media.frames, media.complete_frames, media.late_frames), (2001, 2000, 49));
    // Two more wait in the jitter buffer at the end.
    assert_eq!(media.played_frames, 2000 - 49 - 2, "{media:?}");
    let lost = 1.0 - media.played_frames as f64 / media.frames as f64;
    // From the recording of the first sample: a frame has 20 ms of sound.
    let delay = media.playout_delay_mean_s.unwrap() + 0.020;
    let expected = voice_score(voice_rating(delay, lost));
    assert!((media.quality_mos.unwrap() - expected).abs() < 1e-9, "{media:?}");
}

/// GCC paces a frame at 2.5 times its estimate, which is above the encoder's rate here. In microbursts
/// of 5 ms, the last packets leave up to 5 ms earlier. In microbursts of a second, frames leave at
/// once, and have the least delay.
#[test]
fn packets_of_a_microburst_leave_together() {
    let delay = |microburst: &str| {
        let source = format!(
            "min_rate = \"3Mbit\", max_rate = \"3Mbit\", variation = 0.0, \
             microburst = \"{microburst}\""
        );
        let summary = run(&call(50.0, 20, "\"droptail\"", "\"gcc\"", &source));
        let media = media(&summary);
        media.frame_delay_p50_s.unwrap() - media.least_frame_delay_mean_s.unwrap()
    };
    let (paced, bursts, at_once) = (delay("0s"), delay("5ms"), delay("1s"));
    assert!(paced > 0.005, "{paced}");
    let saved = paced - bursts;
    // At least a gap between two packets, more than 0.5 ms as the frame has 11 of them.
    assert!((0.0005..0.005).contains(&saved), "{saved}");
    assert!(at_once.abs() < 1e-6, "{at_once}");
}

#[test]
fn lost_frames_are_concealed_or_cost_a_key_frame() {
    let lossy = |repair: &str| {
        let source = format!("{FIXED}, repair = \"{repair}\"");
        let text = call(10.0, 20, "\"droptail\"\nloss = 0.002", "\"gcc\"", &source);
        run(&text)
    };
    let (concealed, repaired) = (lossy("conceal"), lossy("key-frame"));
    let (concealed, repaired) = (media(&concealed), media(&repaired));
    // Frames of about four packets: 0.8 % of them.
    let lost = |m: &MediaSummary| m.frames - m.complete_frames;
    assert!(lost(concealed) > 5 && lost(repaired) > 5, "{concealed:?} {repaired:?}");
    assert_eq!(concealed.key_frames, 0, "the first frame came in the warm-up");
    assert!(repaired.key_frames > 3, "{repaired:?}");
    assert!(concealed.played_frames + 3 >= concealed.complete_frames);
    assert!(repaired.played_frames < repaired.complete_frames, "{repaired:?}");
}

#[test]
fn the_end_of_a_seed_is_the_same() {
    let text = call(2.0, 100, "\"droptail\"", "\"nada\"", "max_rate = \"3Mbit\"");
    let scenario = scenario(&text);
    let (one, two) = (simulate(&scenario, 5), simulate(&scenario, 5));
    assert_eq!(one.summary, two.summary);
    assert_ne!(one.summary, simulate(&scenario, 6).summary);
}

/// Each controller fills most of a small link, with less delay than a full queue: 50 ms on the wire and
/// 300 ms in it. A reduction leaves 0.7 of the rate after a loss (SCReAM's BETA_LOSS) and 0.85 after a delay
/// (GCC), and headers take 4 % of the link: a controller that has found its rate keeps more than 0.6.
#[test]
fn every_controller_of_media_finds_its_rate() {
    for (control, least) in [("scream", 0.6), ("nada", 0.6), ("gcc", 0.6)] {
        let source = "max_rate = \"10Mbit\"";
        let text = call(2.0, 100, "\"droptail\"\nbuffer = \"300ms\"", &quoted(control), source);
        let outcome = simulate(&scenario(&text), 1);
        let (media, out) = (media(&outcome.summary), link(&outcome.summary, "out"));
        println!("{control}: {media:?} {out:?}");
        assert!(media.media_bps > least * 2e6, "{control}: {media:?}");
        assert!(media.frame_delay_p99_s.unwrap() < 0.35, "{control}: {media:?}");
        let rows = flow_series(&outcome, "video", ["t_s", "bandwidth_bps"]);
        assert!(rows.last().is_some_and(|row| row[1] > 0.0));
    }
}

/// A name of a controller that takes marks where the queue gives them.
fn quoted(control: &str) -> String {
    format!("\"{control}\"")
}

/// SCReAM with L4S over DualPI2 at 20 ms: hardly more delay than the frames' own transmission. The queue at
/// which DualPI2 marks half of the packets, 1 ms, is 3 % of the least delay at 30 frames a second and two
/// thirds of the link, 32 ms. The rate grows to there without a mark (`rmcat.rs`, which tests the target
/// too). The first reduction takes at most a sixteenth of it, since `l4s_alpha` has a gain of an eighth and
/// counts half: 0.6 of the link is left.
#[test]
fn scream_over_dualpi2_has_short_frame_delays() {
    for mbit in [10.0, 50.0] {
        let source = "max_rate = \"200Mbit\"";
        let summary = run(&call(mbit, 20, "\"dualpi2\"", "\"scream\"", source));
        let (media, out) = (media(&summary), link(&summary, "out"));
        println!("{mbit} Mbit/s: {media:?} {out:?}");
        assert!(media.avoidable_share.unwrap() < 0.03, "{media:?}");
        assert!(out.utilisation.unwrap() > 0.6, "{out:?}");
    }
}
