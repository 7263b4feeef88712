//! Fast retransmit, fast recovery with SACK and PRR, limited transmit, and reordering.

use sojourn_transport::Why;

use super::script::{Host, Script};

/// `prr-ss-10pkt-lost-1.pkt`: the flight equals the threshold, so that each delivery lets one
/// packet leave.
#[test]
fn prr_ss_10pkt_lost_1() {
    Script::new(100).run(|d| {
        d.write(10).sends(0..10).after(100);
        for end in [2, 3, 4] {
            d.after(10).sack(0, 1..end);
        }
        d.sends([0]);
        d.after(10).recovers(Why::Loss).cwnd(7).ssthresh(7);
        d.after(10).write(7);
        for end in 5..=10 {
            d.after(10).sack(0, 1..end).sends([5 + end]);
        }
        d.after(20).ack(10).sends([16]);
        d.after(10).recovers(Why::Nothing).cwnd(7).ssthresh(7);
        d.after(30).ack(12);
        for n in [14, 16, 17] {
            d.after(20).ack(n);
        }
    });
}

/// `prr-ss-30pkt-lost1_4.pkt`: after the recovery, the threshold's amount leaves at once.
#[test]
fn prr_ss_30pkt_lost1_4() {
    Script::new(10).run(|d| {
        d.write(10).sends(0..10);
        d.after(10).sack(0, 4..5);
        d.after(2).sack(0, 4..6);
        for end in 7..=10 {
            d.sack(0, 4..end).sends([end - 7]);
        }
        d.after(10);
        for n in [1, 2, 3] {
            d.sack(n, 4..10);
        }
        d.ack(10);
        d.after(10).write(10).sends(10..17);
    });
}

/// `prr-ss-30pkt-lost-1_4-11_16.pkt`: limited transmit, conservation of packets, slow start up to
/// the threshold, and a retransmission that is lost in turn. Without timestamps, only the least
/// round trip tells that the later retransmissions arrived (RFC 8985 section 6.2 step 2).
#[test]
fn prr_ss_30pkt_lost_1_4_11_16() {
    Script::new(10).run(|d| {
        d.write(20).sends(0..10);
        d.after(10).sack(0, 4..5).sends([10]);
        d.after(2).sack(0, 4..6).sends([11]);
        for end in 7..=10 {
            d.after(2).sack(0, 4..end).sends([end - 7]);
        }
        d.after(2).sack(0, 4..11).sends([12]);
        d.after(2).sack(0, 4..12).sends([13]);
        d.after(10).sack(1, 4..12).sends([14, 15]);
        d.after(2).sack(1, 2..12).sends([1, 16]);
        d.after(2).sack(1, 2..13).sends([17]);
        d.after(2).sack(1, 2..14).sends([18]);
    });
}

/// `prr-ss-ack-below-snd_una-cubic.pkt`: an acknowledgement that was overtaken still has SACK
/// blocks.
#[test]
fn prr_ss_ack_below_snd_una_cubic() {
    Script::new(10).run(|d| {
        d.write(10).sends(0..10).after(10);
        d.sack(0, 1..2);
        d.sack(0, 1..3);
        d.sacks(0, &[1..3, 8..9]);
        d.sends([0]);
        d.after(12).sack(4, 8..9).sends([4, 5, 6]);
        d.write(10);
        d.after(2).originals().sack(3, 5..7).sends([7, 10]);
    });
}

/// `fastopen/server/client-ack-dropped-then-recovery-ms-timestamps.pkt`: the first acknowledgement
/// reports three packets, and both lost ones leave at once.
#[test]
fn client_ack_dropped_then_recovery() {
    Script::new(10).run(|d| {
        d.write(10).sends(0..10).cwnd(10);
        d.sack(0, 2..5).sends([0, 1]).recovers(Why::Loss).cwnd(7);
        d.sack(0, 2..6).recovers(Why::Loss).cwnd(7);
    });
}

/// `fr-4pkt-sack.pkt`: the third duplicate acknowledgement.
#[test]
fn fr_4pkt_sack() {
    Script::new(100).config(|c| c.mss.0 = 1460).run(|d| {
        d.write(4).sends(0..4).after(100);
        for end in [2, 3] {
            d.sack(0, 1..end);
        }
        d.sack(0, 1..4).sends([0]);
        d.after(100).ack(4).recovers(Why::Nothing);
    });
}

