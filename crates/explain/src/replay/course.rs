//! The events of a flow at its sender, wherever the capture was made.
//!
//! A constant part of the round trip may lie before or behind the sender without a difference to it.
//! Beside or before the bottleneck, data depart as they pass, and acknowledgements arrive later by the
//! least time of the part behind the capture. Behind the bottleneck, acknowledgements arrive as they
//! pass, and the timestamps of the data show their departure: they name the latest acknowledgement
//! that had arrived (TSecr) and the sender's clock (TSval, RFC 7323 section 3).

use crate::observation::{Answer, Flow, GREATEST_SCALE, Log, Passed, RttSample, Series};

/// An event at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Time, in ns.
    pub(crate) at: i64,
    /// What happens.
    pub(crate) what: What,
}

/// See [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The acknowledgement at this place of the log arrives.
    Answer(usize),
    /// Data depart.
    Sent {
        /// Offset of the first byte.
        begin: u64,
        /// Payload, in bytes.
        len: u32,
        /// ECN field behind the bottleneck, if the capture is there.
        is_marked: bool,
        /// Passage behind the bottleneck, in ns of the capture, if the capture is there.
        passed_at: Option<i64>,
    },
}

/// The events of a flow in the order of time, which begins with the first. The list is empty if the
/// capture does not show the departures. `is_reported`: the capture is before the bottleneck.
pub(crate) fn events(flow: &Flow, is_reported: bool) -> Vec<Event> {
    shifted(flow, is_reported).0
}

/// The same, with the time of the first event in the capture, in ns: it may be negative, because the
/// first departures are a way's time before they pass behind the bottleneck.
pub(crate) fn shifted(flow: &Flow, is_reported: bool) -> (Vec<Event>, i64) {
    let log = &flow.half.log;
    let late = if is_reported { least(&flow.half.behind) } else { 0 };
    let mut all: Vec<Event> = Vec::with_capacity(log.passed().len() + log.answers().len());
    match is_reported {
        true => all.extend(log.passed().iter().map(|one| sent(one, one.at, None))),
        false => all.extend(departures(log)),
    }
    if all.is_empty() {
        return (all, 0);
    }
    let answers = log.answers().iter().enumerate();
    all.extend(answers.map(|(k, one)| Event { at: one.at + late, what: What::Answer(k) }));
    // An acknowledgement lets data depart at the same time.
    all.sort_by_key(|event| (event.at, matches!(event.what, What::Sent { .. })));
    let first = all[0].at;
    all.iter_mut().for_each(|event| event.at -= first);
    (all, first)
}

/// Packets that depart before the first acknowledgement of a flow that begins: 10 (RFC 6928), and half of it
/// for times of departure in ticks.
const FIRST_PACKETS: u64 = 15;

/// Whether the events of a capture without the SYN begin with the flow: no acknowledgement is of earlier
/// data, and no more than the first window departs before the first one.
pub(crate) fn has_begin(flow: &Flow, events: &[Event]) -> bool {
    let answers = flow.half.log.answers();
    let begins = events.iter().filter_map(|event| match event.what {
        What::Sent { begin, .. } => Some(begin),
        What::Answer(_) => None,
    });
    // Behind the bottleneck, the first packet may be missing until its repair.
    let Some(first) = begins.min() else { return false };
    let mut bytes = 0;
    for event in events {
        match event.what {
            What::Sent { len, .. } => bytes += u64::from(len),
            What::Answer(place) => {
                let answer = &answers[place];
                // The handshake's last packet acknowledges no data.
                let is_news = answer.cumulative > first || !flow.half.log.blocks(answer).is_empty();
                if answer.cumulative < first || is_news {
                    let is_small = bytes <= FIRST_PACKETS * u64::from(flow.half.mss);
                    return answer.cumulative >= first && is_small;
                }
            }
        }
    }
    false
}

/// The scale of the receive window, if the capture lacks the SYN: the least one that has room for all data
/// outstanding. A window that limited the sender was almost full, which no other scale explains.
pub(crate) fn scale(flow: &Flow, events: &[Event]) -> Option<u32> {
    let answers = flow.half.log.answers();
    let mut last: Option<(u64, f64)> = None;
    let mut greatest: f64 = 0.0;
    for event in events {
        match event.what {
            What::Answer(place) => {
                let Answer { cumulative, window, .. } = answers[place];
                last = (window > 0).then_some((cumulative, f64::from(window)));
            }
            What::Sent { begin, len, .. } => {
                let Some((cumulative, window)) = last else { continue };
                let end = begin + u64::from(len);
                greatest = greatest.max(end.saturating_sub(cumulative) as f64 / window);
            }
        }
    }
    let has_room = |scale: &u32| f64::from(1 << scale) >= greatest;
    (greatest > 0.0).then(|| (0..GREATEST_SCALE).find(has_room).unwrap_or(GREATEST_SCALE))
}

