//! Whole transfers over a network with every kind of impairment.

use crate::common::network::{Mishaps, Network, Path};
use crate::common::{MSS, config, ms};
use proptest::prelude::*;
use sojourn_transport::{Config, Profile, RecoveryPeriod, WindowTuning};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const PROFILES: [Profile; 2] = [Profile::Tcp, Profile::Quic];
const PERIODS: [RecoveryPeriod; 2] = [RecoveryPeriod::Rfc9002, RecoveryPeriod::Picoquic2022];
const TUNINGS: [WindowTuning; 2] = [WindowTuning::Linux615, WindowTuning::Linux618];

fn controllers() -> impl Iterator<Item = &'static str> {
    // `ideal` sends no data until a bottleneck signals.
    let all = sojourn_cc::all().iter().filter(|a| !a.info.needs.media);
    all.map(|a| a.info.name).filter(|name| *name != "ideal")
}

fn clean(seed: u64) -> Path {
    Path { delay: ms(20), rate: Rate(20_000_000), limit: 100, mishaps: Mishaps::default(), seed }
}

/// Sends `writes`, the first at once, each other 150 ms after the last. Checks that all data
/// arrived and that none are in flight.
fn transfer(name: &str, config: Config, path: Path, writes: &[u64], bound: Duration) -> Network {
    let mut network = Network::new(name, config, path);
    let total = writes.iter().sum::<u64>();
    for (place, bytes) in writes.iter().enumerate() {
        network.write_after(ms(150 * place as u64), *bytes);
    }
    network.run(Instant::ZERO + bound);
    assert_eq!(network.receiver.in_order_bytes(), total, "in order");
    assert_eq!(network.receiver.received_bytes(), total, "each byte counted once");
    assert_eq!(network.sender.in_flight(), Bytes::ZERO);
    assert_eq!(network.sender.delivered(), Bytes(total));
    assert_eq!(network.sender.timer(), Instant::MAX, "nothing is left to wait for");
    let (sent, fate) = (network.sender.stats().sent, network.fate);
    assert_eq!(sent + fate.duplicated, fate.received + fate.lost + network.under_way());
    network
}

fn mishaps() -> impl Strategy<Value = Mishaps> {
    (0_u64..300, 0_u64..500, 0_u64..300, 0_u64..60, 0_u64..100, 0_u64..300).prop_map(
        |(loss, ack_loss, reorder, by, duplicate, mark)| Mishaps {
            loss,
            ack_loss,
            reorder,
            reorder_by: ms(by),
            duplicate,
            mark,
        },
    )
}

fn paths() -> impl Strategy<Value = Path> {
    (1_u64..150, 1_u64..100, 3_u64..200, mishaps(), any::<u64>()).prop_map(
        |(delay, mbit, limit, mishaps, seed)| Path {
            delay: ms(delay),
            rate: Rate(mbit * 1_000_000),
            limit,
            mishaps,
            seed,
        },
    )
}

fn configs() -> impl Strategy<Value = Config> {
    let windows = prop_oneof![Just(None), (300_u64..50_000).prop_map(|n| Some(Bytes(n)))];
    // Half of them with bursts, from two packets to 64 kB, and half with receive offload.
    let tso = prop_oneof![Just(0), 2 * MSS..65_536].prop_map(Bytes);
    let gro = prop_oneof![Just(0), 1_u64..10_000].prop_map(Duration::from_micros);
    let acks = (1_u64..9, 0_u64..5);
    let choices = (prop::sample::select(&PERIODS[..]), prop::sample::select(&TUNINGS[..]));
    let rules = (any::<bool>(), choices);
    (prop::sample::select(&PROFILES[..]), windows, any::<bool>(), acks, tso, gro, rules).prop_map(
        |(profile, receive_window, pacing, (ack_every, sack_ranges), tso, gro, rules)| Config {
            timestamps: rules.0,
            recovery_period: rules.1.0,
            receive_window,
            // The receiver raises every third window.
            initial_receive_window: receive_window.filter(|w| w.0 % 3 == 0).map(|w| w / 4),
            window_tuning: rules.1.1,
            pacing,
            ack_every,
            sack_ranges,
            tso,
            gro,
            ..config(profile)
        },
    )
}

