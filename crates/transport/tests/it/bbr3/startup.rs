//! Startup: appendix A.1, A.2, A.7, A.12, A.20.

use sojourn_units::{Bytes, Duration, Rate};

use super::path::{MSS, Path, between, goodput, ms, share};
use super::{CYCLE, RATE, RTT, deep};

#[test]
fn a_01_startup_ends_on_a_bandwidth_plateau() {
    let mut path = deep();
    path.run_to("drain", CYCLE);
    let end = path.row().view;
    let bandwidth = share(end.max_bw, RATE);
    assert!((0.98..=1.02).contains(&bandwidth), "max_bw is {bandwidth} of the capacity");
    assert!(end.full_bw_now && end.full_bw_reached && end.full_bw_count == 3);
    // Each of the three rounds counts one, and no earlier round counted.
    let before: Vec<_> = path.rows.iter().filter(|r| r.view.state == "startup").collect();
    assert!(before.iter().all(|r| !r.view.full_bw_reached));
    let first = |count| before.iter().find(|r| r.view.full_bw_count == count).unwrap();
    let rounds = [1, 2].map(|count| first(count).view.round_count);
    assert_eq!([rounds[0] + 1, rounds[0] + 2], [rounds[1], end.round_count]);
}

/// A sender in Startup that its application limits to a fifth of the capacity: 35 packets a round
/// trip.
fn limited_in_startup() -> Path {
    let mut path = deep();
    path.limit_application(RATE / 5);
    path.run_for(Duration::from_secs(1));
    assert_eq!(path.state(), "startup");
    path
}

#[test]
fn a_02_startup_ends_on_loss_though_the_application_limits() {
    let mut path = limited_in_startup();
    // Build a queue first, or Drain would end with its first acknowledgement.
    path.rate = RATE / 10;
    path.run_for(ms(300));
    assert_eq!(path.state(), "startup");
    // A quarter of the packets, in at least eight ranges a round trip.
    path.drop_every = 4;
    path.run_until(Duration::from_secs(1), |p| p.state() != "startup");
    let end = path.view();
    assert_eq!(end.state, "drain");
    assert!(end.full_bw_now && end.full_bw_reached);
    assert_eq!(end.full_bw_count, 0, "no round told anything of the bandwidth");
    assert_eq!(end.undo_state, Some("startup"));
    // max(BBR.bdp, BBR.inflight_latest): at least the application's data.
    let longterm = end.inflight_longterm.expect("section 5.3.1.3 sets it");
    assert!(longterm >= end.bdp && end.bdp > MSS * 30, "{longterm} for {}", end.bdp);
}

/// Startup ends only if all three criteria of section 5.3.1.3 are met.
#[test]
fn a_02_less_loss_does_not_end_startup() {
    // 1 %, below the threshold.
    let mut rare = limited_in_startup();
    rare.drop_every = 100;
    // 12 of some 35 packets, but in one range.
    let mut burst = limited_in_startup();
    burst.drop_next = 12;
    for mut path in [rare, burst] {
        path.run_for(Duration::from_secs(3));
        assert!(path.row().stats.lost >= 8, "{:?}", path.row().stats);
        assert!(path.rows.iter().all(|r| r.view.state == "startup"));
    }
}

#[test]
fn a_07_startup_lasts_as_long_as_the_application_limits() {
    let mut path = limited_in_startup();
    path.run_for(Duration::from_secs(60));
    assert!(path.rows.iter().all(|r| r.view.state == "startup" && !r.view.full_bw_reached));
    assert_eq!(path.row().stats.lost, 0);
}

#[test]
fn a_12_startup_finds_the_bandwidth_through_aggregation() {
    // Acknowledgements arrive every 20 ms, half a round-trip time, in bursts of half a
    // bandwidth-delay product.
    let mut path = deep();
    path.ack_grid = ms(20);
    let (bdp, bunch) = (RATE.bytes_in(RTT), RATE.bytes_in(ms(20)));
    path.run_to("drain", CYCLE);
    let end = path.view();
    // The send rate limits the overestimate that bursts would cause.
    let bandwidth = share(end.max_bw, RATE);
    assert!((0.95..=1.05).contains(&bandwidth), "max_bw is {bandwidth} of the capacity");
    let startup: Vec<_> = path.rows.iter().filter(|r| r.view.state == "startup").collect();
    // At the start of an interval, a whole burst exceeds the expectation. A second burst in the
    // same round may add the amount by which the rate lagged.
    let extra = startup.iter().map(|r| r.view.extra_acked).max().unwrap();
    assert!((bunch..=bunch * 2).contains(&extra), "{extra} of {bunch}");
    let cwnd = startup.iter().map(|r| r.view.cwnd).max().unwrap();
    assert!(cwnd > bdp * 2, "{cwnd}");
    // Doubling: from a tenth of the capacity to nine tenths in at least four rounds, and in at most
    // twice as many.
    let round = |part: u64| {
        let reached = |r: &&&super::Row| r.view.max_bw.0 * 10 >= RATE.0 * part;
        startup.iter().find(reached).unwrap().view.round_count
    };
    assert!(round(9) - round(1) <= 8, "{} rounds", round(9) - round(1));
}

#[test]
fn a_20_probe_rtt_in_startup_leads_back_to_startup() {
    let mut path = Path::new(RATE, RTT, 10.0);
    path.limit_application(RATE / 5);
    path.run_to("probe_rtt", CYCLE);
    assert!(!path.view().full_bw_reached);
    path.run_until(ms(400), |p| p.state() != "probe_rtt");
    assert_eq!(path.state(), "startup");
    // The search continues from there.
    path.resume();
    path.run_to("drain", CYCLE);
    assert!(share(path.view().max_bw, RATE) > 0.98);
    path.run_for(Duration::from_secs(2));
    let settled = between(&path.rows, path.now.saturating_sub(Duration::from_secs(1)), path.now);
    assert!(goodput(settled) > Rate(RATE.0 * 95 / 100), "{}", goodput(settled));
    assert!(path.view().cwnd > Bytes::ZERO);
}