/// `fr-4pkt-sack-linux.pkt` and `fr-4pkt-sack-bsd.pkt` of google/packetdrill's own tests, and the
/// one of ligurio/packetdrill-testcases.
#[test]
fn fr_4pkt_sack_after_a_round_trip() {
    Script::new(100).run(|d| {
        d.write(1).sends(0..1);
        d.after(100).ack(1);
        d.write(4).sends(1..5).after(100);
        for end in [3, 4] {
            d.sack(1, 2..end);
        }
        d.sack(1, 2..5).sends([1]);
        d.after(100).ack(5);
    });
}

/// `fr-4pkt.pkt`: the same without SACK (RFC 5681 section 3.2).
#[test]
#[ignore = "NewReno without SACK"]
fn fr_4pkt() {
    Script::new(100).sack(&[false]).config(|c| c.mss.0 = 1460).run(|d| {
        d.write(4).sends(0..4).after(100);
        d.ack(0).ack(0).ack(0).sends([0]);
        d.after(100).ack(4);
    });
}

/// `fr-4pkt-fack-last-mss.pkt`: one packet beyond a gap waits for the reordering window. The tick
/// of the script's kernel is 4 ms.
#[test]
fn fr_4pkt_fack_last_mss() {
    Script::new(100).config(|c| c.timer_slack = c.timer_slack * 4).run(|d| {
        d.write(4).sends(0..4);
        let wait = d.by(33..=44, 25..=25);
        d.after(100).sack(0, 3..4).fires(wait, [0]);
    });
}

/// `early-retransmit.pkt` of ligurio/packetdrill-testcases: a quarter of a round trip after a
/// packet beyond a gap (RFC 5827 with a delay).
#[test]
fn early_retransmit() {
    Script::new(100).config(|c| c.mss.0 = 1460).run(|d| {
        d.write(2).sends(0..2);
        d.after(100).sack(0, 1..2).fires(25..=29, [0]);
        d.after(100).ack(2);
    });
}

/// `limited-transmit-sack.pkt`: new data for the first two duplicate acknowledgements (RFC 3042),
/// which turn out to be reordering.
#[test]
fn limited_transmit_sack() {
    Script::new(100).run(|d| {
        d.write(15).sends(0..10);
        d.after(110).sack(0, 1..2).sends([10]);
        d.after(10).sack(0, 1..3).sends([11]);
        d.after(10).ack(3).sends([12, 13]);
        d.after(20).ack(5).sends([14]);
        for n in [7, 9, 11, 13, 15] {
            d.after(20).ack(n);
        }
    });
}

/// `limited-transmit-no-sack.pkt`.
#[test]
#[ignore = "NewReno without SACK"]
fn limited_transmit_no_sack() {
    Script::new(100).sack(&[false]).run(|d| {
        d.write(15).sends(0..10);
        d.after(110).ack(0).sends([10]);
        d.after(10).ack(0).sends([11]);
        d.after(10).ack(3).sends([12, 13]);
        d.after(20).ack(5).sends([14]);
        for n in [7, 9, 11, 13, 15] {
            d.after(20).ack(n);
        }
    });
}

/// `sack-shift-sacked-2-6-8-3-9-nofack.pkt`: three packets beyond gaps; one that was deemed lost
/// arrives late.
#[test]
fn sack_shift_sacked_2_6_8_3_9() {
    Script::new(100).run(|d| {
        d.write(10).sends(0..10).after(100);
        d.sack(0, 2..3);
        d.after(1).sacks(0, &[2..3, 6..7]);
        d.after(1).sacks(0, &[2..3, 6..7, 8..9]).sends([0]).recovers(Why::Loss).lost(6);
        d.after(7).sacks(0, &[2..4, 6..7, 8..9]).sends([1]).lost(6);
        d.after(10).sacks(0, &[2..4, 6..7, 8..10]).rest();
        d.after(83).sacks(1, &[2..4, 6..7, 8..10]).rest();
        d.after(17).sacks(4, &[6..7, 8..10]).rest();
        d.after(10).sack(7, 8..10).rest();
        d.after(100).ack(10).recovers(Why::Nothing).in_flight(0).lost(6);
    });
}

