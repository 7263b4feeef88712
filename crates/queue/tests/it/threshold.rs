//! The FIFO with a threshold, compared with the link of the test in "A Low Latency Internet
//! with L4S" (Huitema, 2022).

use crate::common::Rig;
use proptest::prelude::*;
use sojourn_queue::{Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

const FIVE_MS: Duration = Duration::from_millis(5);

fn waited(params: &[(&str, Value)], ecn: Ecn, wait: Duration) -> Ecn {
    let mut rig = Rig::new("threshold", Limit::NONE, 1, params);
    rig.put(Instant::ZERO, 1, 1440, ecn);
    rig.take(Instant::ZERO + wait).expect("it waits").ecn
}

#[test]
fn marks_what_waited_as_long_as_the_threshold() {
    assert_eq!(waited(&[], Ecn::Ect1, FIVE_MS - Duration(1)), Ecn::Ect1);
    assert_eq!(waited(&[], Ecn::Ect1, FIVE_MS), Ecn::Ce);
    assert_eq!(waited(&[], Ecn::Ect0, FIVE_MS), Ecn::Ce);
    assert_eq!(waited(&[], Ecn::NotEct, FIVE_MS * 10), Ecn::NotEct);
    let off = [("ecn", Value::Switch(false))];
    assert_eq!(waited(&off, Ecn::Ect1, FIVE_MS * 10), Ecn::Ect1);
}

/// Nanoseconds per byte at 10 Mbit/s.
const PER_BYTE: u64 = 800;

/// Serves `arrivals` (times and sizes) at 10 Mbit/s. Returns which packets leave with CE.
fn served(arrivals: &[(u64, u64)]) -> Vec<bool> {
    let mut rig = Rig::new("threshold", Limit::NONE, 1, &[]);
    let (mut marked, mut free_at) = (Vec::new(), 0);
    let mut serve = |rig: &mut Rig, until: u64| {
        while rig.queue.backlog().packets > 0 && free_at <= until {
            let packet = rig.take(Instant(free_at)).expect("one waits");
            marked.push(packet.ecn == Ecn::Ce);
            free_at += packet.size * PER_BYTE;
        }
        // An idle link starts with the next packet.
        if rig.queue.backlog().packets == 0 {
            free_at = free_at.max(until);
        }
    };
    for (at, size) in arrivals {
        // An arrival at an idle link is served at once.
        serve(&mut rig, *at);
        rig.put(Instant(*at), 1, *size, Ecn::Ect1);
    }
    serve(&mut rig, u64::MAX / 2);
    marked
}

/// The link of picoquic's tests: it knows when the last packet will finish, and marks an
/// arrival at once if that is 5 ms ahead or more.
fn predicted(arrivals: &[(u64, u64)]) -> Vec<bool> {
    let mut through = 0_u64;
    let mut judge = |(at, size): &(u64, u64)| {
        let delay = through.saturating_sub(*at);
        through = at + delay + size * PER_BYTE;
        delay >= FIVE_MS.0
    };
    arrivals.iter().map(&mut judge).collect()
}

proptest! {
    /// Marking at the dequeue and marking on arrival select the same packets.
    #[test]
    fn marks_the_same_packets_as_a_link_that_knows_its_rate(
        gaps in prop::collection::vec((0_u64..2_500_000, 40_u64..1500), 1..300),
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().map(|(gap, size)| { at += gap; (at, *size) }).collect();
        prop_assert_eq!(served(&arrivals), predicted(&arrivals));
    }
}
