//! The sender of media without a network: a test decides which packets and reports arrive.

use sojourn_cc::{AnyController, EcnUse, Setup};
use sojourn_transport::{
    FeedbackRule, Format, MediaFrame, RtpReceiver, RtpSender, RtpSetup, RtpStats,
};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

const FRAME: Duration = Duration::from_millis(20);
const ONE_WAY: Duration = Duration::from_millis(30);

fn controller(name: &str) -> AnyController {
    let algorithm = sojourn_cc::find(name).expect("it is registered");
    (algorithm.build)(&Setup {
        mss: Bytes(1200),
        initial_window: Bytes(12_000),
        paced: false,
        round_recovery: true,
        seed: 1,
        params: Params::defaults(algorithm.info.params),
    })
}

/// Sends `frames` frames of three packets over 30 ms each way, with a report for each frame.
fn counts(
    name: &str,
    frames: u32,
    loses_packet: impl Fn(u64) -> bool,
    loses_report: impl Fn(u32) -> bool,
) -> (RtpStats, f64) {
    let setup = RtpSetup {
        microburst: Duration::ZERO,
        packet: Bytes(1200),
        header: Bytes(12),
        interval: FRAME,
        min_rate: Rate(1_200_000),
        max_rate: Rate::from_mbit(10),
        ecn: EcnUse::None,
    };
    let mut sender = RtpSender::new(setup, Some(controller(name)));
    let mut receiver = RtpReceiver::new(FeedbackRule {
        format: Format::Rfc8888,
        interval: FRAME,
        packets: u64::MAX,
        on_frame: true,
    });
    let mut waiting = Vec::new();
    for number in 0..frames {
        let begin = Instant::ZERO + FRAME * u64::from(number);
        waiting.retain(|(at, report)| {
            let is_due = *at <= begin;
            if is_due {
                sender.on_report(*at, report);
            }
            !is_due
        });
        let frame = MediaFrame { number, bytes: Bytes(3000), is_key: false, captured_at: begin };
        sender.push_frame(begin, frame);
        let mut now = begin;
        while now < begin + FRAME {
            sender.on_timer(now);
            let Some(packet) = sender.poll(now) else {
                now = sender.next_at().max(now + Duration(1));
                continue;
            };
            if !loses_packet(packet.number) {
                receiver.on_packet(now + ONE_WAY, packet.number, packet.ecn, packet.is_last);
            }
            if let Some(report) = receiver.take_report(now + ONE_WAY)
                && !loses_report(packet.frame.number)
            {
                waiting.push((now + ONE_WAY * 2, report));
            }
        }
    }
    (sender.stats(), sender.target().expect("it has a rate").as_f64())
}

/// After a second, in which windows grow, only one report of four arrives.
fn is_lost(frame: u32) -> bool {
    frame >= 50 && frame % 4 != 3
}

/// RFC 8888 section 5: the loss of reports says nothing about the packets that they covered. Each report
/// repeats the range of the one before: no report that arrives covers half of the packets.
#[test]
fn lost_reports_are_not_losses_of_media() {
    for name in ["scream", "nada", "gcc"] {
        let (sound, rate) = counts(name, 500, |_| false, |_| false);
        let (found, rate_of_few) = counts(name, 500, |_| false, is_lost);
        assert_eq!((sound.lost, found.lost, found.timeouts), (0, 0, 0), "{name}");
        assert!(rate_of_few > rate / 2.0, "{name}: {rate_of_few} {rate}");
    }
}

/// A loss that a report covers still counts, beside lost reports.
#[test]
fn lost_media_counts_beside_lost_reports() {
    for name in ["scream", "nada", "gcc"] {
        // The report of four covers the last two frames: packets 6 to 11 of twelve.
        let loses = |number| number > 200 && number % 120 == 8;
        let (found, _) = counts(name, 400, loses, is_lost);
        assert_eq!(found.lost, 8, "{name}");
    }
}
