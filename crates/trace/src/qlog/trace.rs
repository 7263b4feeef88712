//! One trace of any draft: its events become figures over time.

use std::collections::BTreeMap;

use serde_json::Value;

use super::course::Course;
use super::frames::{self, Ack, Level, Piece, Stream};
use super::json::{Object, count, first, number};
use super::listener::{Event, Listener};
use super::ranges::{Flight, Ranges, Sent};

/// Greater times are calendar times: in milliseconds since 1970, this is the year 1973.
const CALENDAR_MS: f64 = 1e11;

/// Fields by which stacks name their congestion controller.
const CONTROLLER: [&str; 5] =
    ["congestion_control", "congestion_controller", "cc_algorithm", "congestion_algorithm", "cc"];

const TIMES: [&str; 4] = ["time", "relative_time", "delta_time", "timestamp"];

/// The fields of a trace that say how to read its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Setup {
    is_delta: bool,
    is_in_us: bool,
    /// Time before the first event, in units of the trace.
    offset: f64,
    /// Names of the values of events that are lists, as in draft-01.
    fields: Vec<String>,
}

impl Setup {
    pub(super) fn of(about: &Object) -> Setup {
        let field = |key: &str| about.get(key).unwrap_or(&Value::Null);
        let (common, setup) = (field("common_fields"), field("configuration"));
        let units = setup.get("time_units").unwrap_or(&common["time_units"]);
        let names = field("event_fields").as_array().into_iter().flatten();
        let name = |name: &Value| name.as_str().unwrap_or_default().to_lowercase();
        Setup {
            is_delta: matches!(
                common["time_format"].as_str(),
                Some("delta" | "relative_to_previous_event")
            ),
            is_in_us: units == "us",
            offset: number(&setup["time_offset"]).unwrap_or(0.0),
            fields: names.map(name).collect(),
        }
    }

