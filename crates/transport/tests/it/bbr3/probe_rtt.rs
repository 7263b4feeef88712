//! ProbeRTT: appendix A.10 and A.11.

use sojourn_units::{Duration, Instant};

use super::path::{Path, between, goodput, ms, share};
use super::{CYCLE, RATE, RTT, changes};

#[test]
fn a_10_probe_rtt_comes_and_goes() {
    let mut path = Path::new(RATE, RTT, 10.0);
    path.run_to("probe_bw_cruise", CYCLE);
    let cwnd = path.view().cwnd;
    path.run_to("probe_rtt", CYCLE);
    let begin = path.row();
    assert_eq!((begin.view.pacing_gain, begin.view.cwnd_gain), (1_000, 500));
    // Five seconds after the last lower round-trip time; the value is updated with the
    // acknowledgement that finds it expired.
    let least = path.rows.iter().filter_map(|r| r.view.probe_rtt_min_delay).min().unwrap();
    let seen = path.rows.iter().find(|r| r.view.probe_rtt_min_delay == Some(least)).unwrap();
    let age = begin.now.since(seen.now);
    assert!(age > Duration::from_secs(5) && age < Duration::from_secs(5) + ms(2), "{age}");
    path.run_until(CYCLE, |p| p.state() != "probe_rtt");
    let end = path.row();
    // Until half a bandwidth-delay product is in flight, then 200 ms and a round.
    let held = |r: &&super::Row| r.now >= begin.now && r.in_flight <= r.view.bdp / 2;
    let low = path.rows.iter().find(held).unwrap();
    let span = end.now.since(low.now);
    assert!(span >= ms(199) && span <= ms(200) + RTT, "{span}");
    assert!(end.view.round_count > low.view.round_count);
    assert_eq!(end.view.state, "probe_bw_cruise");
    assert!(end.view.full_bw_reached && end.view.cwnd >= cwnd);
    // After the round trip in which the pipe fills again.
    path.run_for(ms(500));
    let again = between(&path.rows, end.now + RTT * 2, path.now);
    assert!(share(goodput(again), RATE) > 0.97, "{}", goodput(again));
}

#[test]
fn a_11_idleness_spares_probe_rtt() {
    let mut path = Path::new(RATE, RTT, 10.0);
    path.run_to("probe_bw_cruise", CYCLE);
    path.pause();
    path.wait(Duration::from_secs(6));
    let idle = path.row();
    assert_eq!(idle.in_flight.0, 0);
    assert!(!idle.view.idle_restart);
    path.resume();
    let restarted = path.row().view;
    assert!(restarted.idle_restart);
    // Section 5.4.1: at exactly the bandwidth, less the margin of 1 %.
    assert_eq!(
        restarted.pacing_rate.0,
        restarted.bw.0 / 100 * 99 + restarted.bw.0 % 100 * 99 / 100
    );
    let from = path.rows.len();
    path.run_for(Duration::from_secs(4));
    assert!(path.rows[from..].iter().all(|r| r.view.state != "probe_rtt"));
    // The round-trip time measured during the idle period is valid for the next five seconds; a
    // flow that was never idle enters ProbeRTT in that time.
    let mut busy = Path::new(RATE, RTT, 10.0);
    busy.run_until(CYCLE, |p| p.now >= Instant::ZERO + Duration::from_secs(6));
    assert!(changes(&busy.rows).iter().any(|r| r.view.state == "probe_rtt"));
}
