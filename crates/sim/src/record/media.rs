//! The summary of a flow of media: delays of frames, freezes, lateness, rate, estimated quality.

use sojourn_scenario::Flow;
use sojourn_scenario::source::pixels;
use sojourn_theory::quality;
use sojourn_units::{Bytes, Duration, Instant};

use super::bounds::History;
use super::outcome::{LinkSummary, MediaSummary};
use crate::endpoint::media::FrameRow;
use crate::run::Run;

/// The frames of a flow within its measured time.
pub(super) struct Frames<'a> {
    spec: &'a Flow,
    rows: &'a [FrameRow],
    from: Instant,
    end: Instant,
    pause: Pause,
    empty: EmptyPath<'a>,
}

/// The pause of a source, if it has one: from its begin to its end. The source makes no frames then:
/// its still picture is not a freeze, and does not have a quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pause(Option<(Instant, Instant)>);

impl Pause {
    /// The pause of a flow that starts at `start`.
    fn of(spec: &Flow, start: Instant) -> Pause {
        let params = spec.source.params();
        let has = params.has("pause");
        Pause(has.then(|| (start + params.time("pause"), start + params.time("resume"))))
    }

    /// The part of the pause before `at`.
    fn until(self, at: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |(begin, end)| end.min(at).since(begin))
    }

    /// `at` on a clock that stands still in the pause.
    fn clock(self, at: Instant) -> Instant {
        at.saturating_sub(self.until(at))
    }

    /// The playout of a frame on this clock. The last frame before the pause may be played within
    /// it, and keeps its time.
    fn playout(self, row: &FrameRow) -> Instant {
        row.played_at.saturating_sub(self.until(row.captured_at))
    }
}

/// The path of a flow without other traffic, for single frames.
#[derive(Clone, Copy)]
pub(super) struct EmptyPath<'a> {
    pub(super) run: &'a Run,
    pub(super) spec: &'a Flow,
    /// Those of the run, with the histories of their capacities.
    pub(super) links: &'a [LinkSummary],
    pub(super) capacities: &'a [History],
}

impl EmptyPath<'_> {
    /// The rows for the table of frames: with the least delay of each in seconds.
    pub(super) fn with_least(&self, rows: &[FrameRow]) -> Vec<(FrameRow, f64)> {
        rows.iter().map(|row| (*row, self.seconds(row))).collect()
    }

    /// The least delay of a frame in seconds: the path's delays, and the longest transmission of
    /// all its packets by one link, at the capacity of that time.
    fn seconds(&self, row: &FrameRow) -> f64 {
        let transport = &self.spec.transport;
        let packets = u64::from(row.bytes).div_ceil((transport.mss.0 - RTP).max(1)).max(1);
        let (mut at, mut longest) = (row.captured_at, 0.0_f64);
        for &link in &self.spec.path {
            let beside = transport.header + self.run.scenario.links[link].overhead + Bytes(RTP);
            let bits = ((u64::from(row.bytes) + packets * beside.0) * 8) as f64;
            let taken = match (self.links[link].capacity_bps, &self.capacities[link]) {
                (None, _) => 0.0,
                (Some(mean), history) => history
                    .seconds_for(at, bits)
                    .unwrap_or_else(|| if mean > 0.0 { bits / mean } else { 0.0 }),
            };
            longest = longest.max(taken);
            at += self.run.loops.delays.at(link, self.run.written(at));
        }
        at.since(row.captured_at).as_secs_f64() + longest
    }
}

/// RTP's header, part of the packets' payload in a scenario.
const RTP: u64 = sojourn_scenario::source::RTP_HEADER.0;

/// W3C "Identifiers for WebRTC's Statistics API", totalFreezesDuration: a freeze is an interval of
/// at least three mean frame intervals, and of at least the mean plus 150 ms.
const FREEZE: (f64, f64) = (3.0, 0.150);
/// The same: the mean is over the last 30 frames.
const FREEZE_FRAMES: usize = 30;

