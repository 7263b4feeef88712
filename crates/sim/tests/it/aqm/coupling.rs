//! DualPI2's steady state under unresponsive loads (RFC 9332 section 2.1).

use sojourn_queue::Limit;
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

use crate::common::assert_within;
use crate::rig::Rig;

/// 1500 bytes at 120 Mbit/s.
const SERVICE: Duration = Duration::from_micros(100);
const SIZE: u64 = 1500;
const K: f64 = 2.0;
/// Services before counting starts (20 s), and services counted (60 s).
const SETTLING: u64 = 200_000;
const COUNTED: u64 = 600_000;
/// Share of the link that L4S traffic offers.
const L4S: f64 = 0.2;

/// Packet counts of one class.
#[derive(Default)]
struct Class {
    arrived: u64,
    dropped: u64,
    marked: u64,
    /// Sum of the sojourn times of transmitted packets, in seconds.
    waited: f64,
}

impl Class {
    fn share(&self, count: u64) -> f64 {
        count as f64 / self.arrived as f64
    }

    fn mean_wait(&self) -> f64 {
        self.waited / (self.arrived - self.dropped) as f64
    }
}

/// Runs both classes at constant rates. Classic packets are Not-ECT, so that drops alone balance
/// the load.
fn steady(queue: &str, classic_load: f64) -> [Class; 2] {
    // Above every delay of the L queue here, so that all counted marks are coupled.
    let own = if queue == "dualpi2" { "min_th" } else { "step_thresh" };
    let never = (own, Value::Time(Duration::from_secs(1)));
    let mut rig = Rig::new(queue, Limit::NONE, 1, &[never]);
    let mut classes = [Class::default(), Class::default()];
    let (mut due, loads) = ([0.0, 0.0], [L4S, classic_load]);
    for turn in 0..SETTLING + COUNTED {
        if turn == SETTLING {
            classes = [Class::default(), Class::default()];
        }
        let now = Instant::ZERO + SERVICE * turn;
        for (place, ecn) in [Ecn::Ect1, Ecn::NotEct].into_iter().enumerate() {
            due[place] += loads[place];
            if due[place] >= 1.0 {
                due[place] -= 1.0;
                classes[place].arrived += 1;
                rig.put(now, place as u64, SIZE, ecn);
            }
        }
        if let Some(packet) = rig.take(now) {
            let class = &mut classes[packet.flow as usize];
            class.marked += u64::from(packet.ecn == Ecn::Ce);
            class.waited += now.since(packet.enqueued_at).as_secs_f64();
        }
        for (packet, _) in rig.dropped.drain(..) {
            classes[packet.flow as usize].dropped += 1;
        }
    }
    classes
}

/// p_C = (p_CL / k)^2 (RFC 9332 section 2.1), whatever the load. If marks are random, the least squared
/// share of marks has a standard error of 1.2 %: 24,000 of 120,000 packets are marked.
#[test]
fn classic_drops_are_the_square_of_what_is_marked_of_l4s() {
    for queue in ["dualpi2", "dualpi2_linux"] {
        for by_load in [0.01, 0.05, 0.2] {
            // The queue drops the Classic load that exceeds the capacity left by L4S traffic.
            let load = (1.0 - L4S) / (1.0 - by_load);
            let [l4s, classic] = steady(queue, load);
            let (p_c, p_cl) = (classic.share(classic.dropped), l4s.share(l4s.marked));
            assert_within(p_c, (p_cl / K).powi(2), 0.05, "the coupling");
            // The load alone determines the drop probability, not the queue's parameters.
            assert_within(p_c, by_load, 0.02, "the balance");
            // The integral controller holds the delay that it measures, at the queue's head, to its
            // target.
            assert_within(classic.mean_wait(), 0.015, 0.05, "the target");
            assert_eq!(l4s.dropped, 0, "L4S traffic is not dropped");
        }
    }
}
