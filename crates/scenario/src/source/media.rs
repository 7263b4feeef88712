//! Media: frames of an encoder whose rate follows the congestion controller.
//!
//! Deviation (RFC 8593 section 5): the intervals between frames do not vary (SCALE_t is 0), and a
//! large change of the rate causes no burst of a large frame and smaller ones (K_B, K_d).
//! Deviation (RFC 8867 section 4.3): the frame rate and the resolution are constant; the RFC has
//! ranges of both.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::source::cdf::Cdf;
use crate::source::contract::{Action, Carrier, Fault, Info, Model, Setup, Source};
use crate::source::draws::uniform;
use crate::source::kinds::span_of;

/// Headers of IPv4 (RFC 791) without options and UDP (RFC 768), around an RTP packet.
pub const UDP_IP_HEADERS: Bytes = Bytes(28);
/// The fixed header of an RTP packet (RFC 3550 section 5.1), part of its size.
pub const RTP_HEADER: Bytes = Bytes(12);

/// Deviation (RFC 8593 section 5.3): a frame deviates from its mean size by at most 90 %. The tail
/// of the distribution would otherwise reach sizes below zero.
const MOST_DEVIATION: f64 = 0.9;
/// Least size of a frame.
const LEAST_FRAME: f64 = 20.0;

/// The encoder.
#[derive(Debug)]
pub(crate) struct Media {
    start: Instant,
    frame_rate: f64,
    least: Rate,
    most: Rate,
    /// The rate of the frames, and the rate that it will have.
    rate: Rate,
    wanted: Rate,
    /// Time from one change of the rate to the next.
    reaction: Duration,
    changed_at: Option<Instant>,
    /// Frames from one key frame to the next; `None` for only the first.
    key_every: Option<u64>,
    key_size: f64,
    variation: f64,
    /// Frames made so far.
    frames: u64,
    /// Frames since the last key frame.
    since_key: u64,
    /// Bytes by which key frames exceeded the mean, and the number of the next frames that are smaller
    /// in return.
    debt: f64,
    repaying_frames: u64,
    /// Whether the receiver has requested a key frame.
    is_requested: bool,
    /// The pause, from the start on: its begin and its end.
    pause: Option<(Duration, Duration)>,
    draws: Xoshiro256PlusPlus,
}

/// The least and the greatest rate of RFC 8867's video.
const LEAST: Kind = Kind::Rate(Rate(150_000), Rate(1), Kind::FASTEST);
const MOST: Kind = Kind::Rate(Rate(1_500_000), Rate(1), Kind::FASTEST);

