//! The scenario of a twin: the inferred path, and the flows with their data over time.

use std::fmt::Write as _;

use super::synthesis::CONTROLLERS;
use crate::observation::{EcnUse, Flow};
use crate::path::Path;
use crate::path::limits::Limits;
use crate::path::view::View;

/// Packets of a run that is one of many, so that all take a second or two.
const MOST_PACKETS: f64 = 120_000.0;
/// Least time of such a run, in s.
const LEAST_S: f64 = 5.0;
/// Packets and time, in s, of the run that is the twin, so that it takes a minute or two. A source may
/// claim a century.
const MOST_WHOLE_PACKETS: f64 = 2e7;
const MOST_WHOLE_S: f64 = 3600.0;

/// The path and the flows, without controllers and queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Time, in s.
    pub duration: f64,
    /// Times from which rates hold, in s and bit/s.
    pub rates: Vec<(f64, f64)>,
    /// Delay of the bottleneck's link, in s.
    pub delay: f64,
    /// Size of the buffer of a queue that it alone limits, in bytes.
    pub buffer: f64,
    /// Probability of a random loss.
    pub loss: f64,
    /// Whether the queue marks.
    pub is_marking: bool,
    /// The flows.
    pub flows: Vec<PlanFlow>,
    /// Other traffic.
    pub beside: Option<CrossTraffic>,
}

/// Other traffic at its mean rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossTraffic {
    /// Mean rate from its first delivery to its last, in bit/s.
    pub rate: f64,
    /// Time of the first delivery, in s.
    pub from: f64,
    /// Time of the last delivery, in s.
    pub to: f64,
}

impl CrossTraffic {
    /// All traffic of some views; `None` without two deliveries.
    pub fn of(views: &[View]) -> Option<CrossTraffic> {
        let spans = views.iter().map(View::span);
        let from = spans.clone().map(|span| span.0).reduce(f64::min)?;
        let to = spans.map(|span| span.1).fold(from, f64::max);
        let bytes: f64 = views.iter().filter_map(|view| Some(view.delivered.last()?.1)).sum();
        let rate = 8.0 * bytes / (to - from);
        (to > from && rate >= 1.0).then_some(CrossTraffic { rate, from, to })
    }

    /// A flow that is on once. Its pause outlasts every run, also one that ends before it.
    fn write(self, text: &mut String) {
        let _ = write!(
            text,
            "\n[flow.beside]\npath = [\"bottleneck\"]\ncontrol = \"none\"\n\
             start = \"{:.3}s\"\nsource = {{ kind = \"on-off\", rate = \"{:.0}bit\", \
             on = \"{:.3}s\", off = \"1000000s\" }}\n",
            self.from,
            self.rate,
            (self.to - self.from).max(0.1)
        );
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFlow {
    /// Name in the scenario.
    pub name: String,
    /// Delay of its way back, in s.
    pub back: f64,
    /// Time of its first data, in s.
    pub start: f64,
    /// Its data.
    pub data: Data,
    /// Payload of a full packet, in bytes.
    pub mss: u32,
    /// ECN field of its packets.
    pub ecn: EcnUse,
    /// The receiver's window, in bytes, if it limits the flow.
    pub window: Option<u64>,
    /// The controller, if the source names one that Sojourn has.
    pub known: Option<&'static str>,
}

/// A flow's data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    /// As much as the network takes.
    Bulk,
    /// A file of so many bytes.
    File(u64),
    /// Data at a rate, in bit/s.
    Rate(f64),
}

/// A flow that the network limits for this share of its time has data all the time.
const NETWORK: f64 = 0.3;
/// A flow that ends this long before the capture, in s, has sent all its data.
const ENDED_S: f64 = 1.0;
/// Without a loss, the buffer is at least this much larger than the greatest backlog.
const ROOM: f64 = 1.5;

impl Plan {
    /// The plan of a path with its flows; `None` without a known capacity.
    pub fn new(
        path: &Path,
        flows: &[(&Flow, View, Limits)],
        duration: f64,
        is_marking: bool,
    ) -> Option<Plan> {
        let rates = rates(path)?;
        let delay = path.base_rtt()? / 2.0;
        let greatest = path.losses.met.get(path.losses.met.len() * 999 / 1000);
        // Losses without times came at the greatest backlog, if the buffer was full.
        let has_lost = |view: &View| view.lacks_loss_times && !view.losses.is_empty();
        let more = if flows.iter().any(|flow| has_lost(&flow.1)) { 1.0 } else { ROOM };
        let room = more * greatest.copied().unwrap_or(0.0);
        let level = path.losses.level().filter(|(_, losses)| *losses > 1).map(|(bytes, _)| bytes);
        let own = flows.iter().enumerate().map(|(k, (flow, view, limits))| {
            PlanFlow::new(k, flow, view, limits, path.bases[k].rtt - delay, duration)
        });
        Some(Plan {
            duration,
            buffer: path.buffer.or(level).unwrap_or(room.max(16.0 * 1500.0)),
            // A loss in thousands of packets is not told from none.
            loss: path.loss.filter(|loss| *loss >= 2e-5).unwrap_or(0.0).min(0.5),
            is_marking,
            beside: None,
            flows: own.collect(),
            rates,
            delay,
        })
    }

