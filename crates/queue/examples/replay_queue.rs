//! Replays events through a queue, and prints the fate of every packet.
//!
//! Events come from standard input as CSV, in the order of time. An event with a size is an
//! arrival; the others are dequeues. `ecn` is the ECN field, 0 to 3. The labels of a flow may follow:
//! `dscp`, `source` and `destination`. The output has a row for each packet that left: the number of
//! the event, that of the packet in the order of arrivals, and its ECN field on departure, which is
//! empty if the packet was dropped.

use std::error::Error;
use std::io::{self, BufRead, BufWriter, Write};

use sojourn_queue::{AnyQueue, Discipline, FlowLabels, Limit, Packet, Queue, Setup, find};
use sojourn_units::{Bytes, Ecn, Instant};

type Outcome<T> = Result<T, Box<dyn Error>>;

const USAGE: &str =
    "replay_queue NAME [limit=PACKETS] [mtu=SIZE] [seed=NUMBER] [PARAMETER=VALUE]...";
const COLUMNS: &str = "time_ns,flow,size,ecn";
const LABELS: &str = ",dscp,source,destination";

#[derive(Clone, Copy, Debug)]
struct Numbered {
    number: u64,
    flow: u64,
    size: Bytes,
    ecn: Ecn,
    enqueued_at: Instant,
}

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        self.size
    }
    fn flow_hash(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn is_ack(&self) -> bool {
        false
    }
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}

fn main() -> Outcome<()> {
    let mut words = std::env::args().skip(1);
    let Some(name) = words.next() else {
        println!("{USAGE}");
        return Ok(());
    };
    let mut queue = build(&name, words)?;
    let mut lines = io::stdin().lock().lines();
    let head = lines.next().transpose()?.unwrap_or_default();
    if head != COLUMNS && head != format!("{COLUMNS}{LABELS}") {
        return Err(format!("the first line must be {COLUMNS}, and may go on {LABELS}").into());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "event,packet,ecn")?;
    let mut arrived = 0;
    for (event, line) in lines.enumerate() {
        let line = line?;
        let (now, packet) = parse(&line, arrived).ok_or_else(|| format!("no event: {line}"))?;
        if let Some(packet) = packet {
            arrived += 1;
            labels(&line).into_iter().for_each(|labels| queue.label_flow(packet.flow, labels));
        }
        for (packet, left) in replay(&mut queue, now, packet) {
            let ecn = left.map(|ecn| (ecn as u8).to_string()).unwrap_or_default();
            writeln!(out, "{event},{packet},{ecn}")?;
        }
    }
    Ok(())
}

/// Builds a queue with these settings; other parameters and inner queues have defaults.
fn build(name: &str, words: impl Iterator<Item = String>) -> Outcome<AnyQueue<Numbered>> {
    let info = find(name).ok_or("there is no such queue")?;
    let Discipline { mut params, inner, .. } = Discipline::plain(name).ok_or("no such queue")?;
    let (mut packets, mut mtu, mut seed) = (info.default_packets, 1514, 1);
    for word in words {
        let (key, value) = word.split_once('=').ok_or("a setting is KEY=VALUE")?;
        match key {
            "limit" => packets = value.parse()?,
            "mtu" => mtu = value.parse()?,
            "seed" => seed = value.parse()?,
            _ => {
                let param = info.params.iter().find(|param| param.name == key);
                let value = param.and_then(|param| param.kind.parse(value));
                params.set(info.params, key, value.ok_or_else(|| format!("no value: {word}"))?)?;
            }
        }
    }
    let limit = Limit { packets, ..Limit::NONE };
    let setup = Setup { limit, mtu: Bytes(mtu), seed, params, inner, is_asked_when_empty: true };
    Ok(AnyQueue::build(name, &setup).ok_or("there is no such queue")?)
}

/// The time of an event, and the packet that arrives.
fn parse(line: &str, number: u64) -> Option<(Instant, Option<Numbered>)> {
    let mut cells = line.split(',');
    let now = Instant(cells.next()?.parse().ok()?);
    let [flow, size, ecn] = [cells.next()?, cells.next()?, cells.next()?];
    if size.is_empty() {
        return Some((now, None));
    }
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn.parse::<usize>().ok()? & 3];
    let (flow, size) = (flow.parse().ok()?, Bytes(size.parse().ok()?));
    Some((now, Some(Numbered { number, flow, size, ecn, enqueued_at: now })))
}

/// The labels of a packet's flow, if the event has them.
fn labels(line: &str) -> Option<FlowLabels> {
    let mut cells = line.split(',').skip(4).map(str::parse);
    let mut next = || cells.next()?.ok();
    let [dscp, source, destination] = [next()?, next()?, next()?];
    Some(FlowLabels { dscp: u8::try_from(dscp).ok()?, source, destination })
}

/// Performs an event. Returns the packets that left, with their ECN fields unless dropped.
fn replay(
    queue: &mut AnyQueue<Numbered>,
    now: Instant,
    arrival: Option<Numbered>,
) -> Vec<(u64, Option<Ecn>)> {
    let mut left = Vec::new();
    let mut drop = |packet: Numbered, _| left.push((packet.number, None));
    match arrival {
        Some(packet) => queue.enqueue(now, packet, &mut drop),
        None => {
            if let Some(packet) = queue.dequeue(now, &mut drop) {
                left.push((packet.number, Some(packet.ecn)));
            }
        }
    }
    left
}
