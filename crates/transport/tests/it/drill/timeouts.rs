//! Tail loss probes, retransmission timeouts and their undo.

use sojourn_transport::Why;

use super::script::{Host, Script};

/// `fr-4pkt-fack-last-byte.pkt`: a SACK block of one byte says nothing about a whole packet. A
/// probe, a timeout, and slow start from one packet follow.
#[test]
fn fr_4pkt_fack_last_byte() {
    Script::new(100).run(|d| {
        d.write(4).sends(0..4);
        d.after(100).ack(0);
        d.fires(100..=105, [3]);
        d.fires(300..=310, [0]).recovers(Why::Timeout).cwnd(1);
        d.after(500).ack(1).sends([1, 2]);
        d.after(100).ack(3).sends([3]);
        d.after(100).ack(4).in_flight(0);
    });
}

/// `cubic-rto-ss-ca-cwnd-bump.pkt`, its beginning: a probe in place of the earlier timeout, the
/// timeout, and the threshold of CUBIC.
#[test]
fn rto_ss_ca_cwnd_bump() {
    Script::new(100).run(|d| {
        d.write(1).sends([0]);
        d.after(100).ack(1).cwnd(10);
        d.write(1).sends([1]);
        d.fires(300..=303, [1]);
        d.fires(300..=303, [1]).recovers(Why::Timeout);
        d.after(100).ack(2).cwnd(2);
        // RFC 9438 section 4.8 has the data in flight instead of the window, and at least two packets.
        let ssthresh = d.by(7, 2);
        d.ssthresh(ssthresh);
    });
}

/// The same script to its end: slow start up to the threshold, and then a packet for each twenty
/// that are acknowledged.
#[test]
fn rto_ss_ca_cwnd_bump_growth() {
    Script::new(100).on(&[Host::Linux]).run(|d| {
        d.write(1).sends([0]);
        d.after(100).ack(1);
        d.write(1).sends([1]);
        d.fires(300..=303, [1]);
        d.fires(300..=303, [1]);
        d.after(100).ack(2);
        d.write(200).sends(2..4).cwnd(2);
        for (span, n) in [(100, 3), (2, 4), (98, 5), (2, 6), (2, 7)] {
            d.after(span).ack(n).sends(2 * n - 2..2 * n).cwnd(n);
        }
        let spans = [2, 98, 2, 2, 2, 2, 2, 2, 98];
        for (span, n) in spans.into_iter().zip(8..) {
            d.after(span).ack(n).sends([6 + n]);
        }
        d.after(1).cwnd(7);
        for n in 17..23 {
            d.after(2).ack(n).sends([6 + n]);
        }
        d.after(98).ack(23).sends([29, 30]).cwnd(8);
    });
}

/// Script by Y. Cheng in a message of N. Cardwell to netdev, 31 August 2022 ("tcp: del skb from
/// tsorted_sent_queue"): a probe with new data, a timeout, and a DSACK that undoes it.
#[test]
fn a_dsack_undoes_a_timeout() {
    Script::new(20).run(|d| {
        d.write(16).sends(0..10);
        d.fires(40..=44, [10]);
        d.fires(216..=224, [0]).recovers(Why::Timeout);
        d.after(10).originals().dsack(1, 0..1).rest().no_ssthresh().recovers(Why::Nothing);
    });
}

/// The same script to its end: Linux counts the duplicate as delivered, so that the window grows by
/// two.
#[test]
#[ignore = "duplicates as deliveries"]
fn a_dsack_undoes_a_timeout_growth() {
    Script::new(20).on(&[Host::Linux]).run(|d| {
        d.write(16).sends(0..10);
        d.fires(40..=44, [10]);
        d.fires(216..=224, [0]);
        d.after(10).originals().dsack(1, 0..1).sends([11, 12]).cwnd(12);
        d.fires(36..=44, [13]);
        d.after(10).sack(1, 11..12).sends([1]);
    });
}

/// Script of N. Cardwell in a message to netdev, 2 September 2022 ("retrans_stamp not cleared while
/// testing NewReno implementation"): a timeout without SACK, which the echo of the original undoes
/// (RFC 3522). Without SACK there is no tail loss probe (RFC 8985 section 4).
#[test]
fn a_timestamp_undoes_a_timeout() {
    Script::new(20).sack(&[false]).timestamps(&[true]).run(|d| {
        d.write(1).sends([0]).cwnd(10);
        d.fires(216..=224, [0]).cwnd(1).recovers(Why::Timeout);
        d.after(5).originals().ack(1).cwnd(10);
        d.after(11_000).write(1).sends([1]).cwnd(10);
    });
}

/// The same script to its end: Linux takes the round trip of 225 ms as a sample, which makes the
/// timer 290 ms; RFC 4015 section 3.2 raises it further.
#[test]
#[ignore = "timer after an undo"]
fn a_timestamp_undoes_a_timeout_timer() {
    Script::new(20).on(&[Host::Linux]).sack(&[false]).timestamps(&[true]).run(|d| {
        d.write(1).sends([0]);
        d.fires(216..=224, [0]);
        d.after(5).originals().ack(1);
        d.after(11_000).write(1).sends([1]);
        for rto in [290, 608, 1216, 2432, 4864] {
            d.fires(rto - 10..=rto + 10, [1]);
        }
    });
}

/// Script of E. Dumazet in a message to netdev, 5 January 2026 ("tcp: fix error handling of
/// tcp_retransmit_skb"), its beginning: a full window, and a probe with new data beyond it.
#[test]
fn a_probe_has_new_data() {
    Script::new(20).run(|d| {
        d.write(11).sends(0..10);
        d.fires(40..=50, [10]);
        assert_eq!(d.sender().stats().timeouts, 0);
    });
}

/// RFC 5682 section 3.1 without timestamps: the acknowledgement of a segment that was never
/// retransmitted undoes the timeout, one of new data confirms it.
#[test]
fn f_rto() {
    for is_spurious in [true, false] {
        Script::new(100).timestamps(&[false]).run(|d| {
            d.write(12).sends(0..10);
            d.fires(200..=204, [10]);
            d.fires(296..=304, [0]).recovers(Why::Timeout);
            d.after(100).ack(1).sends([11]).recovers(Why::Timeout);
            if is_spurious {
                d.after(5).ack(2).recovers(Why::Nothing).no_ssthresh().in_flight(10);
            } else {
                d.after(100).sack(1, 11..12).rest().recovers(Why::Timeout);
            }
        });
    }
}

/// The example of a fast recovery in RFC 8985, without PRR: of four packets the last three are
/// lost. The probe reveals it, and the retransmission of the third shows that the second was lost
/// again.
#[test]
fn rfc_8985_example() {
    Script::new(100).config(|c| c.prr = None).run(|d| {
        d.write(4).sends(0..4);
        d.after(100).ack(1);
        d.fires(200..=204, [3]);
        d.after(100).sack(1, 3..4).sends([1, 2]).recovers(Why::Loss);
        d.after(100).sack(1, 2..4).sends([1]);
        d.after(100).ack(4).recovers(Why::Nothing);
        assert_eq!(d.sender().stats().timeouts, 0);
    });
}
