//! Packets on a wire that reorders.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use sojourn_scenario::{Link, Reorder};
use sojourn_units::{Duration, Instant};

use crate::link::packet::Packet;
use crate::seed::{RandomEvent, Uniform};

/// A packet's arrival relative to the order of departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// After its delay.
    InOrder,
    /// At once.
    Early,
    /// After its delay and this extra delay.
    Late(Duration),
}

/// The rule that makes packets early or late.
#[derive(Debug)]
enum Rule {
    None,
    /// Deviation (Linux sch_netem.c): `reorder` may delay packets by `late`, which netem lacks.
    Late {
        event: RandomEvent,
        late: Duration,
    },
    /// `sch_netem.c`, `netem_enqueue`: `q->gap`, `q->counter`, `q->reorder`.
    Early {
        event: RandomEvent,
        gap: u64,
        /// Packets since the last early one.
        since: u64,
    },
}

/// The state of a wire that reorders: the packets beside the line, each of which overtakes or is
/// overtaken, and counters that give the order of departure.
#[derive(Debug)]
pub(crate) struct Overtaking {
    rule: Rule,
    /// Whether packets overtake each other by jitter.
    pub(crate) by_jitter: bool,
    aside: BinaryHeap<Aside>,
    /// Packets that entered the line, and that arrived from it.
    entered: u64,
    left: u64,
    /// Packets set aside from the line.
    set_aside: u64,
    /// The last departure among the packets from beside the line that have arrived.
    newest: Departure,
    /// Packets that arrived after one that had departed later (RFC 4737 section 3.3).
    pub(crate) reordered: u64,
}

/// The position of a departure: the number of packets that had entered the line before it, and that
/// had been set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Departure {
    line: u64,
    aside: u64,
}

/// A packet beside the line. Its stamp is its arrival time.
#[derive(Debug)]
struct Aside {
    packet: Packet,
    departure: Departure,
}

impl Overtaking {
    /// The state for a link that may reorder; `None` for other links.
    pub(crate) fn new(spec: &Link, draws: Uniform) -> Option<Overtaking> {
        let rule = match spec.reorder {
            Reorder::None => Rule::None,
            Reorder::Late { chance, late } => {
                Rule::Late { event: RandomEvent::new(chance, draws), late }
            }
            Reorder::Early { chance, gap } => {
                Rule::Early { event: RandomEvent::new(chance, draws), gap, since: 0 }
            }
        };
        spec.may_reorder().then(|| Overtaking {
            rule,
            by_jitter: spec.jitter.reorder,
            aside: BinaryHeap::new(),
            entered: 0,
            left: 0,
            set_aside: 0,
            newest: Departure::default(),
            reordered: 0,
        })
    }

    /// The order of the next packet.
    pub(crate) fn turn(&mut self) -> Turn {
        match &mut self.rule {
            Rule::None => Turn::InOrder,
            Rule::Late { event, late } => {
                if event.next() {
                    Turn::Late(*late)
                } else {
                    Turn::InOrder
                }
            }
            Rule::Early { event, gap, since } => {
                if *since + 1 >= *gap && event.next() {
                    *since = 0;
                    return Turn::Early;
                }
                *since += 1;
                Turn::InOrder
            }
        }
    }

    /// A packet enters the line.
    pub(crate) fn enter_line(&mut self) {
        self.entered += 1;
    }

    /// Sets a packet aside. Its stamp is its arrival time.
    pub(crate) fn set_aside(&mut self, packet: Packet) {
        let departure = Departure { line: self.entered, aside: self.set_aside };
        self.set_aside += 1;
        self.aside.push(Aside { packet, departure });
    }

    /// Packets beside the line.
    pub(crate) fn len(&self) -> usize {
        self.aside.len()
    }

    /// Arrival time of the next packet from beside the line.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.aside.peek().map(|next| next.packet.stamp)
    }

    /// The packet that arrives now from beside the line, unless the line's first packet, which
    /// arrives at `line`, precedes it. Of two simultaneous arrivals, the earlier departure is
    /// first.
    pub(crate) fn arrive(&mut self, line: Option<Instant>) -> Option<Packet> {
        let next = self.aside.peek()?;
        let is_first = line.is_none_or(|at| match next.packet.stamp.cmp(&at) {
            Ordering::Less => true,
            Ordering::Equal => next.departure.line <= self.left,
            Ordering::Greater => false,
        });
        let Aside { packet, departure } = if is_first { self.aside.pop()? } else { return None };
        let overtaken = departure.line < self.left || departure.aside < self.newest.aside;
        self.reordered += u64::from(overtaken);
        // The maximum of both: the two counters ascend together.
        if departure.aside >= self.newest.aside {
            self.newest = departure;
        }
        Some(packet)
    }

    /// The first packet of the line arrives.
    pub(crate) fn leave_line(&mut self) {
        self.reordered += u64::from(self.left < self.newest.line);
        self.left += 1;
    }
}

