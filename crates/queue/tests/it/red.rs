//! RED as in Floyd and Jacobson's paper of 1993, and its step form.

use crate::common::{MTU, Rig, discipline};
use sojourn_queue::{Discipline, DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant, Rate};

const NOW: Instant = Instant::ZERO;

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

fn switch(name: &'static str) -> (&'static str, Value) {
    (name, Value::Switch(true))
}

/// RED whose average is the instantaneous queue length.
fn instant(seed: u64, values: &[(&'static str, Value)]) -> Rig {
    let values = [&[number("w_q", 1.0), switch("ecn")], values].concat();
    Rig::new("red", Limit::NONE, seed, &values)
}

/// Keeps `queue` packets in the queue while `arrivals` more arrive, of this size. Returns
/// the distances between marks.
fn distances(rig: &mut Rig, queue: u64, arrivals: u64, size: u64) -> Vec<u64> {
    for _ in 0..queue {
        rig.put(NOW, 0, size, Ecn::NotEct);
    }
    assert_eq!(rig.queue.backlog().packets, queue, "none was dropped before");
    let mut marked = Vec::new();
    for arrival in 0..arrivals {
        rig.put(NOW, 0, size, Ecn::Ect0);
        let packet = rig.take(NOW).expect("a packet");
        if packet.ecn == Ecn::Ce {
            marked.push(arrival);
        }
    }
    marked.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Parameters for a test half way between the thresholds.
const HALF_WAY: [(&str, Value); 3] = [
    ("min_th", Value::Number(5.0)),
    ("max_th", Value::Number(15.0)),
    ("max_p", Value::Number(0.1)),
];

/// Section 7, method 2: X is uniform. Figure 2 counts a packet before the decision, so X is
/// from 1 to 1/p_b - 1: 19 values for p_b = 1/20.
#[test]
fn marks_are_spaced_uniformly() {
    let found = distances(&mut instant(1, &HALF_WAY), 10, 400_000, 1000);
    let mut times = [0_u32; 20];
    for distance in &found {
        assert!((1..=19).contains(distance), "{distance}");
        times[*distance as usize] += 1;
    }
    let expected = found.len() as f64 / 19.0;
    // Chi-square with 18 degrees of freedom: above 42.3 once in a thousand.
    let chi: f64 = times[1..].iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
    assert!(chi < 42.3, "{chi}: {times:?}");
}

/// The mean distance is (1/p_b) / 2, with p_b proportional to the position of the average
/// between the thresholds.
#[test]
fn the_probability_rises_from_min_th_to_max_th() {
    for (queue, p_b) in [(6, 0.01), (10, 0.05), (14, 0.09)] {
        let found = distances(&mut instant(1, &HALF_WAY), queue, 400_000, 1000);
        let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
        let expected = 0.5 / p_b;
        // Three deviations of the mean of a uniform variable.
        let within = 3.0 * (2.0 * expected) / 12_f64.sqrt() / (found.len() as f64).sqrt();
        // 1/p_b is not always an integer: half of the last place.
        assert!((mean - expected).abs() < within + 0.5, "{queue}: {mean}, not {expected}");
    }
}

fn share_of_marks(rig: &mut Rig, queue: u64, size: u64) -> f64 {
    let found = distances(rig, queue, 20_000, size);
    found.len() as f64 / found.iter().sum::<u64>().max(1) as f64
}

#[test]
fn below_min_th_nothing_is_marked_and_from_max_th_on_all() {
    assert!(distances(&mut instant(1, &HALF_WAY), 4, 100_000, 1000).is_empty());
    assert_eq!(share_of_marks(&mut instant(1, &HALF_WAY), 15, 1000), 1.0);
}

/// By hand for p_b = 0.1 + 0.9 (16 - 15) / 15 = 0.16: hazards of 0.16 / (1 - 0.16 n) give 1
/// to 5 with probability 0.1905 each, and 6 with the rest: 3.143 on average.
#[test]
fn gentle_goes_on_to_twice_max_th() {
    let mut rig = instant(1, &[HALF_WAY.as_slice(), &[switch("gentle")]].concat());
    let mut share = |queue| {
        while rig.queue.backlog().packets < queue {
            rig.put(NOW, 0, 1000, Ecn::Ect0);
        }
        let mut marks = 0;
        for _ in 0..50_000 + queue {
            rig.put(NOW, 0, 1000, Ecn::Ect0);
            marks += u32::from(rig.take(NOW).expect("a packet").ecn == Ecn::Ce);
        }
        f64::from(marks) / 50_000.0
    };
    assert!((share(16) * 3.143 - 1.0).abs() < 0.02, "{}", share(16));
    // 0.46: 0.46 / 0.54 = 0.85 of the first packet after a mark, and all of the second.
    // From 1/2 on, all packets.
    assert!((share(21) * (2.0 - 0.852) - 1.0).abs() < 0.02, "{}", share(21));
    assert!(share(22) >= 1.0);
}

/// Equation 2: after L packets from an empty queue of 1, 2, .. L packets the
/// average is L + 1 + ((1 - w_q)^(L + 1) - 1) / w_q. The paper's example: for
/// min_th = 5 and L = 50, w_q must not be above 0.0042.
#[test]
fn bursts_pass_as_the_paper_says() {
    let drops = |w_q| {
        let values = [number("w_q", w_q), number("max_p", 1.0), number("max_th", 5.0)];
        let mut rig = Rig::new("red", Limit::NONE, 1, &values);
        // The packet that finds L packets is the one after them.
        for _ in 0..=50 {
            rig.put(NOW, 0, 1000, Ecn::NotEct);
        }
        rig.dropped.len()
    };
    assert_eq!(drops(0.004_1), 0);
    assert_eq!(drops(0.004_3), 1);
}

/// While the queue is empty, the average falls as if small packets had arrived.
#[test]
fn an_idle_queue_is_forgotten() {
    let passes = |idle| passes_after(&averaging(), idle);
    // An average of 40: 40 (1 - 0.1)^m is below 5 from m = 20 on, since
    // log(5/40) / log(0.9) = 19.7.
    assert!(!passes(0));
    assert!(!passes(19));
    assert!(passes(20));
}

/// A class of HTB is not asked for a packet while it has none, so that RED learns of no idle time
/// (Linux `htb_dequeue_tree`, `red_dequeue`).
#[test]
fn an_idle_class_of_htb_is_remembered() {
    let inner = vec![averaging()];
    let rate = [("rate", Value::Rate(Rate::from_mbit(100_000)))];
    assert!(!passes_after(&Discipline { inner, ..discipline("htb", &rate) }, 1000));
}

/// RED that marks each packet from an average of 5 packets on.
fn averaging() -> Discipline {
    let values = [number("w_q", 0.1), number("min_th", 5.0), number("max_th", 5.0)];
    let values = [&values[..], &[("bandwidth", Value::Rate(RATE)), switch("ecn")]].concat();
    discipline("red", &values)
}

/// Whether a packet passes unmarked after an average of 40 packets and an empty queue for the time
/// of this many packets.
fn passes_after(queue: &Discipline, idle: u64) -> bool {
    let mut rig = Rig::of(queue, Limit::NONE, 1);
    (0..40).for_each(|_| {
        rig.put(NOW, 0, 1000, Ecn::Ect0);
    });
    let mut now = NOW;
    for _ in 0..1000 {
        rig.put(now, 0, 1000, Ecn::Ect0);
        now += Duration::from_millis(1);
        rig.take(now);
    }
    for _ in 0..40 {
        now += Duration::from_millis(1);
        rig.take(now);
    }
    assert_eq!(rig.queue.backlog().packets, 0);
    let later = now + RATE.time_for(MTU) * idle;
    rig.put(later, 0, 1000, Ecn::Ect0);
    rig.take(later).expect("a packet").ecn == Ecn::Ect0
}

const RATE: Rate = Rate::from_mbit(100);

#[test]
fn packets_that_cannot_be_marked_are_dropped() {
    let mut rig = instant(1, &[number("min_th", 3.0), number("max_th", 3.0)]);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ect0] {
        rig.put(NOW, 0, 1000, ecn);
    }
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [3]);
    let marks: Vec<_> = (0..4).map(|_| rig.take(NOW).expect("a packet").ecn).collect();
    assert_eq!(marks, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
}

#[test]
fn harddrop_drops_what_could_be_marked_beyond_max_th() {
    let values = [number("min_th", 3.0), number("max_th", 3.0), switch("harddrop")];
    let mut rig = instant(1, &values);
    (0..5).for_each(|_| {
        rig.put(NOW, 0, 1000, Ecn::Ect0);
    });
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [3, 4]);
}

/// In bytes, a queue of small packets is short, and packets are marked in proportion to
/// their size.
#[test]
fn bytes_count_as_parts_of_the_largest_packet() {
    let bytes = ("unit", Value::Choice("bytes".to_owned()));
    let share = |queue, size| {
        let values = [HALF_WAY.as_slice(), std::slice::from_ref(&bytes)].concat();
        share_of_marks(&mut instant(1, &values), queue, size)
    };
    let full = share(10, MTU.0);
    assert!((full / 0.1 - 1.0).abs() < 0.05, "{full}");
    let half = share(20, MTU.0 / 2);
    assert!((half / full - 0.5).abs() < 0.05, "{half} and {full}");
    assert_eq!(share(20, MTU.0 / 10), 0.0);
}

/// DCTCP's form (Alizadeh et al., SIGCOMM 2010, section 3.1): both thresholds at K on the
/// instantaneous queue. `step` marks the same packets.
#[test]
fn step_marks_what_red_with_both_thresholds_at_k_marks() {
    let run = |mut rig: Rig| {
        let mut marks = Vec::new();
        for round in 0_u64..2000 {
            let now = NOW + Duration::from_micros(round);
            for _ in 0..(round * 7919) % 23 {
                rig.put(now, 0, 1000, Ecn::Ect0);
            }
            let taken = (0..11).map_while(|_| rig.take(now));
            marks.extend(taken.map(|packet| (packet.id, packet.ecn)));
        }
        marks
    };
    // RED marks from max_th on, DCTCP above K.
    let red = run(instant(1, &[number("min_th", 21.0), number("max_th", 21.0)]));
    let step = run(Rig::new("step", Limit::NONE, 1, &[("k", Value::Integer(20))]));
    assert_eq!(red, step);
    let marked = step.iter().filter(|(_, ecn)| *ecn == Ecn::Ce).count();
    assert!(marked > 100 && marked < step.len() - 100, "{marked} of {}", step.len());
}

#[test]
fn step_counts_bytes_too_and_leaves_the_rest_to_the_buffer() {
    let k_bytes = ("k_bytes", Value::Data(sojourn_units::Bytes(3000)));
    let mut rig = Rig::new("step", Limit { packets: 6, ..Limit::NONE }, 1, &[k_bytes]);
    for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ect0] {
        rig.put(NOW, 0, 1000, ecn);
    }
    assert_eq!(rig.dropped_ids(DropReason::Full), [6]);
    let marks: Vec<_> = (0..6).map(|_| rig.take(NOW).expect("a packet").ecn).collect();
    assert_eq!(marks, [Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ce]);
}
