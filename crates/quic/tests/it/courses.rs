//! Courses of the congestion window, which explain differences between a stack and the model.

use sojourn_quic::host::stacks;
use sojourn_scenario::Scenario;
use sojourn_sim::{Carried, Datagram, Passage, Simulation, Tap, Wiring};
use sojourn_transport::{Data, Direction, LossCause, StackEvent, Vitals};
use sojourn_units::Instant;

use crate::common::resolve;
use crate::downloads::{MODEL, NOQ, QUINN, downloads};

/// Keeps the state of the flow's sender.
#[derive(Default)]
struct Course(Vec<(Instant, Vitals)>);

impl Tap for Course {
    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, _: Instant, _: usize, _: Passage, _: &Data) {}
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, now: Instant, connection: usize, vitals: &Vitals) {
        if connection == 0 {
            self.0.push((now, *vitals));
        }
    }
    fn stack_event(
        &mut self,
        now: Instant,
        _: usize,
        direction: Direction,
        _: Direction,
        event: &StackEvent,
    ) {
        if let (Direction::Forward, StackEvent::State(vitals)) = (direction, event) {
            self.0.push((now, *vitals));
        }
    }
}

fn course(control: &str, transport: &str) -> Vec<(Instant, Vitals)> {
    let scenario = resolve(&downloads(control, transport, "5ms", ""), stacks()).unwrap();
    let mut run = Simulation::tapped(&scenario, None, 1, Course::default());
    let end = run.end();
    run.advance(end);
    std::mem::take(&mut run.tap().0)
}

#[test]
#[ignore = "shows courses, for a reader"]
fn show() {
    let control = std::env::var("CONTROL").unwrap_or_else(|_| "lola".to_owned());
    for transport in [NOQ, QUINN, MODEL] {
        println!("{control} {transport}");
        let mut last = None;
        for (at, vitals) in course(&format!("\"{control}\""), transport) {
            if last != Some((vitals.cwnd, vitals.phase)) {
                println!(
                    "{:.6} cwnd {} {} latest {:?} min {:?} in flight {} {:?}",
                    at.0 as f64 / 1e9,
                    vitals.cwnd.0,
                    vitals.phase,
                    vitals.latest_rtt.map(|rtt| rtt.0 / 1000),
                    vitals.min_rtt.map(|rtt| rtt.0 / 1000),
                    vitals.in_flight.0,
                    vitals.recovery
                );
            }
            last = Some((vitals.cwnd, vitals.phase));
        }
    }
}
