//! The observation of a qlog file: the data that its endpoint sends, and those that it receives.

use std::io::{self, Read};

use serde_json::{Map, Value};
use sojourn_trace::qlog::{self, Event, Limits, Listener, Log, Trace};

use super::half::{Flight, Gap, Half, Passing, RttSample};
use super::series::Series;
use super::{Damage, Flow, Kind, Observation, Protocol, Vantage};

/// Events of a kind that are kept of a path.
const LIMIT: usize = 1 << 17;
/// Paths of a trace that are observed.
const MOST_PATHS: usize = 16;
/// Headers that the lengths of a log exclude, in bytes: of IPv4 and UDP, and of IPv4 for a log of TCP.
const UDP_HEADERS: u64 = 28;
const IP_HEADER: u64 = 20;
/// Traces that begin within this time of each other have one clock, in s.
const ONE_CLOCK_S: f64 = 86_400.0;

/// What an endpoint logs of a path.
#[derive(Debug)]
struct Course {
    sent: Half,
    received: Half,
    /// Round trips that the stack names, for a log without acknowledgements.
    named: Series<RttSample>,
    /// Losses that the stack declares.
    declared: Series<Gap>,
}

/// What an endpoint logs.
#[derive(Debug, Default)]
struct Heard {
    courses: Vec<(u64, Course)>,
    begin_s: Option<f64>,
    end: i64,
    events: u64,
    controller: Option<String>,
    role: Option<String>,
    is_tcp: bool,
}

impl Course {
    fn new() -> Course {
        let half = || Half::new(LIMIT);
        Course {
            sent: half(),
            received: half(),
            named: Series::new(LIMIT),
            declared: Series::new(LIMIT),
        }
    }

    fn event(&mut self, now: i64, event: &Event<'_>, header: u64) {
        let passing = |length: u64, payload: u64| Passing {
            payload,
            wire: length.max(payload) + header,
            packets: 1,
            ecn: 0,
        };
        match *event {
            Event::Sent { length, payload, is_again } if payload > 0 => {
                self.sent.datagram(now, &passing(length, payload));
                if is_again {
                    self.sent.again += 1;
                    self.sent.repeats.push(Gap { at: now, bytes: payload });
                }
            }
            Event::Received { length, payload } => {
                self.received.datagram(now, &passing(length, payload));
            }
            Event::Acked { payload, rtt, missing } => self.acked(now, payload, rtt, missing),
            Event::Lost => {
                let bytes = self.sent.mss.into();
                self.declared.push(Gap { at: now, bytes });
            }
            Event::Ecn { counts, is_own: true } => self.received.counts(now, counts),
            Event::Ecn { counts, is_own: false } => self.sent.counts(now, counts),
            Event::Metrics { rtt, in_flight, .. } => {
                if let Some(rtt) = rtt {
                    self.named.push(RttSample { at: now, rtt: ns(rtt), bytes: 0 });
                }
                if let Some(bytes) = in_flight {
                    self.sent.flights.push(Flight { at: now, bytes: bytes as u64, window: 0 });
                }
            }
            Event::Sent { .. } | Event::Controller(_) => {}
        }
    }

    fn acked(&mut self, now: i64, payload: u64, rtt: Option<f64>, missing: u64) {
        self.sent.reports(now, payload);
        if missing > 0 {
            let bytes = missing * u64::from(self.sent.mss);
            self.sent.reported_holes.push(Gap { at: now, bytes });
        }
        if let Some(rtt) = rtt.map(ns).filter(|rtt| *rtt >= 0) {
            let bytes = payload.min(u64::from(u32::MAX)) as u32;
            self.sent.ahead.push(RttSample { at: now, rtt, bytes });
            // A receiver's own packets come back behind the data that it receives.
            self.received.behind.push(RttSample { at: now, rtt, bytes: 0 });
        }
    }

    /// Both directions, with the stack's own round trips where packets show none, and the losses that
    /// it declares: gaps in the acknowledgements may be reordered packets.
    fn finish(mut self) -> [Half; 2] {
        if self.sent.ahead.pushed() == 0 {
            self.sent.ahead = self.named.clone();
            self.received.behind = self.named;
        }
        if self.declared.pushed() > 0 {
            self.sent.reported_holes = self.declared;
        }
        self.received.is_sparse = true;
        [self.sent, self.received]
    }
}

fn ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

impl Listener for Heard {
    fn describe(&mut self, about: &Map<String, Value>) {
        let role = about.get("vantage_point").and_then(|point| point["type"].as_str());
        self.role = role.map(str::to_owned);
        let protocols = about.get("common_fields").map(|fields| &fields["protocol_types"]);
        let is_tcp =
            |value: &Value| value.as_array().is_some_and(|all| all.contains(&"TCP".into()));
        self.is_tcp = protocols.is_some_and(is_tcp);
    }

