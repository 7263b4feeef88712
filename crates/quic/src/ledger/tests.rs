//! The ledger's feedback to a controller that records it.

use std::sync::{Arc, Mutex};

use sojourn_cc::{AnyController, Controller, EcnUse, Feedback, Limits, Needs, Pacing};
use sojourn_transport::EcnCounts;
use sojourn_units::{Bytes, Duration, Instant};

use super::Ledger;
use crate::tally::{Space, Tally};

const MSS: u64 = 1200;

/// One feedback.
struct Heard {
    at: Instant,
    loss_event: bool,
    lost_packets: u64,
    spurious: bool,
}

/// A controller with constant limits.
struct Recorder {
    limits: Limits,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Controller for Recorder {
    fn on_feedback(&mut self, at: Instant, feedback: &Feedback<'_>) {
        let &Feedback { loss_event, lost_packets, spurious, .. } = feedback;
        self.heard.lock().unwrap().push(Heard { at, loss_event, lost_packets, spurious });
    }
    fn on_timeout(&mut self, _: Instant, _: Bytes) {}
    fn limits(&self) -> Limits {
        self.limits
    }
}

struct Setup {
    ledger: Ledger,
    tally: Arc<Tally>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Setup {
    fn new(cwnd: u64, pacing: Pacing) -> Setup {
        let (tally, heard) = (Arc::<Tally>::default(), Arc::default());
        let limits = Limits { cwnd: Bytes(cwnd), pacing, burst: Bytes(10 * MSS) };
        let recorder = Recorder { limits, heard: Arc::clone(&heard) };
        let needs = Needs { ecn: EcnUse::Classic, ..Needs::BASE };
        let controller = AnyController::User(Box::new(recorder));
        let ledger = Ledger::new(controller, needs, Bytes(MSS), Arc::clone(&tally), true);
        Setup { ledger, tally, heard }
    }

    /// An ACK frame for the packet `pn`, which left at `sent_at`.
    fn ack(&mut self, now: Instant, pn: u64, sent_at: Instant) {
        self.ledger.on_acked(now, pn, sent_at, MSS, Duration::from_millis(20));
        self.ledger.on_acks_end(now, self.ledger.in_flight().0, false);
    }

    /// Eight packets leave after 1 ms, of which the first is lost and the fifth acknowledged after
    /// 21 ms.
    fn with_a_loss() -> Setup {
        let mut setup = Setup::new(20 * MSS, Pacing::Unpaced);
        (0..8).for_each(|pn| setup.ledger.on_sent(ms(1), pn, MSS));
        setup.ack(ms(21), 4, ms(1));
        setup.ledger.on_lost(ms(21), 0, MSS);
        setup
    }
}

fn ms(at: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(at)
}

/// RFC 9002 section 7.1: a mark is a signal of congestion as a loss is.
#[test]
fn a_mark_during_recovery_makes_the_reduction_final() {
    for (ce, is_undone) in [(0, true), (1, false)] {
        let mut setup = Setup::with_a_loss();
        setup.ledger.window();
        setup.tally.report(Space::Data, 5, &EcnCounts { ect0: 0, ect1: 0, ce });
        setup.ack(ms(22), 5, ms(1));
        setup.ledger.window();
        setup.ledger.on_spurious();
        setup.ack(ms(23), 6, ms(1));
        setup.ledger.window();
        let heard = setup.heard.lock().unwrap();
        assert!(heard.iter().any(|heard| heard.loss_event));
        assert_eq!(heard.iter().any(|heard| heard.spurious), is_undone, "{ce} marks");
        assert_eq!(setup.ledger.state().undone_reductions, u64::from(is_undone), "{ce} marks");
    }
}

/// noq reports a frame that only refutes losses without a time.
#[test]
fn time_never_runs_backwards() {
    let mut setup = Setup::with_a_loss();
    setup.ledger.on_spurious();
    setup.ledger.window();
    let heard = setup.heard.lock().unwrap();
    assert!(heard.last().unwrap().spurious);
    assert!(heard.iter().all(|heard| heard.at == ms(21)));
}

/// With no data in flight, only the gate's departure can wake the sender.
#[test]
fn a_closed_gate_opens_for_a_window_below_one_packet() {
    let mut setup = Setup::new(MSS / 2, Pacing::Gap(Duration::from_millis(10)));
    for pn in 0..2 {
        let sent_at = ms(1 + 20 * pn);
        setup.ledger.gate().open(sent_at);
        assert_eq!(setup.ledger.window(), MSS);
        setup.ledger.on_sent(sent_at, pn, MSS);
        setup.ack(sent_at + Duration::from_millis(4), pn, sent_at);
    }
    setup.ledger.gate().open(ms(25));
    assert!(setup.ledger.window() < MSS, "closed");
    setup.ledger.on_blocked();
    let at = setup.ledger.gate().open_at().expect("a departure");
    setup.ledger.gate().open(at);
    assert_eq!(setup.ledger.window(), MSS);
}

/// quinn reports only the bytes of lost packets. Those that the ledger cannot find have no numbers.
#[cfg(all(feature = "quinn", feature = "endpoint"))]
#[test]
fn losses_that_match_no_packet_are_counted_by_their_bytes() {
    use sojourn_transport::StackEvent;

    let mut setup = Setup::new(20 * MSS, Pacing::Unpaced);
    setup.tally.observe();
    (0..8).for_each(|pn| setup.ledger.on_sent(ms(1), pn, MSS));
    setup.ack(ms(21), 7, ms(1));
    // No whole number of packets.
    setup.ledger.on_bytes_lost(ms(21), ms(1), 2 * MSS + 1, &[Space::Data]);
    setup.ledger.on_bytes_lost(ms(21), ms(1), MSS, &[Space::Data]);
    setup.ledger.window();
    assert_eq!(setup.ledger.in_flight(), Bytes(4 * MSS - 1));
    assert_eq!(setup.ledger.state().lost, 4);
    let heard = setup.heard.lock().unwrap();
    assert_eq!(heard.iter().map(|heard| heard.lost_packets).sum::<u64>(), 4);
    assert!(heard.iter().any(|heard| heard.loss_event));
    let log = setup.tally.take_log();
    assert!(matches!(log[..], [StackEvent::LostBytes(bytes), _] if bytes == 2 * MSS + 1));
}

/// quinn gives the departure of the newest lost packet, also if that one does not count as in flight.
#[cfg(feature = "quinn")]
#[test]
fn a_lost_acknowledgement_hides_no_lost_packet() {
    let mut setup = Setup::new(20 * MSS, Pacing::Unpaced);
    (0..3).for_each(|pn| setup.ledger.on_sent(ms(1 + pn), pn, MSS));
    setup.ledger.on_bytes_lost(ms(30), ms(2), MSS, &[Space::Data]);
    setup.ledger.window();
    assert_eq!(setup.ledger.in_flight(), Bytes(2 * MSS));
    // The other two are known: their losses leave no bytes in flight.
    setup.ledger.on_bytes_lost(ms(31), ms(3), 2 * MSS, &[Space::Data]);
    setup.ledger.window();
    assert_eq!(setup.ledger.in_flight(), Bytes(0));
    let (bytes, _, forgotten) = setup.ledger.audit();
    assert_eq!((bytes, forgotten), (0, 0));
}

/// A stack that counts other bytes in flight would otherwise be polled without end.
#[test]
fn an_open_gate_has_no_time_at_which_it_opens() {
    let mut setup = Setup::new(20 * MSS, Pacing::Gap(Duration::from_millis(10)));
    setup.ledger.gate().open(ms(1));
    setup.ledger.on_sent(ms(1), 0, MSS);
    setup.ledger.on_blocked();
    assert_eq!(setup.ledger.gate().open_at(), Some(ms(11)));
    setup.ledger.gate().open(ms(11));
    setup.ledger.on_blocked();
    assert_eq!(setup.ledger.gate().open_at(), None);
}
