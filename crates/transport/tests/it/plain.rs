//! A sender whose controller has few needs uses the fast path; the controller's later changes take
//! effect there, too.

use crate::common::desk::needs;
use crate::common::{MSS, config, ms};
use sojourn_cc::{Controller, EcnUse, Feedback, Limits, Pacing, Sent, Signal};
use sojourn_transport::{Ack, Poll, Profile, Sender};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const SLOW: Pacing = Pacing::Rate(Rate(8 * MSS * 10));

/// Paces slowly after an idle period, until a signal arrives.
struct Changing(Pacing);

impl Controller for Changing {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        if sent.idle > Duration::ZERO {
            self.0 = SLOW;
        }
    }
    fn on_feedback(&mut self, _now: Instant, _feedback: &Feedback<'_>) {}
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {}
    fn on_signal(&mut self, _now: Instant, _signal: Signal) {
        self.0 = Pacing::Unpaced;
    }
    fn limits(&self) -> Limits {
        Limits { cwnd: Bytes(100 * MSS), pacing: self.0, burst: Bytes(MSS) }
    }
}

fn sender(pacing: Pacing) -> Sender<Changing> {
    Sender::new(config(Profile::Tcp), needs(EcnUse::None), Changing(pacing))
}

/// Ten packets a second: the next may leave 100 ms after the first.
#[test]
fn the_pacer_is_obeyed_when_the_controller_no_longer_paces() {
    let mut sender = sender(SLOW);
    sender.write(10 * MSS);
    assert!(matches!(sender.poll_transmit(Instant::ZERO), Poll::Packet(_)));
    let next = Instant::ZERO + ms(100);
    assert_eq!(sender.poll_transmit(Instant::ZERO), Poll::Wait(next));
    sender.on_signal(Instant::ZERO + ms(1), Signal { rate: Rate(1) });
    assert_eq!(sender.poll_transmit(Instant::ZERO + ms(1)), Poll::Wait(next));
    assert!((0..9).all(|_| matches!(sender.poll_transmit(next), Poll::Packet(_))));
}

#[test]
fn a_controller_may_begin_to_pace_when_it_hears_of_idleness() {
    let mut sender = sender(Pacing::Unpaced);
    sender.write(MSS);
    assert!(matches!(sender.poll_transmit(Instant::ZERO), Poll::Packet(_)));
    let mut ack = Ack::default();
    ack.cumulative = 1;
    sender.on_ack(Instant::ZERO + ms(50), &ack);
    sender.write(10 * MSS);
    let now = Instant::ZERO + ms(5000);
    assert!(matches!(sender.poll_transmit(now), Poll::Packet(_)));
    assert_eq!(sender.poll_transmit(now), Poll::Wait(now + ms(100)));
}