/// The worst case is a window of one packet of 300 B, 500 of them: an attempt fails with a
/// probability of 0.65 (0.3 for the packet, half for its acknowledgement), and each failure doubles
/// the timeout up to a minute, so that a packet takes some 15 s on average, and all packets two
/// hours. BBR then takes the throughput for a policer's rate and keeps to it for 48 rounds of a
/// packet each. A day is enough for that.
fn patience(path: &Path) -> Duration {
    let arrive = |lost: u64| (1000 - lost) as f64 / 1000.0;
    let success = arrive(path.mishaps.loss) * arrive(path.mishaps.ack_loss);
    Duration::from_secs(if success < 0.75 { 86_400 } else { 3600 })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// All data arrive despite the impairments. An hour is enough for some dozens of consecutive
    /// timeouts of a minute, and exposes a sender that waits for ever. If an attempt fails more
    /// than once in four times, timeouts come one after another: see [`patience`].
    #[test]
    fn everything_arrives_once_and_in_order(
        path in paths(),
        config in configs(),
        writes in prop::collection::vec(1_u64..30_000, 1..6),
    ) {
        for name in controllers() {
            transfer(name, config.clone(), path, &writes, patience(&path));
        }
    }
}

/// Without impairments the sender retransmits no packet: 1 MB at 20 Mbit/s takes 0.4 s, and slow
/// start from ten packets (rounds of 10, 20, 40, ... packets fill the path's 100 in four) some
/// 40 ms a round trip more.
#[test]
fn a_clean_path_needs_no_retransmission() {
    for (name, profile) in controllers().flat_map(|n| PROFILES.map(|p| (n, p))) {
        let path = Path { limit: 100_000, ..clean(1) };
        // LEDBAT++ starts slowly over a short path (gain 1/16), and then has one slowdown.
        let network = transfer(name, config(profile), path, &[1_000_000], ms(5000));
        assert_eq!(network.sender.stats().retransmitted, 0, "{name} {profile:?}");
        assert_eq!(network.sender.stats().lost, 0, "{name} {profile:?}");
    }
}

/// The loss of one packet in a hundred causes hardly more than one retransmission each (twice as
/// many allows for tail loss probes), and at most three timeouts.
#[test]
fn random_loss_is_repaired_without_timeouts() {
    for (name, profile) in controllers().flat_map(|n| PROFILES.map(|p| (n, p))) {
        let mishaps = Mishaps { loss: 10, ..Mishaps::default() };
        let path = Path { mishaps, ..clean(7) };
        // LoLa has CUBIC's growth without its Reno-friendly region: some 3 packets a round trip of
        // 40 ms at this loss, which takes a minute (RFC 9438 section 5.2).
        let bound = Duration::from_secs(180);
        let network = transfer(name, config(profile), path, &[3_000_000], bound);
        let stats = network.sender.stats();
        assert!(stats.retransmitted >= network.fate.lost, "{name} {profile:?}: {stats:?}");
        assert!(stats.retransmitted <= 2 * network.fate.lost, "{name} {profile:?}: {stats:?}");
        assert!(stats.timeouts <= 3, "{name} {profile:?}: {stats:?}");
    }
}

/// A flood into a queue of 33,000 packets that loses every other one: tens of thousands of gaps. If
/// this ends in seconds, no acknowledgement's cost is proportional to the window.
#[test]
fn tens_of_thousands_of_holes() {
    for profile in PROFILES {
        let mishaps = Mishaps { loss: 500, ..Mishaps::default() };
        let path =
            Path { delay: ms(100), rate: Rate(10_000_000_000), limit: 100_000, mishaps, seed: 3 };
        let algorithm = sojourn_cc::find("ideal").expect("a registered controller");
        assert!(algorithm.info.needs.signal);
        let mut network = Network::new("ideal", config(profile), path);
        let signal = sojourn_cc::Signal { rate: Rate(5_000_000_000) };
        network.sender.on_signal(Instant::ZERO, signal);
        network.sender.write(66_000_000);
        network.run(Instant::ZERO + Duration::from_secs(300));
        assert_eq!(network.receiver.in_order_bytes(), 66_000_000);
        assert!(network.fate.lost > 33_000, "{:?}", network.fate);
    }
}

/// The same seed gives the same run.
#[test]
fn runs_repeat_exactly() {
    let mishaps = Mishaps { loss: 50, reorder: 50, reorder_by: ms(9), ..Mishaps::default() };
    let run = || {
        let path = Path { mishaps, ..clean(11) };
        let network =
            transfer("cubic", config(Profile::Tcp), path, &[500_000], Duration::from_secs(600));
        (network.now, network.sender.stats(), network.fate)
    };
    assert_eq!(run(), run());
}