    fn event(&mut self, at_s: f64, path: u64, event: &Event<'_>) {
        self.events += 1;
        if let Event::Controller(name) = event {
            self.controller = Some((*name).to_owned());
        }
        let begin = *self.begin_s.get_or_insert(at_s);
        let now = ns(at_s - begin).max(0);
        self.end = self.end.max(now);
        let place = match self.courses.iter().position(|(own, _)| *own == path) {
            Some(place) => place,
            None if self.courses.len() >= MOST_PATHS => return,
            None => {
                self.courses.push((path, Course::new()));
                self.courses.len() - 1
            }
        };
        let header = if self.is_tcp { IP_HEADER } else { UDP_HEADERS };
        self.courses[place].1.event(now, event, header);
    }

    fn weight(&self) -> usize {
        // 13 series of 24 bytes an event, at most.
        let events = (self.events as usize).min(LIMIT * self.courses.len());
        events * 13 * 24
    }
}

/// Reads a qlog file from what `open` returns, up to its first error.
///
/// # Errors
/// If the file cannot be opened or read.
pub(super) fn read<R: Read>(
    name: &str,
    open: impl FnMut() -> io::Result<R>,
) -> io::Result<Observation> {
    let limits = Limits { memory: MEMORY, ..Limits::default() };
    // A trace without a name has that of its file, wherever the file is.
    let name = qlog::trace_name(name.rsplit('/').next().unwrap_or(name));
    let log: Log<Heard> = qlog::listen(name, open, &limits)?;
    let mut found = Observation::new(Kind::Qlog);
    found.damage = log.damage.map(|damage| Damage {
        offset: damage.at_byte,
        message: format!("line {}: {}", damage.line, damage.fault),
    });
    let traces: Vec<(String, Heard)> = log.traces.into_iter().map(heard).collect();
    let begins = traces.iter().filter_map(|(_, heard)| heard.begin_s);
    let begin = begins.fold(f64::INFINITY, f64::min);
    for (name, heard) in traces {
        add(&mut found, &name, heard, begin);
    }
    Ok(found)
}

/// Memory of a log's events, in bytes.
const MEMORY: usize = 300 << 20;

fn heard(trace: Trace<Heard>) -> (String, Heard) {
    (trace.name().to_owned(), trace.listener())
}

fn add(found: &mut Observation, name: &str, heard: Heard, begin_s: f64) {
    let late = heard.begin_s.map_or(0.0, |own| own - begin_s);
    let shift = ns(if late < ONE_CLOCK_S { late } else { 0.0 });
    found.duration = found.duration.max(heard.end + shift);
    let (local, remote) = match heard.role.as_deref() {
        Some("server") => (format!("{name} (server)"), "client".to_owned()),
        Some("client") => (format!("{name} (client)"), "server".to_owned()),
        _ => (name.to_owned(), "peer".to_owned()),
    };
    let is_one = heard.courses.len() == 1;
    for (path, course) in heard.courses {
        let with_path =
            |end: &str| if is_one { end.to_owned() } else { format!("{end} path {path}") };
        let [mut sent, mut received] = course.finish();
        found.packets += sent.packets + received.packets;
        let (local, remote) = (with_path(&local), with_path(&remote));
        let ends = [(local.clone(), remote.clone()), (remote, local)];
        let halves = [&mut sent, &mut received];
        halves.into_iter().for_each(|half| half.shift(shift));
        let all = [sent, received].into_iter().zip([Vantage::Sender, Vantage::Receiver]);
        for ((half, vantage), (from, to)) in all.zip(ends) {
            let is_sent = vantage == Vantage::Sender;
            if half.payload > 0 {
                found.flows.push(Flow {
                    protocol: if heard.is_tcp { Protocol::Tcp } else { Protocol::Quic },
                    controller: heard.controller.clone().filter(|_| is_sent),
                    vantage: Some(vantage),
                    ..Flow::new(from, to, shift, half)
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Course, Event};

    fn losses(declared: usize) -> Vec<i64> {
        let mut course = Course::new();
        for at in 0..10 {
            course.event(at, &Event::Sent { length: 1200, payload: 1000, is_again: false }, 28);
        }
        for at in 20..25 {
            course.event(at, &Event::Acked { payload: 1000, rtt: Some(0.01), missing: 1 }, 28);
        }
        (0..declared).for_each(|k| course.event(30 + k as i64, &Event::Lost, 28));
        let [sent, _] = course.finish();
        sent.reported_holes.items().iter().map(|gap| gap.at).collect()
    }

    #[test]
    fn losses_that_the_stack_declares_replace_gaps_in_the_acknowledgements() {
        assert_eq!(losses(2), [30, 31]);
        assert_eq!(losses(0), [20, 21, 22, 23, 24]);
    }
}
