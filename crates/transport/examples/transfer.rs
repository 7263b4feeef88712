//! Transfers 1 MB between two state machines. The path loses every 50th packet.

use std::collections::VecDeque;

use sojourn_cc::{Setup, find};
use sojourn_transport::{Ack, Config, Data, Poll, Profile, Receiver, Sender};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

const DELAY: Duration = Duration::from_millis(20);
const RATE: Rate = Rate::from_mbit(20);

fn main() {
    let cubic = find("cubic").expect("a shipped controller");
    let config = Config::new(Profile::Quic);
    let needs = cubic.info.needs;
    let controller = (cubic.build)(&Setup {
        mss: config.mss,
        initial_window: config.mss * 10,
        paced: config.pacing,
        round_recovery: true,
        seed: 1,
        params: Params::defaults(cubic.info.params),
    });
    let mut receiver = Receiver::new(config.clone(), needs.receive_times);
    let mut sender = Sender::new(config, needs, controller);
    sender.write(1_000_000);

    let mut data: VecDeque<(Instant, Data)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Ack)> = VecDeque::new();
    let (mut now, mut free_at) = (Instant::ZERO, Instant::ZERO);
    while !sender.is_done() {
        let mut due = sender.timer().min(receiver.timer());
        loop {
            match sender.poll_transmit(now) {
                Poll::Packet(packet) => {
                    free_at = free_at.max(now) + RATE.time_for(Bytes(u64::from(packet.len)));
                    if packet.number % 50 != 49 {
                        data.push_back((free_at + DELAY, packet));
                    }
                }
                Poll::Wait(at) => break due = due.min(at),
                Poll::Blocked => break,
            }
        }
        due = due.min(sender.timer());
        let arrivals = [data.front().map(|one| one.0), acks.front().map(|one| one.0)];
        now = arrivals.into_iter().flatten().chain([due]).min().unwrap_or(due).max(now);

        while let Some(packet) = arrived(&mut data, now) {
            receiver.on_data(now, &packet);
        }
        receiver.on_timer(now);
        if receiver.ack_due(now) {
            let mut ack = Ack::default();
            receiver.take_ack(now, &mut ack);
            acks.push_back((now + DELAY, ack));
        }
        while let Some(ack) = arrived(&mut acks, now) {
            sender.on_ack(now, &ack);
        }
        sender.on_timer(now);
    }
    let stats = sender.stats();
    println!(
        "1 MB took {:.3} s: {} packets, {} of them retransmissions",
        now.as_secs_f64(),
        stats.sent,
        stats.retransmitted
    );
}

/// The next packet on the path, if it has arrived.
fn arrived<T>(path: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<T> {
    if path.front()?.0 > now {
        return None;
    }
    path.pop_front().map(|(_, packet)| packet)
}
