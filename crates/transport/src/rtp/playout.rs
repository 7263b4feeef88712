//! The jitter buffer: frames become complete, wait for their playout time, and are played in order.

use std::collections::BTreeMap;

use sojourn_units::{Duration, Instant};

use super::{MediaFrame, RtpPacket};

/// The decoder's behaviour after a frame that it does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// It conceals the loss and decodes the next frame.
    Conceal,
    /// It requests a key frame, and decodes no other until then (RFC 4585 section 6.3.1).
    KeyFrame,
}

/// The treatment of a frame that is complete after its playout time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It is played at once: a video shows its newest frame.
    Play,
    /// It is discarded: its place in a continuous sound is over.
    Discard,
}

/// A frame that is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// The frame.
    pub frame: MediaFrame,
    /// Time at which all its packets had arrived.
    pub complete_at: Instant,
    /// Time of its playout.
    pub at: Instant,
}

/// The jitter buffer and the decoder.
#[derive(Debug)]
pub struct Playout {
    /// Time from capture to playout, if it is fixed.
    fixed: Option<Duration>,
    estimate: Estimate,
    repair: Repair,
    late: Late,
    /// Packets that have arrived of each incomplete frame.
    partial: BTreeMap<u32, u32>,
    /// Complete frames, with the time at which they were complete, and their playout time.
    ready: BTreeMap<u32, (MediaFrame, Instant, Instant)>,
    /// Number of the next frame in order.
    next: u32,
    /// Whether the decoder waits for a key frame.
    is_broken: bool,
    wants_key: bool,
}

/// Smoothed delay and its variation (Ramjee, Kurose, Towsley, Schulzrinne 1994, "Adaptive Playout
/// Mechanisms for Packetized Audio Applications in Wide-Area Networks", algorithm 1).
///
/// Deviation (Ramjee et al. 1994): playout adapts to each frame; there, between talkspurts.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    delay: f64,
    variation: f64,
    has_sample: bool,
}

/// Ramjee et al. section 3.1: the weight of the past.
const ALPHA: f64 = 0.998_002;
/// Ramjee et al. section 3: playout after the delay and four times its variation.
const VARIATIONS: f64 = 4.0;

impl Estimate {
    fn add(&mut self, delay: Duration) {
        let sample = delay.as_secs_f64();
        if !std::mem::replace(&mut self.has_sample, true) {
            self.delay = sample;
            return;
        }
        self.delay = ALPHA * self.delay + (1.0 - ALPHA) * sample;
        self.variation = ALPHA * self.variation + (1.0 - ALPHA) * (self.delay - sample).abs();
    }

    fn target(&self) -> Duration {
        Duration::from_secs_f64(self.delay + VARIATIONS * self.variation)
    }
}

impl Playout {
    /// A jitter buffer with this time from capture to playout; adaptive if `None`.
    pub fn new(fixed: Option<Duration>, repair: Repair, late: Late) -> Playout {
        Playout {
            fixed,
            estimate: Estimate::default(),
            repair,
            late,
            partial: BTreeMap::new(),
            ready: BTreeMap::new(),
            next: 0,
            is_broken: false,
            wants_key: false,
        }
    }

    /// A packet arrives for the first time. Returns the frame that it completes, and whether the
    /// frame is later than its playout time.
    pub fn on_packet(&mut self, now: Instant, packet: &RtpPacket) -> Option<(MediaFrame, bool)> {
        let frame = packet.frame;
        let arrived = self.partial.entry(frame.number).or_default();
        *arrived += 1;
        if *arrived < packet.parts {
            return None;
        }
        self.partial.remove(&frame.number);
        let delay = now.since(frame.captured_at);
        // A frame is judged by the estimate of the frames before it.
        let target = match (self.fixed, self.estimate.has_sample) {
            (Some(fixed), _) => fixed,
            (None, true) => self.estimate.target(),
            (None, false) => delay,
        };
        self.estimate.add(delay);
        let due = frame.captured_at + target;
        let is_late = now > due;
        let is_discarded = is_late && self.late == Late::Discard;
        if frame.number >= self.next && !is_discarded {
            self.ready.insert(frame.number, (frame, now, due.max(now)));
        }
        Some((frame, is_late))
    }

    /// Time of the next playout; [`Instant::MAX`] if no frame waits.
    pub fn next_at(&self) -> Instant {
        self.ready.first_key_value().map_or(Instant::MAX, |(_, (_, _, due))| *due)
    }

    /// Plays the frame that is due. Frames before it that are incomplete are given up.
    pub fn play(&mut self, now: Instant) -> Option<Played> {
        while self.next_at() <= now {
            let (number, (frame, complete_at, _)) = self.ready.pop_first()?;
            if number > self.next && self.repair == Repair::KeyFrame {
                self.is_broken = true;
            }
            self.next = number + 1;
            self.partial = self.partial.split_off(&self.next);
            if frame.is_key {
                self.is_broken = false;
            }
            if !self.is_broken {
                return Some(Played { frame, complete_at, at: now });
            }
            self.wants_key = true;
        }
        None
    }

    /// Whether the decoder requests a key frame, once for each time that it cannot decode a frame.
    pub fn take_key_request(&mut self) -> bool {
        std::mem::take(&mut self.wants_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_units::{Bytes, Ecn};

    /// Numbers of the frames that are played, of frames of one packet with these delays in ms, 20 ms
    /// apart, with 50 ms from capture to playout.
    fn played(delays_ms: &[u64], late: Late) -> Vec<u32> {
        let mut playout = Playout::new(Some(Duration::from_millis(50)), Repair::Conceal, late);
        let mut arrivals = Vec::new();
        for (number, delay) in (0..).zip(delays_ms) {
            let captured_at = Instant::ZERO + Duration::from_millis(20 * u64::from(number));
            let frame = MediaFrame { number, bytes: Bytes(160), is_key: number == 0, captured_at };
            arrivals.push((captured_at + Duration::from_millis(*delay), frame));
        }
        arrivals.sort_by_key(|(at, _)| *at);
        let mut numbers = Vec::new();
        for (at, frame) in arrivals {
            while playout.next_at() < at {
                numbers.extend(playout.play(playout.next_at()).map(|played| played.frame.number));
            }
            let number = u64::from(frame.number);
            let bytes = frame.bytes + Bytes(12);
            let (ecn, parts) = (Ecn::NotEct, 1);
            let packet = RtpPacket { number, bytes, ecn, frame, parts, is_last: true };
            let is_late = at > frame.captured_at + Duration::from_millis(50);
            assert_eq!(playout.on_packet(at, &packet), Some((frame, is_late)));
        }
        while playout.next_at() < Instant::MAX {
            numbers.extend(playout.play(playout.next_at()).map(|played| played.frame.number));
        }
        numbers
    }

    #[test]
    fn a_late_frame_of_voice_is_discarded() {
        // The third frame comes 10 ms after its playout time, and before the next one is due.
        let delays = [10, 50, 60, 10];
        assert_eq!(played(&delays, Late::Play), [0, 1, 2, 3]);
        assert_eq!(played(&delays, Late::Discard), [0, 1, 3]);
    }
}
