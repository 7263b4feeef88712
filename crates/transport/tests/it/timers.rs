//! Worked examples of the RTO (RFC 6298) and of tail loss probes (RFC 8985 section 7).

use crate::common::desk::Desk;
use crate::common::{MSS, at, config, ms};
use sojourn_transport::{Config, Profile};
use sojourn_units::{Bytes, Duration, Instant};

fn tcp() -> Config {
    config(Profile::Tcp)
}

/// RFC 6298's own variance floor, the clock's granularity, rather than Linux's.
fn without_floor() -> Config {
    Config { min_rto: ms(1), ..tcp() }
}

/// RFC 6298 section 2.1 sets 1 s before any sample, section 5.5 doubles, and section 2.5 permits a
/// maximum of 60 s. The probe of RFC 8985 section 7.2 comes first, after a second.
#[test]
fn unheard_sender_backs_off_to_a_minute() {
    let mut desk = Desk::new(tcp(), 10);
    desk.write(2);
    assert_eq!(desk.segments(at(0)), [0, 1]);
    let mut times = Vec::new();
    for _ in 0..9 {
        let (when, left) = desk.fire();
        assert_eq!(left.len(), 1);
        times.push(when);
    }
    let seconds = [1, 2, 4, 8, 16, 32, 64, 124, 184];
    assert_eq!(times, seconds.map(|s| Instant::ZERO + Duration::from_secs(s)));
    assert_eq!(desk.sender.stats().timeouts, 8);
}

/// RFC 6298 section 2.2 and 2.3: samples of 100, 100, 140 ms.
/// SRTT 100, 100, 105; RTTVAR 50, 37.5, 38.125; RTO 300, 250, 257.5 ms.
#[test]
fn rto_follows_the_variance() {
    let mut desk = Desk::new(without_floor(), 10);
    let samples = [(100, 300_000), (100, 250_000), (140, 257_500)];
    let mut now = 0;
    for (place, (sample, rto)) in (0..).zip(samples) {
        desk.write(1);
        desk.send(at(now));
        now += sample;
        desk.ack(at(now), place + 1, &[], place);
        // In a copy, all later packets are lost: the probe, then the RTO.
        let mut desk = Desk::new(without_floor(), 10);
        let mut then = 0;
        for (place, (sample, _)) in (0..=place).zip(samples) {
            desk.write(1);
            desk.send(at(then));
            then += sample;
            desk.ack(at(then), place + 1, &[], place);
        }
        desk.write(2);
        desk.send(at(then));
        let (probed, _) = desk.fire();
        let (expired, _) = desk.fire();
        assert_eq!(expired.since(probed), Duration::from_micros(rto));
    }
}

/// State after a first round trip of 100 ms: SRTT 100 ms, RTTVAR 50 ms, RTO 300 ms.
fn after_a_round_trip(config: Config, window: u64) -> Desk {
    let mut desk = Desk::new(config, window);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk
}

/// RFC 6298 section 5.3 restarts the timer at cumulative acknowledgements; RFC 6675 section 6: not
/// at SACK alone.
#[test]
fn only_cumulative_progress_restarts_the_rto() {
    let mut desk = after_a_round_trip(tcp(), 4);
    desk.write(4);
    assert_eq!(desk.segments(at(100)), [1, 2, 3, 4]);
    // Segment 4 arrives first, then 1 after 90 ms; 2 and 3 are missing. After reordering they wait
    // for a quarter of the minimum round trip of 80 ms.
    desk.ack(at(180), 1, &[(4, 5)], 4);
    desk.ack(at(190), 2, &[(4, 5)], 4);
    assert_eq!(desk.timer(), at(100) + ms(90) + ms(20));
    let (when, left) = desk.fire();
    assert_eq!((when, left.len(), left[0].segment), (at(210), 1, 2));
    // Samples of 80 and 90 ms: SRTT 97.5, RTTVAR 50 * 3/4 + 20/4 = 42.5, then SRTT 96.5625, RTTVAR
    // 42.5 * 3/4 + 7.5/4 = 33.75 ms; RTO = SRTT + 200 ms. The retransmission restarted the timer.
    assert_eq!(desk.timer(), at(410) + Duration::from_nanos(96_562_500));
    // Segment 3 was only late: 110 ms make SRTT 98.2421875 ms, but do not restart the timer.
    desk.ack(at(210), 2, &[(3, 5)], 4);
    assert_eq!(desk.timer(), at(410) + Duration::from_nanos(98_242_187));
}

/// RFC 6675 section 6: a retransmission in a recovery restarts the timer, although other data are
/// in flight: RTO = 100 + 200 ms from there.
#[test]
fn a_retransmission_restarts_the_rto() {
    let mut desk = after_a_round_trip(tcp(), 8);
    desk.write(5);
    desk.send(at(100));
    desk.ack(at(200), 1, &[(2, 5)], 4);
    assert_eq!(desk.segments(at(200)), [1]);
    assert_eq!(desk.timer(), at(500));
}

