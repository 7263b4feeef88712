//! Slow start: growth while the window limits the sender, and beyond.

use super::script::{Host, Script};

/// Every option: growth depends on none of them.
fn every(rtt: u64) -> Script {
    Script::new(rtt).sack(&[true, false])
}

/// `slow-start-ack-per-1pkt.pkt`: an acknowledgement for each packet, two at a time.
#[test]
fn ack_per_1pkt() {
    every(100).run(|d| {
        d.write(30).sends(0..10).cwnd(10);
        d.after(100);
        for pair in 0..5 {
            for n in [2 * pair + 1, 2 * pair + 2] {
                d.after(if n % 2 == 1 { 5 } else { 0 });
                d.ack(n).sends(8 + 2 * n..10 + 2 * n);
            }
        }
        d.cwnd(20);
    });
}

/// `slow-start-ack-per-2pkt.pkt`.
#[test]
fn ack_per_2pkt() {
    every(100).run(|d| {
        d.write(30).sends(0..10).cwnd(10).after(100);
        for n in [2, 4, 6, 8, 10] {
            d.after(5).ack(n).sends(6 + 2 * n..10 + 2 * n);
        }
        d.cwnd(20);
    });
}

/// `slow-start-ack-per-4pkt.pkt`.
#[test]
fn ack_per_4pkt() {
    every(100).run(|d| {
        d.write(30).sends(0..10).cwnd(10);
        d.after(110).ack(4).sends(10..18);
        d.after(10).ack(8).sends(18..26);
        d.after(5).ack(10).sends(26..30).cwnd(20);
    });
}

/// `slow-start-fq-ack-per-2pkt.pkt`, without its pacing: packets of 1460 bytes, of which the last
/// is not full.
#[test]
fn fq_ack_per_2pkt() {
    every(100).config(|c| c.mss.0 = 1460).run(|d| {
        d.write_bytes(40_000).sends(0..10).cwnd(10);
        d.after(105).ack(2).cwnd(12).sends(10..14);
        d.after(4).ack(4).cwnd(14).sends(14..18);
        d.after(2).ack(6).cwnd(16).sends(18..22);
        d.after(9).ack(8).cwnd(18).sends(22..26);
        d.after(1).ack(10).cwnd(20).sends(26..28);
    });
}

/// `notsent-lowat-setsockopt.pkt`: a round trip of 10 ms.
#[test]
fn notsent_lowat_setsockopt() {
    every(10).run(|d| {
        d.write(26).sends(0..10);
        for n in [2, 4, 6, 8] {
            d.after(10).ack(n).sends(6 + 2 * n..10 + 2 * n);
        }
        d.after(10).ack(8);
    });
}

/// `slow-start-ack-per-2pkt-send-5pkt.pkt`: half of the window is used, which is too little to
/// grow.
#[test]
fn send_5pkt() {
    every(0).run(|d| {
        d.write(5).sends(0..5).cwnd(10);
        for n in [2, 4, 5] {
            d.ack(n).cwnd(10);
        }
    });
}

/// `slow-start-ack-per-2pkt-send-6pkt.pkt`: slow start grows up to twice the flight.
#[test]
fn send_6pkt() {
    every(0).on(&[Host::Linux]).run(|d| {
        d.write(6).sends(0..6).cwnd(10);
        for n in [2, 4, 6] {
            d.ack(n).cwnd(12);
        }
    });
}

/// `slow-start-app-limited-9-packets-out.pkt`: up to twice the flight of nine packets.
#[test]
fn app_limited_9_packets_out() {
    every(100).on(&[Host::Linux]).run(|d| {
        d.write(9).sends(0..9).cwnd(10).after(100);
        for (n, cwnd) in [(2, 12), (4, 14), (6, 16), (8, 18), (9, 18)] {
            d.after(5).ack(n).cwnd(cwnd);
        }
    });
}

/// `slow-start-app-limited.pkt`: a full window without a backlog limits the sender (RFC 9002
/// section 7.8).
#[test]
fn app_limited() {
    every(100).run(|d| {
        d.write(10).sends(0..10).cwnd(10).after(100);
        for (n, cwnd) in [(2, 12), (4, 14), (6, 16), (8, 18), (10, 20)] {
            d.after(5).ack(n).cwnd(cwnd);
        }
    });
}

/// `slow-start-after-idle.pkt`: 16 packets of 20 are more than half of the window, so it grows to
/// 36. After 2 s it is the initial one. Linux sends half of it in one burst, and then waits.
#[test]
fn after_idle() {
    let linux = Script::new(100).on(&[Host::Linux]);
    let linux = linux.config(|c| c.cwnd_validation = sojourn_transport::CwndValidation::Linux);
    linux.run(|d| {
        d.write(26).sends(0..10).cwnd(10);
        d.after(100).ack(10).cwnd(20).sends(10..26);
        d.after(100).ack(26).cwnd(36);
        d.after(2000).write(20).sends(26..36).cwnd(10);
    });
}

/// `iw10-base-case.pkt` and `iw10-short-response.pkt` of ligurio/packetdrill-testcases: a first
/// window of ten packets (RFC 6928), and of fewer.
#[test]
fn iw10() {
    for packets in [10, 5] {
        every(100).config(|c| c.mss.0 = 1460).run(|d| {
            d.write(packets).sends(0..packets);
            d.after(100).ack(packets);
        });
    }
}

/// `mss-setsockopt-tcp_maxseg-client.pkt` and `-server.pkt`: ten packets of 1100 bytes of 12000.
#[test]
fn maxseg_1100() {
    every(100).config(|c| c.mss.0 = 1100).run(|d| {
        d.write_bytes(12_000).sends(0..10);
        assert_eq!(d.last().len, 1100);
    });
}

/// `https_client.pkt`: small packets leave at once, without Nagle's algorithm. The MSS is 974.
#[test]
fn https_client() {
    every(100).config(|c| c.mss.0 = 974).run(|d| {
        d.write_bytes(517).sends(0..1);
        d.after(100).ack(1);
        d.write_bytes(51).sends(1..2);
        d.after(30).write_bytes(2002).sends(2..5);
        assert_eq!(d.last().len, 54);
        d.after(100).ack(5);
    });
}

/// `timestamping/partial.pkt`: a receive window of 2000 bytes holds two packets of 988 bytes.
#[test]
fn partial() {
    let script = Script::new(10).config(|c| {
        (c.mss.0, c.initial_receive_window) = (988, Some(sojourn_units::Bytes(2000)));
    });
    script.run(|d| {
        d.write_bytes(2964).sends(0..2);
        d.after(10).window(11_776).ack(2).sends(2..3);
        d.after(10).window(11_776).ack(3);
        let (srtt, _) = d.sender().rtts().expect("a sample");
        assert_eq!(srtt, crate::common::ms(10));
    });
}

/// `tcp-info-rwnd-limited.pkt`, its first part: the receive window opens from zero.
#[test]
fn rwnd_limited() {
    let script =
        Script::new(10).config(|c| c.initial_receive_window = Some(sojourn_units::Bytes(0)));
    script.run(|d| {
        d.write(1).after(100).after(100);
        d.window(2000).ack(0).sends(0..1);
        d.after(30).ack(1);
    });
}