impl<'a> Frames<'a> {
    /// The frames of a flow over this path, which lasts from `begin` to `end`.
    pub(super) fn new(
        empty: EmptyPath<'a>,
        rows: &'a [FrameRow],
        begin: Instant,
        end: Instant,
    ) -> Frames<'a> {
        let EmptyPath { run, spec, .. } = empty;
        let from = begin.max(Instant::ZERO + run.scenario.measure.from);
        let first = rows.partition_point(|row| row.captured_at < from);
        let pause = Pause::of(spec, begin);
        Frames { spec, rows: &rows[first..], from, end, pause, empty }
    }

    fn delays(&self, to: impl Fn(&FrameRow) -> Instant) -> Vec<f64> {
        let given = self.rows.iter().filter(|row| to(row) < Instant::MAX);
        let mut all: Vec<f64> =
            given.map(|row| to(row).since(row.captured_at).as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// The summary of these frames.
    pub(super) fn summary(&self) -> MediaSummary {
        let span = self.end.since(self.from).as_secs_f64();
        let delays = self.delays(|row| row.complete_at);
        let played = self.delays(|row| row.played_at);
        let complete = self.rows.iter().filter(|row| row.complete_at < Instant::MAX);
        let least: f64 = complete.map(|row| self.empty.seconds(row)).sum();
        let sum: f64 = delays.iter().sum();
        let bytes = |rows: &mut dyn Iterator<Item = &FrameRow>| {
            rows.map(|row| f64::from(row.bytes)).sum::<f64>()
        };
        let rate = |bytes: f64| if span > 0.0 { bytes * 8.0 / span } else { 0.0 };
        let was_played = |row: &&FrameRow| row.played_at < Instant::MAX;
        let (freezes, frozen) = self.freezes();
        let (model, score) = self.quality(&played);
        let [delay_p50, delay_p95, delay_p99, delay_max, delay_mean] = times(&delays);
        let [playout_p50, playout_p95, playout_p99, playout_max, playout_mean] = times(&played);
        MediaSummary {
            frames: self.rows.len() as u64,
            complete_frames: delays.len() as u64,
            played_frames: played.len() as u64,
            late_frames: self.rows.iter().filter(|row| row.is_late).count() as u64,
            key_frames: self.rows.iter().filter(|row| row.is_key).count() as u64,
            frame_delay_p50_s: delay_p50,
            frame_delay_p95_s: delay_p95,
            frame_delay_p99_s: delay_p99,
            frame_delay_max_s: delay_max,
            frame_delay_mean_s: delay_mean,
            playout_delay_p50_s: playout_p50,
            playout_delay_p95_s: playout_p95,
            playout_delay_p99_s: playout_p99,
            playout_delay_max_s: playout_max,
            playout_delay_mean_s: playout_mean,
            least_frame_delay_mean_s: (!delays.is_empty()).then(|| least / delays.len() as f64),
            avoidable_share: (sum > 0.0).then(|| (1.0 - least / sum).max(0.0)),
            freezes,
            frozen_s: frozen,
            media_bps: rate(bytes(&mut self.rows.iter())),
            played_bps: rate(bytes(&mut self.rows.iter().filter(was_played))),
            quality_mos: score,
            quality_model: model.to_owned(),
        }
    }

    /// Times of the playouts without the pause, in order.
    fn playouts(&self) -> impl Iterator<Item = (Instant, &FrameRow)> {
        let played = self.rows.iter().filter(|row| row.played_at < Instant::MAX);
        played.map(|row| (self.pause.playout(row), row))
    }

    /// Begin and end of the measured time on the clock of the playouts.
    fn measured(&self) -> (Instant, Instant) {
        (self.pause.clock(self.from), self.pause.clock(self.end))
    }

    /// Number of freezes, and their duration in seconds. The time from the last playout to the end
    /// counts too, the pause does not.
    fn freezes(&self) -> (u64, f64) {
        let times: Vec<f64> = self.playouts().map(|(at, _)| at.as_secs_f64()).collect();
        let nominal = 1.0 / self.spec.source.params().number("frame_rate");
        let (mut count, mut total) = (0, 0.0);
        let (from, end) = self.measured();
        let (from, end) = (from.as_secs_f64(), end.as_secs_f64());
        for (place, &at) in times.iter().enumerate() {
            let next = times.get(place + 1).copied().unwrap_or(end);
            let first = place.saturating_sub(FREEZE_FRAMES);
            let mean = match place - first {
                0 => nominal,
                gaps => (at - times[first]) / gaps as f64,
            };
            let gap = next - at;
            if gap >= (FREEZE.0 * mean).max(mean + FREEZE.1) {
                count += 1;
                total += gap;
            }
        }
        let none = times.is_empty() && !self.rows.is_empty();
        if none { (1, end - from) } else { (count, total) }
    }

    /// The model of the quality, and its score.
    fn quality(&self, played: &[f64]) -> (&'static str, Option<f64>) {
        if self.rows.is_empty() {
            return ("", None);
        }
        let params = self.spec.source.params();
        if params.choice("quality") == "none" {
            return ("", None);
        }
        if params.choice("quality") == "voice" {
            let nominal = 1.0 / params.number("frame_rate");
            // A frame of voice leaves when its last sample is recorded.
            let delay = mean(played).map(|delay| delay + nominal);
            let lost = 1.0 - played.len() as f64 / self.rows.len() as f64;
            let rating = delay.map_or(0.0, |delay| quality::voice_rating(delay, lost));
            return ("ITU-T G.107", Some(quality::voice_score(rating)));
        }
        ("ITU-T P.1203.1 mode 0", self.video(pixels(params.choice("resolution"))))
    }

    /// The mean over all whole seconds of P.1203.1's score of the frames played in it. A second
    /// without a frame has the score 1. The pause does not count.
    fn video(&self, pixels: u64) -> Option<f64> {
        let (from, end) = self.measured();
        let second = |at: Instant| (at.since(from).0 / 1_000_000_000) as usize;
        let mut sums = vec![(0.0, 0.0); second(end)];
        for (at, row) in self.playouts() {
            if let Some((bits, frames)) = sums.get_mut(second(at)) {
                *bits += f64::from(row.bytes) * 8.0;
                *frames += 1.0;
            }
        }
        // The first second has no frame until the first one has arrived.
        let all: Vec<f64> =
            sums.iter().map(|(bits, frames)| quality::video(*bits, *frames, pixels)).collect();
        mean(&all)
    }
}

fn mean(of: &[f64]) -> Option<f64> {
    (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
}

/// Percentiles of sorted times by the nearest rank.
fn times(sorted: &[f64]) -> [Option<f64>; 5] {
    let at = |share: f64| {
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    };
    [at(0.5), at(0.95), at(0.99), sorted.last().copied(), mean(sorted)]
}