    /// The scenario as TOML. `controls`: the controller of each flow.
    pub fn toml(&self, title: &str, queue: &str, controls: &[&str], duration: f64) -> String {
        let mut text = format!(
            "title = \"{title}\"\nduration = \"{duration:.3}s\"\nstart_jitter = \"0s\"\n\n\
             [record]\ninterval = \"50ms\"\n\n[link.bottleneck]\n"
        );
        let steps: Vec<String> = self.rates[1..]
            .iter()
            .filter(|(at, _)| *at < duration)
            .map(|(at, rate)| format!("{{ at = \"{at:.3}s\", rate = \"{rate:.0}bit\" }}"))
            .collect();
        let rate = self.rates[0].1;
        let _ = match steps.is_empty() {
            true => writeln!(text, "rate = \"{rate:.0}bit\""),
            false => writeln!(
                text,
                "rate = {{ start = \"{rate:.0}bit\", steps = [{}] }}",
                steps.join(", ")
            ),
        };
        let _ = writeln!(text, "delay = \"{}\"\nqueue = {queue}", span(self.delay));
        if queue.contains("droptail") || queue.contains("head_drop") {
            let _ = writeln!(text, "buffer = \"{:.0}B\"", self.buffer.max(3000.0));
        }
        if self.loss > 0.0 {
            let _ = writeln!(text, "loss = {:.6}", self.loss);
        }
        for (flow, control) in self.flows.iter().zip(controls) {
            if flow.start < duration {
                flow.write(&mut text, control);
            }
        }
        if let Some(beside) = self.beside.filter(|beside| beside.from < duration) {
            beside.write(&mut text);
        }
        text
    }

    /// The time of a run that is one of many, in s.
    pub fn short_duration(&self) -> f64 {
        self.duration_of(MOST_PACKETS)
    }

    /// The time of the run that is the twin, in s: the whole, unless it has too many packets.
    pub fn whole_duration(&self) -> f64 {
        self.duration_of(MOST_WHOLE_PACKETS)
    }

    /// The views of a run of a part of the time, in the order of the flows. A flow that starts later has no
    /// place in it.
    pub fn aligned(&self, views: Vec<Option<View>>, duration: f64) -> Vec<Option<View>> {
        let mut own = views.into_iter();
        let starts = self.flows.iter().map(|flow| flow.start < duration);
        starts.map(|is_there| if is_there { own.next().flatten() } else { None }).collect()
    }

    fn duration_of(&self, packets: f64) -> f64 {
        let share = (packets / self.packets(self.duration).max(1.0)).min(1.0);
        (share * self.duration).max(LEAST_S).min(self.duration).min(MOST_WHOLE_S)
    }

