//! A controller that sets the gap of every packet and gets every receive time.

use crate::common::{MSS, config, ms};
use sojourn_cc::{Controller, EcnUse, Feedback, Limits, Needs, Pacing, Received, Sent};
use sojourn_transport::{Ack, Data, Poll, Profile, Receiver, Sender};
use sojourn_units::{Bytes, Duration, Instant};

/// A controller whose gaps are all different. It records the receive times.
#[derive(Default)]
struct Gaps {
    sent: u64,
    received: Vec<Received>,
}

/// Gap after packet `number`: irregular, down to a nanosecond.
fn gap_after(number: u64) -> Duration {
    Duration(1 + number * 7919 % 100_003)
}

impl Controller for Gaps {
    fn on_sent(&mut self, _now: Instant, _sent: &Sent) {
        self.sent += 1;
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        self.received.extend_from_slice(feedback.received);
    }

    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {}

    fn limits(&self) -> Limits {
        let gap = gap_after(self.sent.saturating_sub(1));
        Limits { cwnd: Bytes(MSS << 20), pacing: Pacing::Gap(gap), burst: Bytes(MSS) }
    }
}

fn sender(profile: Profile) -> Sender<Gaps> {
    let needs = Needs {
        ecn: EcnUse::None,
        receive_times: true,
        rate_samples: false,
        ack_delay: false,
        every_packet: true,
        signal: false,
        media: false,
        prr: false,
        validation: false,
    };
    let mut sender = Sender::new(config(profile), needs, Gaps::default());
    sender.write(1000 * MSS);
    sender
}

/// The next packet, at the time at which the pacer releases it.
fn next(sender: &mut Sender<Gaps>, now: &mut Instant) -> Data {
    loop {
        match sender.poll_transmit(*now) {
            Poll::Packet(data) => return data,
            Poll::Wait(at) => *now = at,
            Poll::Blocked => panic!("blocked at {now}"),
        }
    }
}

/// Gaps are exact to the nanosecond, independently of acknowledgements in between.
#[test]
fn every_gap_is_exact() {
    for profile in [Profile::Tcp, Profile::Quic] {
        let (mut sender, mut now) = (sender(profile), Instant::ZERO);
        let mut due = now;
        for number in 0..300 {
            let data = next(&mut sender, &mut now);
            assert_eq!((data.number, now), (number, due), "{profile:?}");
            due = now + gap_after(number);
            if number % 10 == 9 {
                let mut ack = Ack::default();
                (ack.cumulative, ack.newest) = (number, number - 1);
                sender.on_ack(now + Duration(1), &ack);
            }
        }
    }
}

/// In order, beyond a gap and after its repair: one receive time for each packet that arrives.
#[test]
fn every_packet_s_receive_time_is_heard_once() {
    for profile in [Profile::Tcp, Profile::Quic] {
        let (mut sender, mut now) = (sender(profile), Instant::ZERO);
        let mut receiver = Receiver::new(config(profile), true);
        let (mut ack, mut arrived) = (Ack::default(), Vec::new());
        for _ in 0..200 {
            let data = next(&mut sender, &mut now);
            if [40, 41, 90].contains(&data.number) {
                continue;
            }
            let at = now + ms(5) + Duration(data.number % 13);
            receiver.on_data(at, &data);
            arrived.push((data.number, now, at));
            if receiver.ack_due(at) {
                receiver.take_ack(at, &mut ack);
                sender.on_ack(now, &ack);
            }
        }
        receiver.take_ack(now + ms(6), &mut ack);
        sender.on_ack(now, &ack);
        assert_eq!(sender.stats().retransmitted, 3, "{profile:?}");
        let heard = &sender.controller().received;
        let heard: Vec<_> = heard.iter().map(|r| (r.number, r.sent_at, r.received_at)).collect();
        assert_eq!(heard, arrived, "{profile:?}");
    }
}
