//! Packets of hosts outside the simulation.

use proptest::prelude::*;
use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{
    Carried, Datagram, Off, OutsidePacket, Passage, Remote, RemoteState, Simulation, Tap, Wiring,
    series_parquet,
};
use sojourn_transport::{Data, LossCause, Vitals};
use sojourn_units::{Ecn, Instant};

/// The passages of all packets.
#[derive(Default)]
struct Port(Vec<(Instant, Passage, u32, Ecn)>);

impl Tap for Port {
    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, _: Instant, _: usize, _: Passage, _: &Data) {}
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}

    fn outside(&mut self, now: Instant, passage: Passage, packet: &OutsidePacket) {
        self.0.push((now, passage, packet.handle, packet.ecn));
    }
}

struct Idle;

impl Remote for Idle {
    fn state(&self) -> RemoteState {
        RemoteState::default()
    }
}

fn emulation(link: &str) -> Simulation<Off, Port> {
    let text = format!(
        "duration = \"2s\"\n[link.a]\ndelay = \"10ms\"\n{link}\n[link.b]\ndelay = \"5ms\"\n\
         [flow.f]\npath = [\"a\"]\nback = [\"b\"]\ncontrol = \"cubic\"\n"
    );
    let document = Document::from_toml("emulation.toml", &text).expect("it is TOML");
    let scenario =
        document.resolve(&|_| Err(std::io::Error::other("no files"))).expect("it is sound");
    Simulation::emulated(&scenario, None, 1, Port::default(), vec![Some(Box::new(Idle))])
}

fn packet(handle: u32, size: u32, ecn: Ecn) -> OutsidePacket {
    OutsidePacket { flow: 0, is_reply: false, handle, size, ecn, hash: 7, is_ack: false }
}

const MS: u64 = 1_000_000;

/// 1000 bytes take 8 ms at 1 Mbit/s, and 10 ms on the wire; the buffer holds two.
#[test]
fn packets_leave_at_the_link_s_rate() {
    let mut emulation = emulation("rate = \"1Mbit\"\nbuffer = \"2000B\"");
    (0..4).for_each(|handle| emulation.send(&packet(handle, 1000, Ecn::NotEct)));
    emulation.send(&OutsidePacket { is_reply: true, ..packet(9, 40, Ecn::NotEct) });
    assert!(emulation.next_at() <= Instant(5 * MS));
    emulation.advance(Instant(100 * MS));
    let at = |ms: u64| Instant(ms * MS);
    let expected = [
        (at(0), Passage::Gone, 3, Ecn::NotEct),
        (at(5), Passage::Received, 9, Ecn::NotEct),
        (at(18), Passage::Received, 0, Ecn::NotEct),
        (at(26), Passage::Received, 1, Ecn::NotEct),
        (at(34), Passage::Received, 2, Ecn::NotEct),
    ];
    assert_eq!(emulation.tap().0, expected);
    let outcome = emulation.finish();
    let (flow, link) = (&outcome.summary.flows[0], &outcome.summary.links[0]);
    assert_eq!((flow.sent_packets, flow.dropped_packets), (4, 1));
    assert_eq!((link.arrived_packets, link.delivered_packets, link.dropped_packets), (4, 3, 1));
}

#[test]
fn a_queue_marks_packets_of_hosts_outside() {
    let mut emulation = emulation("rate = \"1Mbit\"\nqueue = { kind = \"step\", k = 1 }");
    (0..6).for_each(|handle| emulation.send(&packet(handle, 1000, Ecn::Ect1)));
    emulation.advance(Instant(100 * MS));
    let ecn: Vec<Ecn> = emulation.tap().0.iter().map(|(.., ecn)| *ecn).collect();
    assert_eq!((ecn.len(), ecn[0]), (6, Ecn::Ect1));
    assert!(ecn.contains(&Ecn::Ce), "{ecn:?}");
    assert!(emulation.finish().summary.links[0].marked_packets > 0);
}