/// Section 5.7 with section 3 (Karn): the back-off lasts until the next sample. Without timestamps,
/// the acknowledgement of a retransmitted segment gives no sample.
#[test]
fn back_off_lasts_until_there_is_a_sample() {
    let mut desk = after_a_round_trip(Config { timestamps: false, ..without_floor() }, 4);
    desk.write(1);
    desk.send(at(100));
    desk.fire();
    let (first, left) = desk.fire();
    assert_eq!(left[0].number, 3);
    assert_eq!(desk.timer(), first + ms(600));
    // The original arrives after all: the echo is of packet 1.
    let late = first + ms(10);
    desk.ack(late, 2, &[], 1);
    desk.write(1);
    desk.send(late);
    // The RTO is still doubled. The timeout's recovery permits no probe, but this
    // acknowledgement ended it: so a probe after 2 SRTT and the worst delayed ACK.
    let (probe, _) = desk.fire();
    assert_eq!(probe, late + ms(400));
    assert_eq!(desk.timer(), probe + ms(600), "the RTO is doubled still");
}

/// RFC 8985 section 6.3: the RTO marks all data in flight for a round trip as lost, so that they do
/// not use up the window of one packet.
#[test]
fn an_rto_marks_everything_old_as_lost() {
    let mut desk = after_a_round_trip(tcp(), 4);
    desk.write(4);
    desk.send(at(100));
    desk.fire();
    let (_, left) = desk.fire();
    assert_eq!(desk.sender.stats().timeouts, 1);
    assert_eq!(desk.cc().timeouts, [4 * MSS]);
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [1]);
    assert_eq!(desk.sender.in_flight(), Bytes(MSS));
    assert_eq!(desk.sender.stats().lost, 4);
}

/// RFC 8985 section 7.2: twice SRTT, plus the 200 ms of the worst delayed acknowledgement with one
/// segment in flight, independently of the receiver's timer, but at most the RTO of 100 + 200 ms.
/// The probe is the last segment, although the window is full.
#[test]
fn a_tail_loss_probe_repeats_the_last_segment() {
    let mut desk = after_a_round_trip(tcp(), 2);
    desk.write(2);
    assert_eq!(desk.segments(at(100)), [1, 2]);
    let (when, left) = desk.fire();
    assert_eq!((when, left.len(), left[0].segment), (at(300), 1, 2));
    assert_eq!(desk.timer(), at(600), "the RTO starts anew");

    let mut desk = after_a_round_trip(tcp(), 2);
    desk.write(1);
    desk.send(at(100));
    assert_eq!(desk.fire().0, at(100) + ms(300));

    let mut desk = after_a_round_trip(Config { min_rto: ms(1000), ..tcp() }, 2);
    desk.write(1);
    desk.send(at(100));
    assert_eq!(desk.fire().0, at(100) + ms(200 + 200));
}

/// Linux 5.10 adds two ticks to the probe's delay (`tcp_schedule_loss_probe`), 8 ms with 250 ticks a
/// second: 200 + 8 ms. The delay for a single packet already includes a delayed acknowledgement, and has no
/// slack. The RTO bounds the delay.
#[test]
fn slack_delays_a_tail_loss_probe_of_several_packets() {
    let slack = |slack_ms, min_rto_ms| Config {
        timer_slack: ms(slack_ms),
        min_rto: ms(min_rto_ms),
        ..tcp()
    };
    for (packets, config, expected) in [
        (2, slack(0, 1000), 200),
        (2, slack(8, 1000), 208),
        (1, slack(8, 1000), 400),
        // RTO: 100 + 200 ms.
        (2, slack(8, 200), 208),
        (2, slack(150, 200), 300),
    ] {
        let mut desk = after_a_round_trip(config, 2);
        desk.write(packets);
        assert_eq!(desk.send(at(100)).len() as u64, packets);
        assert_eq!(desk.timer(), at(100 + expected), "{packets}");
        let (_, left) = desk.fire();
        assert_eq!((left.len(), left[0].segment), (1, packets));
        assert_eq!(desk.sender.stats().timeouts, 0);
    }
}

/// QUIC's probe timeout has no slack: RFC 9002 section 6.2.1 has its granularity instead.
#[test]
fn slack_is_a_setting_of_tcp() {
    let slack = Config::SETTINGS.iter().find(|setting| setting.key.name == "timer_slack");
    let slack = slack.expect("it is declared");
    assert!(slack.of_profile(Profile::Tcp).is_some());
    assert!(slack.of_profile(Profile::Quic).is_none());
}