/// `sack-shift-sacked-7-3-4-8-9-fack.pkt`: one packet beyond a gap, and packets that arrive late
/// during the recovery. packetdrill's tolerance of 4 ms leaves the time of the fourth
/// retransmission open.
#[test]
fn sack_shift_sacked_7_3_4_8_9() {
    Script::new(100).run(|d| {
        d.write(10).sends(0..10);
        d.after(100).sack(0, 7..8).fires(25..=31, [0]).recovers(Why::Loss).lost(7);
        d.after(2).sacks(0, &[3..4, 7..8]).sends([1]);
        d.after(2).sacks(0, &[3..5, 7..8]).sends([2]);
        d.after(2).sacks(0, &[3..5, 7..9]).sends([5]);
        d.after(2).sacks(0, &[3..5, 7..10]).rest();
        d.after(100).ack(10).recovers(Why::Nothing).in_flight(0).lost(7);
    });
}

/// `sack-shift-sacked-7-5-6-8-9-fack.pkt`.
#[test]
fn sack_shift_sacked_7_5_6_8_9() {
    Script::new(100).run(|d| {
        d.write(10).sends(0..10);
        d.after(100).sack(0, 7..8).fires(25..=31, [0]).recovers(Why::Loss).lost(7);
        for (place, block) in [(1, 5..6), (2, 5..8), (3, 5..9), (4, 5..10)] {
            d.sacks(0, &[block, 7..8]).sends([place]);
        }
        d.after(100).ack(10).recovers(Why::Nothing).in_flight(0).lost(7);
    });
}

/// `sack-route-refresh-ip-tos.pkt`: four losses in two gaps leave at once, and no packet that was
/// selectively acknowledged.
#[test]
fn sack_route_refresh_ip_tos() {
    Script::new(10).config(|c| c.mss.0 = 1460).run(|d| {
        for start in [0, 4] {
            d.after(10).write(4).sends(start..start + 4);
            d.after(10).ack(start + 4);
        }
        d.after(10).write(10).sends(8..18);
        d.after(10).sacks(9, &[11..12, 14..18]).sends([9, 10, 12, 13]);
        d.after(10).ack(18).in_flight(0);
    });
}

/// `fastopen/client/syn-data-partial-or-over-ack.pkt`, its second connection: the data of a SYN are
/// sent again in two packets, of which the first is lost.
#[test]
fn syn_data_partial_ack() {
    Script::new(10).run(|d| {
        d.write_bytes(1320).sends(0..2);
        assert_eq!(d.last().len, 320);
        d.write(4).sends(2..6);
        d.after(10).sack(0, 1..6).sends([0]);
        d.after(10).ack(6).in_flight(0);
    });
}

/// `undo-fr-acks-dropped-then-dsack.pkt` of ligurio/packetdrill-testcases: the acknowledgements of
/// the originals were lost, and a DSACK shows that the retransmission was not needed (RFC 3708).
#[test]
fn undo_fr_acks_dropped_then_dsack() {
    Script::new(100).run(|d| {
        d.write(10).sends(0..10).after(100);
        for end in [2, 3] {
            d.sack(0, 1..end);
        }
        d.sack(0, 1..4).sends([0]).cwnd(7);
        d.after(100).dsack(10, 0..1).recovers(Why::Nothing).no_ssthresh();
        assert!(d.sender().cwnd().0 >= 10_000);
        d.write(1).sends([10]);
    });
}

/// `cubic-rack-reo-timeout-retrans-failed-incoming-data.pkt`, its second part: the reordering timer
/// begins a recovery of the only packet in flight, but the host's interface takes no packet. An
/// acknowledgement without news changes nothing.
#[test]
fn rack_reo_timeout_retrans_failed() {
    Script::new(20).run(|d| {
        d.write(10).sends(0..10).after(20);
        d.sack(0, 9..10);
        d.sacks(0, &[3..4, 9..10]);
        d.ack(10);
        d.after(25).write(2).sends([10, 11]).block();
        d.after(20).sack(10, 11..12).recovers(Why::Nothing);
        d.after(20).recovers(Why::Loss).in_flight(0).cwnd(1);
        d.after(10).sack(10, 11..12).cwnd(1);
    });
}

/// The same script, its first part: after reordering by more than three packets, Linux lets the
/// window grow by SACK too (`tcp_may_raise_cwnd`).
#[test]
fn rack_reo_timeout_reordering() {
    Script::new(20).on(&[Host::Linux]).run(|d| {
        d.write(10).sends(0..10).after(20);
        d.sack(0, 9..10);
        d.sacks(0, &[3..4, 9..10]);
        d.ack(10).cwnd(19);
    });
}