impl Model for Media {
    const INFO: Info = Info {
        name: "media",
        title: "Frames in RTP packets, at a rate that follows the controller, with playout",
        params: keys! {
            /// least rate of the encoder
            min_rate: LEAST, "RFC 8867 section 5: 150 kbit/s";
            /// greatest rate of the encoder
            max_rate: MOST, "RFC 8867 section 5: 1.5 Mbit/s";
            /// rate until the controller gives one, and always without a controller; `min_rate` if
            /// absent
            optional start_rate: LEAST;
            /// frames a second
            frame_rate: Kind::Number(30.0, 0.1, 10_000.0), "RFC 8593 figure 2, FPS: 30";
            /// time between two key frames; 0s for the first frame only
            key_interval: Kind::TIME;
            /// size of a key frame, as a multiple of the mean size; the frames of the next second
            /// are smaller, so that the rate stays the same
            key_size: Kind::Number(1.0, 1.0, 100.0);
            /// scale of the Laplacian deviation of the sizes, as a share of their mean; the
            /// standard deviation is 1.41 times as large
            variation: Kind::Number(0.15, 0.0, 1.0), "RFC 8593 figure 2, SCALE_B: 0.15";
            /// least time between two changes of the encoder's rate
            reaction: Kind::TIME, "RFC 8593 section 5.1, tau_v: 0.2 s for a slow encoder";
            /// time after the start at which the source pauses, until `resume`
            optional pause: Kind::SPAN, "RFC 8867 section 5.8";
            /// time after the start at which the source goes on, with a key frame
            optional resume: Kind::SPAN, "RFC 8867 section 5.8";
            /// greatest RTP packet, with RTP's 12 bytes of header; UDP and IP add 28
            packet: Kind::Data(Bytes(1200), Bytes(64), Bytes(65_000)), "libwebrtc: 1,200 bytes";
            /// packets that the pacing spreads over this time leave together
            microburst: Kind::TIME, "Ericsson's sender of SCReAM, -microburstinterval: 0.5 ms";
            /// format of the feedback: RFC 8888 has marks and times in units of 1/1024 s;
            /// transport-wide has times in units of 250 us, and no marks
            feedback: Kind::Choice("rfc8888", &["rfc8888", "transport-wide"]),
                "RFC 8888; draft-holmer-rmcat-transport-wide-cc-extensions-01";
            /// greatest time between two reports
            feedback_interval: span_of(Duration::from_millis(40)),
                "draft-ietf-ccwg-rfc8298bis-screamv2 section 5: 40 ms";
            /// packets after which a report is due
            feedback_packets: Kind::Integer(16, 1, 10_000),
                "draft-ietf-ccwg-rfc8298bis-screamv2 section 5: 16";
            /// whether the last packet of a frame makes a report due
            feedback_on_frame: Kind::Switch(true), "draft-ietf-ccwg-rfc8298bis-screamv2 section 5";
            /// time from the capture of a frame to its playout; adaptive if absent
            optional playout_delay: Kind::TIME;
            /// after a lost frame, the decoder conceals the loss, or it waits for a key frame that
            /// it requests
            repair: Kind::Choice("conceal", &["conceal", "key-frame"]),
                "RFC 4585 section 6.3.1: picture loss indication";
            /// model of the estimated quality: ITU-T P.1203.1 mode 0 for video, the E-model (ITU-T
            /// G.107) with G.711 for voice; voice discards frames that come after their playout
            /// time
            quality: Kind::Choice("video", &["video", "voice", "none"]);
            /// resolution of the video, for the estimated quality
            resolution: Kind::Choice("720p", RESOLUTIONS);
        },
        carrier: Carrier::Media,
        ..Info::BASE
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        let (frame_rate, key_interval) = (params.number("frame_rate"), params.time("key_interval"));
        let key_frames = (key_interval.as_secs_f64() * frame_rate).round() as u64;
        Box::new(Media {
            start: setup.start,
            frame_rate,
            least: params.rate("min_rate"),
            most: params.rate("max_rate"),
            rate: start_rate(params),
            wanted: start_rate(params),
            reaction: params.time("reaction"),
            changed_at: None,
            key_every: (key_interval > Duration::ZERO).then_some(key_frames.max(1)),
            key_size: params.number("key_size"),
            variation: params.number("variation"),
            frames: 0,
            since_key: 0,
            debt: 0.0,
            repaying_frames: 0,
            is_requested: false,
            pause: params.has("pause").then(|| (params.time("pause"), params.time("resume"))),
            draws: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
        })
    }

    /// The frames of the time at twice the greatest rate, which covers their variation, and its key
    /// frames. Frames cannot repay key frames that follow each other closely.
    fn bytes_in(params: &Params, _: Option<&Arc<Cdf>>, _: Bytes, span: Duration) -> Bytes {
        let (frame_rate, interval) = (params.number("frame_rate"), params.time("key_interval"));
        let frames = (span.as_secs_f64() * frame_rate).floor() + 1.0;
        let between = (interval.as_secs_f64() * frame_rate).round().max(1.0);
        let regular = if interval > Duration::ZERO { (frames / between).floor() } else { 0.0 };
        // The first one, and the one after a pause.
        let keys = (1.0 + f64::from(params.has("pause")) + regular).min(frames);
        let mean = params.rate("max_rate").as_f64() / 8.0 / frame_rate;
        let size = 2.0 * mean * (frames + keys * params.number("key_size"));
        Bytes((size + LEAST_FRAME * frames).ceil() as u64)
    }

    fn rate(params: &Params) -> Rate {
        start_rate(params)
    }

    fn packet(params: &Params) -> Option<Bytes> {
        Some(params.data("packet") + UDP_IP_HEADERS)
    }

    fn is_random(params: &Params) -> bool {
        params.number("variation") > 0.0
    }

    fn fault(params: &Params, _: Bytes) -> Option<Fault> {
        let (least, most) = (params.rate("min_rate"), params.rate("max_rate"));
        let start = start_rate(params);
        match (params.has("pause"), params.has("resume")) {
            (true, true) if params.time("resume") <= params.time("pause") => {
                let (pause, resume) = (params.time("pause"), params.time("resume"));
                return Some(Fault {
                    message: format!("`resume` is {resume}, not after `pause`, which is {pause}"),
                    help: "the source goes on after it pauses".to_owned(),
                });
            }
            (true, false) | (false, true) => {
                return Some(Fault {
                    message: "the source has one of `pause` and `resume` alone".to_owned(),
                    help: "give both, or neither".to_owned(),
                });
            }
            _ => {}
        }
        if least > most {
            return Some(Fault {
                message: format!("`min_rate` is {least}, more than `max_rate`, which is {most}"),
                help: "give a `max_rate` of at least `min_rate`".to_owned(),
            });
        }
        (start < least || start > most).then(|| Fault {
            message: format!("`start_rate` is {start}, not between {least} and {most}"),
            help: "give a `start_rate` from `min_rate` to `max_rate`".to_owned(),
        })
    }
}