    /// Seconds in a unit of time.
    fn scale(&self) -> f64 {
        if self.is_in_us { 1e-6 } else { 1e-3 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Sent,
    Received,
    Acked,
}

/// The log of one endpoint of a connection.
#[derive(Debug, Default)]
pub struct Trace<L = ()> {
    /// The endpoint's name, or that of the file.
    pub(super) name: String,
    pub(super) title: Option<String>,
    /// Its kind, such as `client`.
    pub(super) vantage: Option<String>,
    /// Number of events, of unknown types too.
    pub(super) events: u64,
    /// Whether its times are calendar times.
    pub(super) is_absolute: bool,
    /// Its paths by their identifiers; one, 0, without the multipath extension.
    pub(super) paths: BTreeMap<u64, Course>,
    setup: Setup,
    now: f64,
    has_begun: bool,
    is_multipath: bool,
    /// Paths that have names instead of numbers.
    names: BTreeMap<String, u64>,
    /// The greatest number of an application packet, and its path.
    highest: Option<(u64, u64)>,
    flights: BTreeMap<(u64, Level), Flight>,
    streams: BTreeMap<(Way, Stream), Ranges>,
    listener: L,
}

impl<L: Listener> Trace<L> {
    pub(super) fn new(name: String) -> Trace<L> {
        Trace { name, ..Trace::default() }
    }

    /// The endpoint's name, or that of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What heard the events.
    pub fn listener(self) -> L {
        self.listener
    }

    /// Takes the names of the trace and its endpoint.
    pub(super) fn describe(&mut self, about: &Object) {
        let text =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let vantage = about.get("vantage_point").unwrap_or(&Value::Null);
        self.vantage = text(&vantage["type"]);
        self.title = about.get("title").and_then(text);
        if let Some(name) = text(&vantage["name"]) {
            self.name = name;
        }
        self.listener.describe(about);
    }

    /// Sets how to read the events.
    pub(super) fn set_up(&mut self, setup: Setup) {
        self.setup = setup;
    }

    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Adds the next event; events of unknown types only count.
    pub(super) fn add(&mut self, event: Value) {
        self.events += 1;
        let event = match event {
            Value::Array(values) => self.setup.fields.iter().cloned().zip(values).collect(),
            other => other,
        };
        let data = &event["data"];
        // The name is `transport:packet_sent`, `quic:packet_sent`, or split into two fields.
        let name = first(&event, &["name", "event", "event_type"]).as_str().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
        let named = self.path(&name, &event);
        let path = named.unwrap_or(0);
        self.course(path).events += 1;
        self.tick(&event, path);
        match name.as_str() {
            "metrics_updated" | "metric_update" | "recovery_metrics_updated" => {
                self.metrics(path, data);
            }
            "packet_sent" => self.packet_sent(path, data),
            "packet_received" => self.packet_received(path, data),
            "packet_lost" => self.packet_lost(named, data),
            "congestion_state_updated" => {
                self.course(path).row.phase = data["new"].as_str().unwrap_or_default().into();
            }
            "parameters_set" | "recovery_parameters_set" => self.parameters(path, data),
            _ => {}
        }
    }

    /// Completes the figures, after all events.
    pub(super) fn finish(&mut self) {
        self.paths.values_mut().for_each(Course::finish);
        self.paths.retain(|_, course| course.events > 0);
        (self.flights, self.streams) = Default::default();
    }

    /// Memory in bytes, about.
    pub(super) fn weight(&self) -> usize {
        let in_flight = self.flights.values().map(Flight::weight).sum::<usize>();
        // Nodes of B-trees are at least half full.
        let ranges = self.streams.values().map(|ranges| 128 + 32 * ranges.len()).sum::<usize>();
        let paths = self.paths.values().map(Course::weight).sum::<usize>();
        let own = size_of::<Trace<L>>() + self.listener.weight() + 128 * self.names.len();
        own + in_flight + ranges + paths
    }

    /// The state of a path.
    fn course(&mut self, path: u64) -> &mut Course {
        self.paths.entry(path).or_default()
    }

    /// The path of an event: 0, unless the connection uses the multipath extension; `None` if the
    /// event names none of several.
    fn path(&mut self, name: &str, event: &Value) -> Option<u64> {
        let data = &event["data"];
        let own = &data["header"]["path_id"];
        // The schema has had `path`, then `tuple`; programs write the identifier as `path_id`.
        let named = [own, &data["path_id"], &event["path_id"], &event["tuple"], &event["path"]];
        let named = named.into_iter().find(|path| !path.is_null());
        let path = named.map(|path| self.path_named(path));
        self.is_multipath |= count(own).is_some_and(|path| path > 0);
        let frames = frames::frames(data).unwrap_or_default();
        self.is_multipath |= frames::acks(frames).any(|ack| ack.is_of_path());
        if name == "packet_sent" && frames::level(data) == Level::Application {
            self.compare_numbers(path.unwrap_or(0), data);
        }
        if self.is_multipath { path } else { Some(0) }
    }

    fn path_named(&mut self, path: &Value) -> u64 {
        let name = path.as_str().unwrap_or_default();
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let known = count(path).or_else(|| digits.parse().ok());
        known.unwrap_or_else(|| {
            let next = self.names.len() as u64;
            *self.names.entry(name.to_owned()).or_insert(next)
        })
    }

    /// Detects multipath: packet numbers start anew on another path
    /// (draft-ietf-quic-multipath-19). After a migration they go on (RFC 9000 section 9).
    fn compare_numbers(&mut self, path: u64, data: &Value) {
        let Some(number) = frames::number(data) else { return };
        match self.highest {
            Some((highest, before)) if number <= highest => self.is_multipath |= path != before,
            _ => self.highest = Some((number, path)),
        }
    }

    fn tick(&mut self, event: &Value, path: u64) {
        let Some(given) = number(first(event, &TIMES)) else { return };
        let scale = self.setup.scale();
        let is_delta = self.setup.is_delta || event.get("delta_time").is_some();
        let before = if is_delta { self.now } else { self.setup.offset * scale };
        let now = given * scale + before;
        self.is_absolute |= given * scale * 1e3 > CALENDAR_MS;
        self.now = if self.has_begun { now.max(self.now) } else { now };
        let now = self.now;
        self.has_begun |= self.course(path).advance(now);
    }

    fn metrics(&mut self, path: u64, data: &Value) {
        let scale = self.setup.scale();
        let time =
            |key: &str| number(&data[key]).filter(|time| *time >= 0.0).map(|time| time * scale);
        let bytes = |keys: &[&str]| count(first(data, keys)).map(|bytes| bytes as f64);
        let course = self.course(path);
        // Writers omit unchanged values, so a repeated value is a new sample.
        if let Some(rtt) = time("latest_rtt") {
            course.report(rtt);
        }
        let row = &mut course.row;
        row.srtt = time("smoothed_rtt").or(row.srtt);
        row.min_rtt = time("min_rtt").or(row.min_rtt);
        row.cwnd = bytes(&["congestion_window", "cwnd"]).or(row.cwnd);
        row.ssthresh = bytes(&["ssthresh"]).or(row.ssthresh);
        row.pacing = bytes(&["pacing_rate"]).or(row.pacing);
        row.in_flight = bytes(&["bytes_in_flight", "in_flight"]).or(row.in_flight);
        if let Some(count) = number(&data["pto_count"]) {
            course.pto_count(count);
        }
        let event = Event::Metrics {
            rtt: time("latest_rtt"),
            cwnd: bytes(&["congestion_window", "cwnd"]),
            in_flight: bytes(&["bytes_in_flight", "in_flight"]),
        };
        self.hear(path, &event);
    }

    /// Stacks name their controller in fields of their own; the schema has none.
    fn parameters(&mut self, path: u64, data: &Value) {
        if let Some(name) = first(data, &CONTROLLER).as_str() {
            self.hear(path, &Event::Controller(name));
        }
    }

    fn hear(&mut self, path: u64, event: &Event<'_>) {
        self.listener.event(self.now, path, event);
    }

    fn packet_sent(&mut self, path: u64, data: &Value) {
        let (level, frames) = (frames::level(data), frames::frames(data));
        let listed = frames.unwrap_or_default();
        // A receiver's log has the counts of CE in the acknowledgements that it sends.
        frames::acks(listed).for_each(|ack| self.mark(&ack, path, Way::Sent));
        let pieces = frames::pieces(listed, level);
        let length = frames::length(data);
        let mut payload = length;
        if !pieces.is_empty() || frames.is_none() {
            let size = pieces.iter().map(|piece| piece.len).fold(0, u64::saturating_add);
            let new = self.cover(Way::Sent, &pieces);
            let course = self.course(path);
            course.sent_packets += 1;
            course.row.sent = course.row.sent.saturating_add(new);
            course.row.again += u64::from(new < size);
            payload = if frames.is_none() { length } else { size };
            self.hear(path, &Event::Sent { length, payload, is_again: new < size });
        }
        let Some(number) = frames::number(data) else { return };
        let (at, flight) = (self.now, self.flights.entry(space(path, level)).or_default());
        if frames.is_none_or(frames::elicits_ack) {
            let unlisted = if frames.is_none() { payload } else { 0 };
            flight.add(number, Sent { at, pieces, unlisted, is_lost: false });
        } else {
            flight.add_silent(number, at);
        }
    }

    fn packet_received(&mut self, path: u64, data: &Value) {
        let (level, listed) = (frames::level(data), frames::frames(data));
        let frames = listed.unwrap_or_default();
        let new = self.cover(Way::Received, &frames::pieces(frames, level));
        let length = frames::length(data);
        let payload = if listed.is_none() { length } else { new };
        if payload > 0 {
            self.hear(path, &Event::Received { length, payload });
        }
        let row = &mut self.course(path).row;
        row.received = row.received.saturating_add(new);
        for ack in frames::acks(frames) {
            self.mark(&ack, path, Way::Received);
            self.acknowledged(level, &ack);
        }
    }

    fn packet_lost(&mut self, path: Option<u64>, data: &Value) {
        self.course(path.unwrap_or(0)).row.lost += 1;
        self.hear(path.unwrap_or(0), &Event::Lost);
        // Without its path, the number may be that of another packet.
        let (Some(path), Some(number)) = (path, frames::number(data)) else { return };
        if let Some(flight) = self.flights.get_mut(&space(path, frames::level(data))) {
            flight.lose(number);
        }
    }

    /// Takes the counts of CE of an acknowledgement in an event of path `of_event`.
    fn mark(&mut self, ack: &Ack<'_>, of_event: u64, way: Way) {
        let now = self.now;
        let course = self.course(ack.path());
        if ack.path() != of_event {
            course.events += 1;
            course.advance(now);
        }
        course.row.marked = course.row.marked.max(ack.marked());
        self.hear(ack.path(), &Event::Ecn { counts: ack.ecn(), is_own: way == Way::Sent });
    }

    /// Processes an acknowledgement. It gives an RTT sample if the greatest acknowledged packet is
    /// acknowledged for the first time, and any ack-eliciting one with it (RFC 9002 section 5.1).
    /// A packet declared lost gives none (RFC 9002 appendix A.10 forgets it).
    fn acknowledged(&mut self, level: Level, ack: &Ack<'_>) {
        let (path, now) = (ack.path(), self.now);
        let mut newest: Option<(u64, f64)> = None;
        let (mut greatest, mut payload) = (0, 0_u64);
        for (low, high) in ack.ranges() {
            greatest = greatest.max(high);
            while let Some((number, sent)) = self.take(path, level, low, high) {
                let new = self.cover(Way::Acked, &sent.pieces);
                let row = &mut self.course(path).row;
                row.acked = row.acked.saturating_add(new);
                payload = payload.saturating_add(new).saturating_add(sent.unlisted);
                if !sent.is_lost && newest.is_none_or(|(before, _)| number >= before) {
                    newest = Some((number, sent.at));
                }
            }
        }
        let Some(flight) = self.flights.get_mut(&space(path, level)) else { return };
        let silent = flight.take_silent(greatest);
        let missing = newest.map_or(0, |(number, _)| flight.missing_below(number));
        let rtt = newest.and_then(|(number, at)| {
            flight.forget_before(number);
            Some(now - silent.or((number == greatest).then_some(at))?)
        });
        if let Some(rtt) = rtt {
            self.course(path).measure(rtt);
        }
        if newest.is_some() || payload > 0 {
            self.hear(path, &Event::Acked { payload, rtt, missing });
        }
    }

    fn take(&mut self, path: u64, level: Level, low: u64, high: u64) -> Option<(u64, Sent)> {
        self.flights.get_mut(&space(path, level))?.take(low, high)
    }

    /// Adds data to what was seen; returns the number of new bytes.
    fn cover(&mut self, way: Way, pieces: &[Piece]) -> u64 {
        let mut new = 0_u64;
        for piece in pieces {
            new = new.saturating_add(match piece.stream {
                Stream::Datagram => piece.len,
                _ if piece.len == 0 => 0,
                stream => {
                    let ranges = self.streams.entry((way, stream)).or_default();
                    ranges.add(piece.start, piece.start + piece.len)
                }
            });
        }
        new
    }
}

/// The packet number space of a packet: the handshake has one path, and each path has a space of
/// application data (draft-ietf-quic-multipath-19).
fn space(path: u64, level: Level) -> (u64, Level) {
    if level == Level::Application { (path, level) } else { (0, level) }
}