/// Section 7.3: new data are preferred, even beyond the window.
#[test]
fn a_tail_loss_probe_prefers_new_data() {
    let mut desk = after_a_round_trip(tcp(), 2);
    desk.write(3);
    assert_eq!(desk.segments(at(100)), [1, 2]);
    let (_, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [3]);
    assert_eq!(desk.sender.stats().retransmitted, 0);
    // The probe is acknowledged: no packet was lost, and the next tail gets a probe.
    desk.ack(at(400), 4, &[], 3);
    assert_eq!(desk.cc().loss_events, 0);
    desk.write(1);
    desk.send(at(400));
    desk.fire();
    assert_eq!(desk.sender.stats().timeouts, 0);
}

/// Section 7.2: if the RTO is due before two round trips, the probe replaces it. A round trip of
/// 500 ms has SRTT 500, RTTVAR 250, then 187.5, 140.6, ... Without variance, RTO = 700 ms < 1000
/// ms.
#[test]
fn a_probe_goes_out_in_place_of_an_earlier_rto() {
    let mut desk = Desk::new(tcp(), 4);
    let mut now = 0;
    // 3/4 to the twentieth leaves 0.8 ms of 250 ms, below the floor's quarter.
    for place in 0..20 {
        desk.write(1);
        desk.send(at(now));
        now += 500;
        desk.ack(at(now), place + 1, &[], place);
    }
    desk.write(2);
    desk.send(at(now));
    let (when, left) = desk.fire();
    assert_eq!(when, at(now + 700));
    assert_eq!(left[0].segment, 21);
    assert_eq!(desk.sender.stats().timeouts, 0);
}

/// A tail of three lost out of four: the probe's acknowledgement triggers RACK, without an RTO (RFC
/// 8985 section 3.4).
#[test]
fn a_lost_tail_recovers_without_rto() {
    let mut desk = after_a_round_trip(tcp(), 4);
    desk.write(4);
    desk.send(at(100));
    desk.ack(at(200), 2, &[], 1);
    let (probed, left) = desk.fire();
    assert_eq!(left[0].segment, 4);
    // The probe arrives, a packet beyond a gap: the packets before it are lost, by a round trip (of
    // 100 ms) and a quarter.
    desk.ack(probed + ms(100), 2, &[(4, 5)], left[0].number);
    // PRR starts with one packet, and permits both after that.
    assert_eq!(desk.segments(probed + ms(100)), [2]);
    assert_eq!(desk.cc().loss_events, 1);
    desk.ack(probed + ms(200), 3, &[(4, 5)], 6);
    assert_eq!(desk.segments(probed + ms(200)), [3]);
    desk.ack(probed + ms(300), 5, &[], 7);
    assert_eq!(desk.sender.stats().timeouts, 0);
    assert!(desk.sender.is_done());
}

/// Section 7.4.2: the probe repaired the only loss. Only the next acknowledgement shows the loss,
/// and the sender must reduce the window.
#[test]
fn a_loss_that_the_probe_repaired_is_answered_for() {
    let mut desk = after_a_round_trip(tcp(), 4);
    desk.write(2);
    desk.send(at(100));
    desk.ack(at(200), 2, &[], 1);
    let (probed, left) = desk.fire();
    desk.ack(probed + ms(100), 3, &[], left[0].number);
    assert_eq!(desk.cc().loss_events, 0, "it may have been redundant");
    desk.write(1);
    desk.send(probed + ms(100));
    desk.ack(probed + ms(200), 4, &[], 4);
    assert_eq!(desk.cc().loss_events, 1);
    assert_eq!(desk.cc().last.lost, MSS);
    assert!(!desk.cc().last.in_recovery, "there is nothing left to recover");
    assert_eq!(desk.sender.cwnd(), Bytes(2 * MSS));
}

/// Case 1 of section 7.4.2: a duplicate report shows that the probe was not needed.
#[test]
fn a_redundant_probe_costs_nothing() {
    let mut desk = after_a_round_trip(tcp(), 4);
    desk.write(2);
    desk.send(at(100));
    let (probed, left) = desk.fire();
    desk.ack(probed + ms(10), 3, &[], 2);
    desk.ack.duplicate = true;
    desk.ack(probed + ms(100), 3, &[], left[0].number);
    desk.write(1);
    desk.send(probed + ms(100));
    desk.ack(probed + ms(200), 4, &[], 4);
    assert_eq!(desk.cc().loss_events, 0);
}

/// Section 4: the connection must use SACK. Without it, the RTO of 100 + 200 ms expires instead.
#[test]
fn no_tail_loss_probe_without_sack() {
    let mut desk = after_a_round_trip(Config { sack_ranges: 0, ..tcp() }, 2);
    desk.write(2);
    desk.send(at(100));
    assert_eq!(desk.fire().0, at(100) + ms(300));
    assert_eq!(desk.sender.stats().timeouts, 1);
}