    /// Packets that the path carries in a time, in s, at most.
    fn packets(&self, duration: f64) -> f64 {
        let ends = self.rates.iter().skip(1).map(|(at, _)| *at).chain([duration]);
        let bits = self
            .rates
            .iter()
            .zip(ends)
            .map(|((at, rate), end)| rate * (end.min(duration) - at.min(duration)).max(0.0));
        bits.sum::<f64>() / 8.0 / 1500.0
    }
}

/// The capacity over time; an unknown one is that before it, or behind it.
fn rates(path: &Path) -> Option<Vec<(f64, f64)>> {
    let pieces = &path.capacity.pieces;
    let first = pieces.iter().find_map(|piece| piece.rate)?;
    let mut found: Vec<(f64, f64)> = vec![(0.0, first)];
    for piece in pieces {
        let Some(rate) = piece.rate else { continue };
        if found.last().is_some_and(|last| (last.1 / rate - 1.0).abs() > 1e-3) {
            found.push((piece.from.max(1e-3), rate));
        }
    }
    Some(found)
}

/// The candidate that other programs call by a name; `None` if it is none.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let own = match lower.as_str() {
        "newreno" | "new_reno" | "new reno" => "reno",
        "bbr1" | "bbrv1" => "bbr",
        "bbrv3" => "bbr3",
        other => other,
    };
    CONTROLLERS.into_iter().find(|known| *known == own)
}

fn span(seconds: f64) -> String {
    format!("{:.0}us", (seconds * 1e6).max(0.0))
}

impl PlanFlow {
    /// Whether the network limits it, and not its ends.
    pub fn is_bulk(&self) -> bool {
        self.window.is_none() && !matches!(self.data, Data::Rate(_))
    }

    fn new(
        place: usize,
        flow: &Flow,
        view: &View,
        limits: &Limits,
        back: f64,
        duration: f64,
    ) -> PlanFlow {
        let half = &flow.half;
        let first = half.passed.items().first().map_or(0.0, |count| count.at as f64 * 1e-9);
        let late = if view.is_reported { 0.0 } else { back };
        let (begin, end) = view.span();
        let has_ended = duration - end > ENDED_S;
        let rate = 8.0 * half.payload as f64 / (end - begin).max(1e-3);
        let data = match () {
            () if limits.network < NETWORK && limits.sender > 0.5 => Data::Rate(rate),
            () if has_ended => Data::File(half.payload.max(1)),
            () => Data::Bulk,
        };
        let flights = half.flights.items().iter().map(|flight| flight.bytes);
        PlanFlow {
            name: format!("flow{}", place + 1),
            back: back.max(0.0),
            start: (first - late).max(0.0),
            data,
            mss: half.mss,
            ecn: view.ecn,
            window: flights.max().filter(|_| limits.receiver > 0.5),
            known: flow.controller.as_deref().and_then(named),
        }
    }

    fn write(&self, text: &mut String, control: &str) {
        let name = &self.name;
        let _ = write!(
            text,
            "\n[link.back-{name}]\ndelay = \"{}\"\n\n[flow.{name}]\npath = [\"bottleneck\"]\n\
             back = [\"back-{name}\"]\ncontrol = \"{control}\"\n",
            span(self.back)
        );
        if self.start > 0.0 {
            let _ = writeln!(text, "start = \"{:.4}s\"", self.start);
        }
        let _ = match self.data {
            Data::Bulk => writeln!(text, "source = \"bulk\""),
            Data::File(size) => {
                writeln!(text, "source = {{ kind = \"file\", size = \"{size}B\" }}")
            }
            Data::Rate(rate) => writeln!(
                text,
                "source = {{ kind = \"on-off\", rate = \"{:.0}bit\", on = \"1s\", off = \"0s\" }}",
                rate.max(1000.0)
            ),
        };
        let mut host = vec!["like = \"linux-6.18\"".to_owned()];
        if self.mss != USUAL_MSS && (MSS.0..=MSS.1).contains(&self.mss) {
            host.push(format!("mss = \"{}B\"", self.mss));
        }
        if self.ecn != EcnUse::None {
            host.push("ecn = true".to_owned());
        }
        if let Some(window) = self.window {
            host.push(format!("receive_window = \"{window}B\""));
        }
        // Their one-way delays need the receive times of single packets (RFC 6817 section 2.1).
        if control.starts_with("ledbat") {
            host.push("receive_times = true".to_owned());
        }
        if host.len() > 1 {
            let _ = writeln!(text, "host = {{ {} }}", host.join(", "));
        }
    }
}

/// The payload of a full packet of the host, and those that a twin has in its place, in bytes.
const USUAL_MSS: u32 = 1448;
const MSS: (u32, u32) = (400, 8960);