/// Names of the resolutions of [`pixels`].
const RESOLUTIONS: &[&str] = &["180p", "360p", "540p", "720p", "1080p", "1440p", "2160p"];

/// Pixels of a frame of this resolution, at 16:9.
pub fn pixels(resolution: &str) -> u64 {
    let height: u64 = resolution.trim_end_matches('p').parse().unwrap_or(720);
    height * height * 16 / 9
}

fn start_rate(params: &Params) -> Rate {
    let name = if params.has("start_rate") { "start_rate" } else { "min_rate" };
    params.rate(name)
}

impl Source for Media {
    /// Frames keep a grid from the start, so that the frame rate is exact.
    fn next_at(&self) -> Instant {
        self.start + Duration::from_secs_f64(self.frames as f64 / self.frame_rate)
    }

    fn act(&mut self, now: Instant) -> Action {
        self.follow(now);
        let due = self.key_every.is_some_and(|every| self.since_key >= every);
        let is_key = self.frames == 0 || due || std::mem::take(&mut self.is_requested);
        let bytes = self.size(is_key);
        self.frames += 1;
        self.since_key = if is_key { 1 } else { self.since_key + 1 };
        if let Some((_, resume)) = self
            .pause
            .take_if(|(pause, _)| self.frames as f64 / self.frame_rate >= pause.as_secs_f64())
        {
            self.frames = (resume.as_secs_f64() * self.frame_rate).ceil() as u64;
            self.is_requested = true;
        }
        Action::Frame { bytes, is_key }
    }

    fn set_target(&mut self, rate: Rate) {
        self.wanted = rate.max(self.least).min(self.most);
    }

    fn request_key_frame(&mut self) {
        self.is_requested = true;
    }
}

impl Media {
    /// Takes on the rate that the controller wants, if the last change is `reaction` ago.
    fn follow(&mut self, now: Instant) {
        let may = self.changed_at.is_none_or(|at| now.since(at) >= self.reaction);
        if may && self.wanted != self.rate {
            self.rate = self.wanted;
            self.changed_at = Some(now);
        }
    }

    /// Size in bytes of the next frame.
    fn size(&mut self, is_key: bool) -> u64 {
        let mean = self.rate.as_f64() / 8.0 / self.frame_rate;
        let varied = mean * (1.0 + self.deviation());
        if is_key {
            let bytes = varied * self.key_size;
            let second = (self.frame_rate.round() as u64).max(1);
            self.repaying_frames = self.key_every.map_or(second, |every| second.min(every - 1));
            // Beyond a second's bytes, as after many requests, it is not repaid.
            self.debt = (self.debt + bytes - varied).min(mean * self.frame_rate);
            return bytes.max(LEAST_FRAME) as u64;
        }
        let due = self.debt / self.repaying_frames.max(1) as f64;
        self.repaying_frames = self.repaying_frames.saturating_sub(1);
        let bytes = (varied - due).max(LEAST_FRAME);
        self.debt = (self.debt - (varied - bytes).max(0.0)).max(0.0);
        bytes as u64
    }

