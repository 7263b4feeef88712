use proptest::prelude::*;
use sojourn_units::Ecn;

use super::{EcnFailure, EcnPath, Feedback, MARKED_ROUNDS, TESTED};
use crate::choices::Profile;
use crate::wire::EcnCounts;

/// A sender and its receiver, without loss detection.
struct Path {
    ecn: EcnPath,
    counts: EcnCounts,
    next: u64,
    largest_acked: u64,
    /// Numbers that arrived and are not acknowledged yet.
    arrived: Vec<u64>,
}

impl Path {
    fn new(profile: Profile, codepoint: Ecn) -> Path {
        Path {
            ecn: EcnPath::new(profile, codepoint),
            counts: EcnCounts::default(),
            next: 0,
            largest_acked: 0,
            arrived: Vec::new(),
        }
    }

    /// Sends a packet, which the path turns into one with the result of `damage`, or loses.
    fn send(&mut self, damage: impl Fn(Ecn) -> Option<Ecn>) {
        let codepoint = self.ecn.codepoint();
        self.ecn.on_sent(self.next, codepoint);
        if let Some(ecn) = damage(codepoint) {
            match ecn {
                Ecn::Ect0 => self.counts.ect0 += 1,
                Ecn::Ect1 => self.counts.ect1 += 1,
                Ecn::Ce => self.counts.ce += 1,
                Ecn::NotEct => {}
            }
            self.arrived.push(self.next);
        }
        self.next += 1;
    }

    fn acknowledge(&mut self) {
        for number in self.arrived.drain(..) {
            self.ecn.on_acked(number);
            self.largest_acked = self.largest_acked.max(number);
        }
        self.ecn.on_feedback(&Feedback {
            counts: self.counts,
            largest_acked: self.largest_acked,
            next_number: self.next,
        });
    }

    /// Sends packets in rounds of four until ECN has failed, 30 packets at most.
    fn failure(mut self, damage: impl Fn(Ecn) -> Option<Ecn>) -> Option<EcnFailure> {
        for number in 1..=30 {
            self.send(&damage);
            if number % 4 == 0 {
                self.acknowledge();
            }
        }
        assert_eq!(self.ecn.failure().is_some(), self.ecn.codepoint() == Ecn::NotEct);
        self.ecn.failure()
    }
}

fn profile() -> impl Strategy<Value = Profile> {
    prop_oneof![Just(Profile::Tcp), Just(Profile::Quic)]
}

fn codepoint() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::Ect0), Just(Ecn::Ect1)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A path that only loses and marks packets, and leaves one of the first two unmarked, never
    /// fails. Its sender returns to ECN.
    #[test]
    fn an_honest_path_never_fails(
        profile in profile(),
        codepoint in codepoint(),
        steps in prop::collection::vec((0_u8..4, prop::bool::ANY), 1..200),
    ) {
        let mut path = Path::new(profile, codepoint);
        path.send(Some);
        for (fate, acknowledges) in steps {
            path.send(|ecn| match (fate, ecn) {
                (0, _) => None,
                (1, Ecn::Ect0 | Ecn::Ect1) => Some(Ecn::Ce),
                _ => Some(ecn),
            });
            if acknowledges {
                path.acknowledge();
            }
            prop_assert_eq!(path.ecn.failure(), None);
        }
        path.acknowledge();
        prop_assert_eq!(path.ecn.codepoint(), codepoint);
    }

    /// A path that begins to clear or rewrite the field is found with the first such feedback.
    #[test]
    fn damage_is_found_at_any_time(
        profile in profile(),
        codepoint in codepoint(),
        before in 1_u64..50,
        is_bleached in prop::bool::ANY,
    ) {
        let mut path = Path::new(profile, codepoint);
        for _ in 0..before {
            path.send(Some);
            path.acknowledge();
        }
        let other = if codepoint == Ecn::Ect0 { Ecn::Ect1 } else { Ecn::Ect0 };
        let (to, failure) = match is_bleached {
            true => (Ecn::NotEct, EcnFailure::Bleached),
            false => (other, EcnFailure::Rewritten),
        };
        path.send(|_| Some(to));
        path.acknowledge();
        prop_assert_eq!(path.ecn.failure(), Some(failure));
        prop_assert_eq!(path.ecn.codepoint(), Ecn::NotEct);
    }
}

#[test]
fn each_damage_has_its_name() {
    for profile in [Profile::Tcp, Profile::Quic] {
        let failure =
            |damage: fn(Ecn) -> Option<Ecn>| Path::new(profile, Ecn::Ect1).failure(damage);
        assert_eq!(failure(|_| Some(Ecn::NotEct)), Some(EcnFailure::Bleached));
        assert_eq!(failure(|_| Some(Ecn::Ect0)), Some(EcnFailure::Rewritten));
        assert_eq!(failure(|_| Some(Ecn::Ce)), Some(EcnFailure::AllMarked));
        assert_eq!(failure(Some), None);
    }
}

/// RFC 9000 section 13.4.2: QUIC gives up ECN if all packets of its test are lost.
#[test]
fn a_black_hole_ends_the_test() {
    let only_plain = |ecn| (ecn == Ecn::NotEct).then_some(ecn);
    assert_eq!(Path::new(Profile::Quic, Ecn::Ect0).failure(only_plain), Some(EcnFailure::Lost));
}

#[test]
fn quic_tests_with_ten_packets() {
    let mut path = Path::new(Profile::Quic, Ecn::Ect0);
    let sent: Vec<Ecn> = (0..TESTED + 3)
        .map(|_| {
            let ecn = path.ecn.codepoint();
            path.send(Some);
            ecn
        })
        .collect();
    assert_eq!(sent.iter().filter(|ecn| **ecn == Ecn::Ect0).count() as u64, TESTED);
    path.acknowledge();
    assert_eq!(path.ecn.codepoint(), Ecn::Ect0);
}

#[test]
fn three_timeouts_end_the_test() {
    let mut path = Path::new(Profile::Quic, Ecn::Ect0);
    path.send(|_| None);
    for _ in 0..3 {
        assert_eq!(path.ecn.codepoint(), Ecn::Ect0);
        path.ecn.on_timeout(path.next);
    }
    assert_eq!(path.ecn.codepoint(), Ecn::NotEct);
    for _ in 0..3 {
        path.send(Some);
    }
    path.acknowledge();
    assert_eq!(path.ecn.failure(), Some(EcnFailure::Lost));
}

/// RFC 9768 section 3.2.2.3: TCP needs several round trips of marks, and responds to them until
/// then.
#[test]
fn tcp_waits_for_rounds_of_marks() {
    let mut path = Path::new(Profile::Tcp, Ecn::Ect1);
    for round in 0..=MARKED_ROUNDS {
        assert!(path.ecn.failure().is_none() && !path.ecn.ignores_marks(), "{round}");
        path.send(|_| Some(Ecn::Ce));
        path.acknowledge();
    }
    assert_eq!(path.ecn.failure(), Some(EcnFailure::AllMarked));
    assert!(path.ecn.ignores_marks());
}