proptest! {
    /// The caller's lateness changes no departure and no decision of a queue: a run that is
    /// advanced to each event and one that is advanced only when packets enter are the same.
    #[test]
    fn lateness_changes_nothing(
        sent in prop::collection::vec((0_u64..20 * MS, 40_u32..1500, 0_u8..4), 1..200),
        link in prop::sample::select(vec![
            "rate = \"1Mbit\"\nqueue = \"codel\"",
            "rate = \"2Mbit\"\nqueue = \"dualpi2\"\nloss = 0.1",
            "rate = \"1Mbit\"\nbuffer = \"20ms\"\nreorder = 0.2\nduplicate = 0.1",
            "rate = { start = \"1Mbit\", steps = [{ at = \"100ms\", rate = \"3Mbit\" }] }",
        ]),
    ) {
        let run = |is_late: bool| {
            let mut emulation = emulation(link);
            let mut now = Instant::ZERO;
            for (handle, (gap, size, ecn)) in sent.iter().enumerate() {
                now = Instant(now.0 + gap);
                while !is_late && emulation.next_at() < now {
                    let at = emulation.next_at();
                    emulation.advance(at);
                }
                if now >= emulation.end() {
                    break;
                }
                emulation.advance(now);
                let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(*ecn)];
                emulation.send(&packet(handle as u32, *size, ecn));
            }
            let end = emulation.end();
            emulation.advance(end);
            let received = |fate: &&(Instant, Passage, u32, Ecn)| fate.1 == Passage::Received;
            emulation.tap().0.iter().filter(received).copied().collect::<Vec<_>>()
        };
        prop_assert_eq!(run(true), run(false));
    }
}

/// A run without an end carries packets after the scenario's duration, at the last rate.
#[test]
fn a_run_without_end_keeps_the_last_state() {
    let rate = "rate = { start = \"2Mbit\", steps = [{ at = \"1s\", rate = \"1Mbit\" }] }";
    let without_series = "[record]\ninterval = \"0s\"";
    let mut emulation = emulation(&format!("{rate}\n{without_series}")).without_end();
    let sent_at = Instant(1_000_000 * MS);
    emulation.advance(sent_at);
    assert_eq!(emulation.now(), sent_at);
    (0..2).for_each(|handle| emulation.send(&packet(handle, 1000, Ecn::NotEct)));
    emulation.advance(Instant(sent_at.0 + 30 * MS));
    let arrivals: Vec<u64> = emulation.tap().0.iter().map(|(at, ..)| at.0 - sent_at.0).collect();
    assert_eq!(arrivals, [18 * MS, 26 * MS]);
    let reading = emulation.read_link(0);
    assert_eq!((reading.arrived, reading.delivered, reading.dropped), (2, 2, 0));
    assert_eq!((reading.sent_bits, reading.could_send_bits), (16_000.0, Some(1_001_030_000.0)));
    assert_eq!(reading.delays.max(), Some(8 * MS));
    assert_eq!(reading.longest_wait, Some(sojourn_units::Duration(8 * MS)));
    assert_eq!(emulation.read_link(0).longest_wait, None);
}

/// Readings of a link show its state and change no value of the record.
#[test]
fn readings_leave_the_record_alone() {
    let link = "rate = { start = \"2Mbit\", steps = [{ at = \"100ms\", rate = \"1Mbit\" }] }";
    let record = |is_read: bool| {
        let mut emulation = emulation(link);
        let mut longest = Vec::new();
        for step in 0..100 {
            emulation.advance(Instant(step * 7 * MS));
            emulation.send(&packet(step as u32, 1500, Ecn::NotEct));
            if is_read && step % 3 == 0 {
                longest.extend(emulation.read_link(0).longest_wait);
            }
        }
        emulation.advance(Instant(2000 * MS));
        let outcome = emulation.finish();
        let longest = longest.into_iter().max().map(|longest| longest.as_secs_f64());
        (outcome.summary.links[0].clone(), series_parquet(&[&outcome], true).ok(), longest)
    };
    let (read, untouched) = (record(true), record(false));
    assert!(read.2.is_some() && read.2 <= read.0.queue_delay_max_s);
    assert_eq!((read.0, read.1), (untouched.0, untouched.1));
}
