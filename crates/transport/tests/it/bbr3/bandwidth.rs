//! Varying, low, policed and aggregated bandwidth: appendix A.13 to A.17.

use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Rate};

use super::path::{MSS, Path, Policer, between, goodput, ms, share};
use super::{CYCLE, RATE, RTT, Row, deep};

const SECOND: Duration = Duration::from_secs(1);

fn packets(bytes: Bytes) -> u64 {
    bytes.0 / MSS.0
}

#[test]
fn a_13_cruising_keeps_the_rate_through_aggregation() {
    let mut path = deep();
    path.run_to("probe_bw_cruise", CYCLE);
    let before = path.view();
    // So far the only aggregation is one acknowledgement for every two packets.
    assert!(before.extra_acked <= MSS * 4, "{}", before.extra_acked);
    path.ack_grid = ms(20);
    let bunch = RATE.bytes_in(ms(20));
    path.run_for(SECOND);
    let during = path.view();
    assert_eq!(during.state, "probe_bw_cruise");
    assert!((bunch - MSS..=bunch * 2).contains(&during.extra_acked), "{}", during.extra_acked);
    // The window is two BDP plus the aggregated acknowledgements.
    assert!(during.cwnd >= during.bdp * 2 + during.extra_acked, "{during:?}");
    let settled = between(&path.rows, path.now.saturating_sub(SECOND / 2), path.now);
    assert!(share(goodput(settled), RATE) > 0.97, "{}", goodput(settled));
    // Without aggregation, pacing 1 % below the bandwidth takes 2 s to cancel the lead of the last
    // burst; then the window of ten round trips passes.
    path.ack_grid = Duration::from_nanos(1);
    path.run_until(SECOND * 5, |p| p.view().extra_acked <= MSS * 6);
}

/// A packet takes 116 ms, so that the 2 ms of delay hold a sixtieth of a packet.
#[test]
fn a_14_a_path_of_less_than_a_packet_has_a_window_of_four() {
    let rate = Rate(100_000);
    let set = [("offload_budget", Value::Integer(1))];
    let mut path = Path::with(rate, ms(2), 1.0, &set);
    path.buffer = MSS * 100;
    path.run_to("probe_bw_cruise", Duration::from_secs(60));
    let begin = path.now;
    path.run_for(Duration::from_secs(60));
    let settled = between(&path.rows, begin, path.now);
    assert!(settled.iter().all(|r| r.view.cwnd >= MSS * 4 && r.view.max_inflight >= MSS * 4));
    // Half a BDP is less than four packets: here the minimum window applies.
    let dips: Vec<_> = settled.iter().filter(|r| r.view.state == "probe_rtt").collect();
    assert!(dips.iter().any(|r| r.view.cwnd == MSS * 4));
    let cruising = settled.iter().filter(|r| r.view.state == "probe_bw_cruise");
    let paces = |r: &Row| (0.98..=1.0).contains(&share(r.view.pacing_rate, rate));
    assert!(cruising.clone().count() > 100 && cruising.clone().all(paces));
    assert!(share(goodput(settled), rate) > 0.98, "{}", goodput(settled));
}

/// A flow in ProbeBW over 10 Mbit/s whose capacity grows to `times` that now, just as the flow
/// probes. `inflight_longterm` is set.
fn widened(times: u64) -> Path {
    let slow = Rate::from_mbit(10);
    let mut path = Path::without_probe_rtt(slow, RTT, 1.0);
    path.run_to("probe_bw_up", CYCLE);
    path.run_until(CYCLE * 2, |p| {
        p.state() == "probe_bw_cruise" && p.view().inflight_longterm.is_some()
    });
    path.rate = slow * times;
    path.buffer = path.rate.bytes_in(RTT);
    path.run_to("probe_bw_up", CYCLE);
    path
}

/// Round trips until the flow has found nine tenths of the capacity.
fn rounds_to_find(path: &mut Path) -> u64 {
    let begin = path.view().round_count;
    path.run_until(CYCLE, |p| share(p.view().max_bw, p.rate) > 0.9);
    path.view().round_count - begin
}

