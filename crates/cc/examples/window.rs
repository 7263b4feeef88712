//! CUBIC in a sender that is not Sojourn's: acknowledgements, a loss, and the window after each.

use sojourn_cc::{Controller, Feedback, Setup, find};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

const MSS: Bytes = Bytes(1448);
const RTT: Duration = Duration::from_millis(50);

fn main() {
    let cubic = find("cubic").expect("a shipped controller");
    let mut controller = (cubic.build)(&Setup {
        mss: MSS,
        initial_window: MSS * 10,
        paced: false,
        round_recovery: false,
        seed: 1,
        params: Params::defaults(cubic.info.params),
    });
    let mut number = 0;
    for round in 1..=60 {
        // The sender fills the window, and one acknowledgement covers all of it.
        let window = controller.limits().cwnd;
        let packets = window.0 / MSS.0;
        number += packets;
        let is_loss = round == 8;
        let now = Instant::ZERO + RTT * round;
        controller.on_feedback(now, &feedback(packets, number, is_loss));
        if is_loss || round % 10 == 0 {
            let after = controller.limits().cwnd;
            println!("round {round}: {window} became {after}, phase {}", controller.probe().phase);
        }
    }
}

/// One acknowledgement of a whole window; with a loss, its last packet is missing.
fn feedback(packets: u64, number: u64, is_loss: bool) -> Feedback<'static> {
    let lost = u64::from(is_loss);
    Feedback {
        acked: MSS * (packets - lost),
        acked_packets: packets - lost,
        lost: MSS * lost,
        lost_packets: lost,
        loss_event: is_loss,
        in_recovery: is_loss,
        rtt: Some(RTT),
        srtt: RTT,
        min_rtt: RTT,
        delivered: MSS * number,
        in_flight_before: MSS * packets,
        cwnd_limited: true,
        cwnd_filled: true,
        largest_acked: number - 1,
        next_number: number,
        ..Feedback::default()
    }
}