/// The earliest arrival is the greatest, because the heap has its greatest entry on top. Of two
/// simultaneous arrivals, the earlier departure is the greater.
impl Ord for Aside {
    fn cmp(&self, other: &Aside) -> Ordering {
        let key = |aside: &Aside| (aside.packet.stamp, aside.departure.aside);
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Aside {
    fn partial_cmp(&self, other: &Aside) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Aside {
    fn eq(&self, other: &Aside) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Aside {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::line::DelayLine;
    use crate::link::packet::PacketKind;
    use crate::seed::Stream;
    use proptest::prelude::*;
    use sojourn_scenario::Document;
    use sojourn_transport::Noise;

    fn line(keys: &str) -> DelayLine {
        let text = format!(
            "duration = \"1s\"\n[link.a]\ndelay = \"40ns\"\n{keys}\n[flow.f]\npath = [\"a\"]\n\
             control = \"reno\"\n"
        );
        let document = Document::from_toml("line.toml", &text).expect("it is TOML");
        let scenario =
            document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into())).expect("it is sound");
        DelayLine::new(&scenario.links[0], Noise::None, |stream: Stream| {
            Uniform::new(7, stream, "link")
        })
    }

    fn packet(number: u32) -> Packet {
        let mut packet = Packet::plain(0, 0, PacketKind::Datagram, 100);
        packet.number = number;
        packet
    }

    /// Arrivals in the order of (arrival, departure), and the number of packets that RFC 4737 calls
    /// reordered: packets that arrive after a later departure.
    fn model(mut due: Vec<(Instant, u32)>) -> (Vec<(Instant, u32)>, u64) {
        due.sort();
        let mut newest = None;
        let mut reordered = 0;
        for (_, number) in &due {
            reordered += u64::from(newest > Some(*number));
            newest = newest.max(Some(*number));
        }
        (due, reordered)
    }

    fn keys() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "reorder = 0.3",
            "reorder = { probability = 0.5, gap = 3, correlation = 0.4 }",
            "reorder = { probability = 0.3, late = \"25ns\" }",
            "reorder = { probability = 1, late = \"25ns\" }\njitter = \"15ns\"",
            "jitter = { span = \"30ns\", reorder = true }",
            "jitter = { span = \"30ns\", reorder = true, correlation = 0.7 }\n\
             reorder = { probability = 0.2, late = \"9ns\" }",
            "jitter = { span = \"30ns\", reorder = true }\nreorder = 0.2",
        ])
    }

    proptest! {
        /// Compares the line with a sorted list of arrivals: departures at random times, arrivals
        /// taken when due, a changing delay.
        #[test]
        fn a_line_is_a_sorted_list(
            keys in keys(),
            gaps in prop::collection::vec((0_u64..20, prop::option::of(0_u64..60)), 1..200),
        ) {
            let mut line = line(keys);
            let (mut now, mut arrived) = (Instant::ZERO, Vec::new());
            let take = |line: &mut DelayLine, until: Instant, arrived: &mut Vec<_>| {
                while let Some(at) = line.next_arrival_of_all().filter(|at| *at < until) {
                    let packet = line.arrive_of_all().expect("it was due");
                    assert_eq!(packet.stamp, at);
                    arrived.push((at, packet.number));
                }
            };
            for (number, (gap, delay)) in gaps.iter().enumerate() {
                now += Duration(*gap);
                take(&mut line, now, &mut arrived);
                if let Some(delay) = delay {
                    line.delay = Duration(*delay);
                }
                line.put(now, packet(number as u32));
                prop_assert_eq!(line.packets_inside() + arrived.len(), number + 1);
            }
            take(&mut line, Instant::MAX, &mut arrived);
            let (sorted, reordered) = model(arrived.clone());
            prop_assert_eq!(line.packets_inside(), 0);
            prop_assert_eq!(arrived.len(), gaps.len());
            prop_assert_eq!(arrived, sorted);
            prop_assert_eq!(line.reordered(), reordered);
        }
    }
}