pub(crate) fn least(samples: &Series<RttSample>) -> i64 {
    samples.items().iter().map(|sample| sample.rtt).min().unwrap_or(0)
}

fn sent(one: &Passed, at: i64, passed_at: Option<i64>) -> Event {
    let is_marked = one.ecn == 3;
    Event { at, what: What::Sent { begin: one.begin, len: one.len, is_marked, passed_at } }
}

/// The departures of data that were seen behind the bottleneck. Data that are missing departed between
/// their neighbours.
fn departures(log: &Log) -> Vec<Event> {
    let Some(clock) = Clock::of(log) else { return Vec::new() };
    let mut all: Vec<Event> = Vec::new();
    let (mut last, mut next) = (i64::MIN, None);
    // More missing data than packets are of the capture, and would take its memory.
    let mut room = log.passed().len();
    let echo = |one: &Passed| one.stamps.map(|stamps| stamps.echo);
    for group in log.passed().chunk_by(|a, b| echo(a) == echo(b)) {
        for (k, one) in group.iter().enumerate() {
            let Some(at) = clock.departure(one, k, group.len()) else { continue };
            let at = at.clamp(last, one.at.max(last));
            let next_begin = *next.get_or_insert(one.begin);
            if one.begin > next_begin && last > i64::MIN {
                let before = all.len();
                all.extend(missing(next_begin, one, [last, at]).take(room));
                room -= all.len() - before;
            }
            all.push(sent(one, at, Some(one.at)));
            last = at;
            next = Some(next_begin.max(one.begin + u64::from(one.len)));
        }
    }
    all
}

/// The first round trip of a flow that was seen behind the bottleneck, in ns, with its uncertainty: from
/// the first departure, by the sender's clock, to its passage. `None` without timestamps.
pub(crate) fn first_trip(log: &Log) -> Option<(f64, f64)> {
    let clock = Clock::of(log)?;
    let first = log.passed().first()?;
    let begin = clock.offset + clock.begin(first.stamps?.value, first.at);
    Some((first.at as f64 - begin - clock.tick / 2.0, clock.tick / 2.0))
}

/// The data from `begin` to those of `one`, which departed between two times.
fn missing(begin: u64, one: &Passed, [from, to]: [i64; 2]) -> impl Iterator<Item = Event> {
    let (until, step) = (one.begin, u64::from(one.len.max(1)));
    let count = (until - begin).div_ceil(step);
    let each = move |k: u64| {
        let share = (k + 1) as f64 / (count + 1) as f64;
        let first = begin + k * step;
        let len = step.min(until - first) as u32;
        let at = from + (to.saturating_sub(from) as f64 * share) as i64;
        Event { at, what: What::Sent { begin: first, len, is_marked: false, passed_at: None } }
    };
    (0..count).map(each)
}

/// The sender's clock in the times of the capture.
struct Clock {
    /// Duration of a tick, in ns.
    tick: f64,
    /// Time of the first value's begin, in ns.
    offset: f64,
    first: u32,
    /// Time at which the first value passed, in ns.
    first_at: i64,
    /// Arrivals of the acknowledgements at the sender, in order: their clocks, from the first one on, and
    /// times.
    arrivals: Vec<(i64, i64)>,
    first_arrival: u32,
}

/// Ticks in a second of timestamps in use (RFC 7323 section 5.4: 1 ms to 1 s; Linux 1 ms, or 1 us with
/// `tcp_usec_ts`).
const FREQUENCIES: [f64; 6] = [10.0, 100.0, 250.0, 1000.0, 1e4, 1e6];
/// A measured frequency is off by this share at most.
const NEAR: f64 = 0.05;

impl Clock {
    fn of(log: &Log) -> Option<Clock> {
        let first_arrival = log.answers().iter().find_map(|one| one.clock)?;
        let mut arrivals: Vec<(i64, i64)> = Vec::new();
        for one in log.answers() {
            let Some(clock) = one.clock else { continue };
            let last = arrivals.last().map_or(0, |last| last.0);
            let value = unwrapped(clock, first_arrival, last);
            if arrivals.last().is_none_or(|last| last.0 <= value) {
                arrivals.push((value, one.at));
            }
        }
        let stamped = || log.passed().iter().filter(|one| one.stamps.is_some());
        let (begin, end) = (stamped().next()?, stamped().next_back()?);
        let first = begin.stamps?.value;
        let values = stamped().filter_map(|one| one.stamps).map(|stamps| stamps.value);
        // Values of 1 us wrap every 72 minutes.
        let ticks = values.fold(0, |last, value| unwrapped(value, first, last));
        let measured = ticks as f64 * 1e9 / (end.at - begin.at).max(1) as f64;
        let known = FREQUENCIES.into_iter().find(|one| (measured / one - 1.0).abs() < NEAR);
        let tick = 1e9 / known.unwrap_or(measured).max(1e-3);
        let first_at = begin.at;
        let mut clock = Clock { tick, offset: 0.0, first, first_at, arrivals, first_arrival };
        // An acknowledgement that lets a packet depart at once is within the tick of its departure.
        let offsets = stamped().filter_map(|one| {
            let stamps = one.stamps?;
            let first = clock.group(stamps.echo, one.at).first()?;
            Some(first.1 as f64 - clock.begin(stamps.value, one.at))
        });
        let latest = offsets.reduce(f64::max)?;
        clock.offset = latest - tick;
        Some(clock)
    }