#[test]
fn a_15_ten_times_the_bandwidth_is_found() {
    let mut path = widened(10);
    let from = path.rows.len() - 1;
    let ten = rounds_to_find(&mut path);
    // Pacing at 1.25 less 1 % takes at least ln 9 / ln 1.2375 = 11 round trips; the bound needs
    // several more to grow by more than a packet or two.
    assert!((11..=20).contains(&ten), "{ten} round trips");
    // Logarithmic growth: a hundred times the capacity takes twice as long as ten times.
    let hundred = rounds_to_find(&mut widened(100));
    assert!(hundred <= ten * 2, "{hundred} round trips, and {ten} for ten times");
    // The step doubles with each round trip that the bound limits.
    let bound = |round: u32| {
        let found = path.rows[from..].iter().find(|r| r.view.bw_probe_up_rounds == round);
        packets(found.unwrap().view.inflight_longterm.unwrap())
    };
    for round in 2..=5 {
        let grown = bound(round + 1) - bound(round);
        // 2^(n-1) packets, and one for the uneven split among the acknowledgements.
        let step = 1 << (round - 1);
        assert!((step..=step + 1).contains(&grown), "{grown} packets in round {round}");
    }
}

#[test]
fn a_16_a_tenth_of_the_bandwidth_is_accepted() {
    let (fast, slow) = (Rate::from_mbit(100), Rate::from_mbit(10));
    let mut path = Path::new(fast, RTT, 0.2);
    path.run_to("probe_bw_up", CYCLE);
    path.run_to("probe_bw_cruise", CYCLE);
    path.rate = slow;
    let change = path.row();
    // A factor of 0.7 each round trip: 0.7^6 = 0.12. Three round trips before that: for the data in
    // flight, for the queue to fill, and the round trip of the first loss.
    path.run_until(SECOND * 2, |p| p.view().bw_shortterm.is_some_and(|bw| share(bw, slow) < 1.2));
    let rounds = path.view().round_count - change.view.round_count;
    assert!(rounds <= 9, "{rounds} round trips");
    assert_eq!(path.view().max_bw, change.view.max_bw, "the long-term model waits");
    path.run_until(CYCLE * 4, |p| p.view().cycle_count == change.view.cycle_count + 2);
    path.run_for(RTT * 5);
    let max_bw = share(path.view().max_bw, slow);
    assert!((0.98..=1.05).contains(&max_bw), "max_bw is {max_bw} of the capacity");
}

/// Startup over a policed path with a bucket so large that the flow measures the link's ten times
/// the tokens. From then on a pause may save at most `bucket`. Returns the flow after twenty
/// seconds of that.
fn policed(tokens: Rate, bucket: f64) -> Path {
    let mut path = Path::new(tokens * 10, RTT, 2.0);
    path.policer = Some(Policer::new(tokens, Bytes(6_000_000)));
    path.run_until(CYCLE, |p| p.state().starts_with("probe_bw"));
    assert!(path.lost == 0 && share(path.view().max_bw, tokens) > 9.0);
    path.policer.as_mut().unwrap().bucket = bucket;
    path.run_until(SECOND, |p| p.lost > 0);
    path.run_until(SECOND, |p| {
        p.view().bw_shortterm.is_some_and(|bw| share(bw, tokens) < 1.1)
            && p.view().inflight_shortterm.is_some()
    });
    path.run_for(Duration::from_secs(20));
    path
}

/// Goodput, lost packets in thousandths of those sent, and the number of 400 intervals of 100 ms,
/// some two round trips, without loss.
fn over_forty_seconds(path: &mut Path) -> (Rate, u64, usize) {
    let begin = path.row();
    path.run_for(SECOND * 40);
    let (all, end) = (between(&path.rows, begin.now, path.now), path.row().stats);
    let (lost, sent) = (end.lost - begin.stats.lost, end.sent - begin.stats.sent);
    let is_quiet = |i: &u64| {
        let from = begin.now + ms(100) * *i;
        let rows = between(all, from, from + ms(100));
        rows[0].stats.lost == rows[rows.len() - 1].stats.lost
    };
    (goodput(all), lost * 1_000 / sent, (0..400).filter(is_quiet).count())
}

#[test]
fn a_17_a_policer_is_obeyed() {
    let tokens = Rate::from_mbit(10);
    // 30 kB are 24 ms of tokens: the average loss is below the limit for a single round trip of a
    // probe, LossThresh.
    let (rate, lost, quiet) = over_forty_seconds(&mut policed(tokens, 30e3));
    assert!(share(rate, tokens) > 0.95, "{rate}");
    assert!(lost < 20 && quiet > 350, "{lost} per thousand, {quiet} of 400 without");
    // 100 kB are two bandwidth-delay products. A probe measures more than the tokens while they
    // last, and the sender learns of losses a round trip later: 15 probes, each followed by
    // reductions to 0.7 a round trip, may affect a quarter of the time.
    let (rate, lost, quiet) = over_forty_seconds(&mut policed(tokens, 100e3));
    assert!(share(rate, tokens) > 0.95, "{rate}");
    assert!(lost < 50 && quiet > 280, "{lost} per thousand, {quiet} of 400 without");
}