    /// A number from the Laplace distribution with mean 0, cut at [`MOST_DEVIATION`].
    fn deviation(&mut self) -> f64 {
        if self.variation == 0.0 {
            return 0.0;
        }
        let share = uniform(&mut self.draws) - 0.5;
        let tail = (1.0 - 2.0 * share.abs()).max(f64::MIN_POSITIVE);
        let drawn = -self.variation * share.signum() * libm::log(tail);
        drawn.clamp(-MOST_DEVIATION, MOST_DEVIATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::spec::Spec;
    use sojourn_units::params::{Given, Value};

    fn encoder(keys: &[(&str, Value)]) -> Box<dyn Source> {
        let declared = Media::INFO.params;
        let mut params = Params::empty();
        for param in declared.iter().filter(|key| key.given != Given::Optional) {
            params.set(declared, param.name, param.kind.default_value()).expect("a default");
        }
        for (name, value) in keys {
            params.set(declared, name, value.clone()).expect("it is in range");
        }
        let spec = Spec::new("media", params).expect("it is listed");
        spec.build(Instant::ZERO, Bytes(1200), 1)
    }

    /// Frames of `seconds`, as sizes and whether they are key frames.
    fn frames(source: &mut dyn Source, seconds: u64) -> Vec<(u64, bool)> {
        let end = source.next_at() + Duration::from_secs(seconds);
        let mut all = Vec::new();
        while source.next_at() < end {
            let Action::Frame { bytes, is_key } = source.act(source.next_at()) else {
                panic!("it makes frames")
            };
            all.push((bytes, is_key));
        }
        all
    }

    fn rate(frames: &[(u64, bool)], seconds: f64) -> f64 {
        frames.iter().map(|(bytes, _)| *bytes as f64 * 8.0).sum::<f64>() / seconds
    }

    #[test]
    fn frames_have_the_rate_that_the_controller_wants() {
        let mut source = encoder(&[]);
        for mbit in [1.0, 0.5, 1.4] {
            source.set_target(Rate::from_mbit(10).mul_f64(mbit / 10.0));
            let all = frames(&mut *source, 20);
            assert_eq!(all.len(), 600);
            // 600 frames with a deviation of 0.21 each: 0.9 % of standard error.
            assert!((rate(&all, 20.0) / 1e6 / mbit - 1.0).abs() < 0.03, "{}", rate(&all, 20.0));
        }
        source.set_target(Rate::from_mbit(100));
        assert!((rate(&frames(&mut *source, 20), 20.0) / 1.5e6 - 1.0).abs() < 0.03, "max_rate");
        source.set_target(Rate(1));
        assert!((rate(&frames(&mut *source, 20), 20.0) / 150e3 - 1.0).abs() < 0.03, "min_rate");
    }

    /// RFC 8593 section 5.3: the deviations have a Laplacian distribution of scale 0.15. Its mean
    /// absolute deviation is the scale, and its standard deviation the square root of 2 times that.
    #[test]
    fn sizes_have_the_laplacian_scale_of_rfc_8593() {
        let mut source = encoder(&[("start_rate", Value::Rate(Rate::from_mbit(1)))]);
        let deviations: Vec<f64> = frames(&mut *source, 600)
            .iter()
            .map(|(bytes, _)| *bytes as f64 / (1e6 / 8.0 / 30.0) - 1.0)
            .collect();
        let mean =
            |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / deviations.len() as f64;
        let absolute = mean(&mut deviations.iter().map(|one| one.abs()));
        let square = mean(&mut deviations.iter().map(|one| one * one)).sqrt();
        // 18,000 frames: standard errors of 0.0011 and 0.0018; within four of them.
        assert!((absolute - 0.15).abs() < 0.0045, "{absolute}");
        assert!((square - 0.15 * 2_f64.sqrt()).abs() < 0.007, "{square}");
    }

    #[test]
    fn key_frames_come_at_their_interval_or_on_request_and_keep_the_rate() {
        let keys = [
            ("key_interval", Value::Time(Duration::from_secs(2))),
            ("key_size", Value::Number(5.0)),
            ("variation", Value::Number(0.0)),
            ("start_rate", Value::Rate(Rate::from_mbit(1))),
        ];
        let mut source = encoder(&keys);
        let all = frames(&mut *source, 20);
        let places: Vec<usize> = (0..all.len()).filter(|i| all[*i].1).collect();
        assert_eq!(places, [0, 60, 120, 180, 240, 300, 360, 420, 480, 540]);
        assert_eq!(all[60].0, 5 * 1_000_000 / 8 / 30);
        assert!((rate(&all, 20.0) / 1e6 - 1.0).abs() < 0.001, "{}", rate(&all, 20.0));
        let mut source = encoder(&[]);
        frames(&mut *source, 1);
        source.request_key_frame();
        let all = frames(&mut *source, 1);
        assert_eq!(all.iter().map(|(_, key)| *key).collect::<Vec<_>>(), {
            let mut only_first = vec![false; 30];
            only_first[0] = true;
            only_first
        });
    }

    /// A decoder that requests a key frame each 100 ms does not raise the rate.
    #[test]
    fn requested_key_frames_keep_the_rate() {
        let keys = [
            ("key_size", Value::Number(3.0)),
            ("variation", Value::Number(0.0)),
            ("start_rate", Value::Rate(Rate::from_mbit(1))),
        ];
        let mut source = encoder(&keys);
        let mut bytes = 0;
        for frame in 0..600 {
            if frame % 3 == 0 {
                source.request_key_frame();
            }
            let Action::Frame { bytes: own, .. } = source.act(source.next_at()) else { panic!() };
            bytes += own;
        }
        // A second's bytes of 20 may be unpaid.
        let mbit = bytes as f64 * 8.0 / 20.0 / 1e6;
        assert!((0.99..1.06).contains(&mbit), "{mbit}");
    }

    #[test]
    fn a_slow_encoder_keeps_its_rate_for_its_reaction_time() {
        let keys = [
            ("reaction", Value::Time(Duration::from_millis(200))),
            ("variation", Value::Number(0.0)),
        ];
        let mut source = encoder(&keys);
        let mut sizes = Vec::new();
        for step in 0..30 {
            source.set_target(Rate(300_000 + 10_000 * step));
            let Action::Frame { bytes, .. } = source.act(source.next_at()) else { panic!() };
            sizes.push(bytes);
        }
        sizes.dedup();
        // A second has five periods of 0.2 s: one rate in each.
        assert!((5..=6).contains(&sizes.len()), "{sizes:?}");
    }
}