    /// Begin of the tick of a value that passed at a time, without the offset.
    fn begin(&self, value: u32, at: i64) -> f64 {
        let about = at.saturating_sub(self.first_at) as f64 / self.tick;
        unwrapped(value, self.first, about as i64) as f64 * self.tick
    }

    /// The acknowledgements of one tick of the receiver's clock, or of the last tick before it, that data
    /// echo which pass at a time. The first data may echo none.
    fn group(&self, clock: u32, now: i64) -> &[(i64, i64)] {
        let arrived = self.arrivals.partition_point(|one| one.1 <= now);
        let about = arrived.checked_sub(1).map_or(0, |place| self.arrivals[place].0);
        let value = unwrapped(clock, self.first_arrival, about);
        let end = self.arrivals.partition_point(|one| one.0 <= value);
        let Some(last) = end.checked_sub(1).map(|place| self.arrivals[place].0) else { return &[] };
        let begin = self.arrivals.partition_point(|one| one.0 < last);
        if self.arrivals[begin].1 <= now { &self.arrivals[begin..end] } else { &[] }
    }

    /// The departure of the packet at place `k` of `count` that echo one tick: each acknowledgement lets
    /// the same number of packets depart. It does not lie before the packet's own tick.
    fn departure(&self, one: &Passed, k: usize, count: usize) -> Option<i64> {
        let stamps = one.stamps?;
        let begin = self.offset + self.begin(stamps.value, one.at);
        let group = self.group(stamps.echo, one.at);
        let at = group.get(k * group.len() / count.max(1)).map_or(begin, |own| own.1 as f64);
        Some(at.max(begin) as i64)
    }
}

/// The distance of a serial number from the first one (RFC 7323 section 5.2), of which another distance
/// is less than half a turn away.
fn unwrapped(value: u32, first: u32, about: i64) -> i64 {
    let near = first.wrapping_add(about as u32);
    about.saturating_add(i64::from(value.wrapping_sub(near) as i32))
}

#[cfg(test)]
mod tests {
    use sojourn_trace::capture::{Endpoint, Sack, Segment, Stamps};

    use super::{Event, departures};
    use crate::observation::Log;

    /// A segment of one byte, or its acknowledgement, with a timestamp.
    fn segment(stamps: Stamps, payload: u32) -> Segment {
        let end = |address| Endpoint { address, port: 80, v6: false };
        Segment {
            from: end(1),
            to: end(2),
            seq: 0,
            ack: Some(0),
            syn: false,
            fin: false,
            rst: false,
            flags: 16,
            ae: false,
            window: Some(u16::MAX),
            payload,
            stamps: Some(stamps),
            sack: Sack::of([]),
            id: None,
            size: payload + 52,
            ecn: 0,
            mss: None,
            window_scale: None,
        }
    }

    /// The departures of packets of one byte that pass once a second and are acknowledged at once, by
    /// clocks of 1 us.
    fn departures_of(packets: u64, apart: u64) -> Vec<Event> {
        let mut log = Log::new(packets as usize + 1);
        let ticks = |k: u64| (k * 1_000_000) as u32;
        for k in 0..packets {
            let (at, begin) = (k as i64 * 1_000_000_000, k * apart);
            let stamps = Stamps { value: ticks(k), echo: ticks(k.saturating_sub(1)) };
            log.pass(at, begin, &segment(stamps, 1));
            let stamps = Stamps { value: ticks(k), echo: ticks(k) };
            log.answer(at, begin + 1, &[], &segment(stamps, 0));
        }
        departures(&log)
    }

    #[test]
    fn the_data_that_gaps_stand_for_are_no_more_than_the_packets_of_the_log() {
        let found = departures_of(2000, 10_001);
        assert!(found.len() > 2000 && found.len() <= 4000, "{}", found.len());
    }

    #[test]
    fn departures_keep_their_times_when_the_timestamps_wrap() {
        // 83 minutes: values of 1 us wrap after 72, and half of that is ambiguous.
        let found = departures_of(5000, 1);
        assert_eq!(found.len(), 5000);
        for pair in found[2..].windows(2) {
            // Two ticks.
            assert!((pair[1].at - pair[0].at - 1_000_000_000).abs() <= 2000, "{pair:?}");
        }
    }
}
