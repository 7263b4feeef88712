//! The bound for capacity that changes any number of times.

use proptest::prelude::*;
use sojourn_theory::capacity::Sender::{Draining, Matching};
use sojourn_theory::capacity::{Sender, arrivals, backlog, peak_delay, peak_delays};
use sojourn_theory::spike::spike;
use sojourn_units::{Duration, Instant, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;
const MBIT: fn(u64) -> Rate = Rate::from_mbit;

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS(ms)
}

/// Steps from `(ms, Mbit/s)`.
fn steps(points: &[(u64, u64)]) -> Vec<(Instant, Rate)> {
    points.iter().map(|(ms, mbit)| (at(*ms), MBIT(*mbit))).collect()
}

/// The peak over the whole run, equal for both senders: they differ only after the first
/// drop is known.
fn peak(points: &[(u64, u64)], delay_ms: u64) -> Duration {
    let [matching, draining] = [Matching, Draining]
        .map(|sender| peak_delay(&steps(points), MS(delay_ms), sender, Instant::ZERO, at(60_000)));
    assert_eq!(matching, draining);
    matching
}

#[test]
fn backlog_rises_for_one_loop_and_stays() {
    // An excess of 40 Mbit/s for 50 ms is 2 Mbit; then arrivals equal departures.
    let drop = steps(&[(0, 60), (1000, 20)]);
    let corners = backlog(&drop, MS(50), Matching, at(2000));
    assert_eq!(corners, [(at(0), 0.0), (at(1000), 0.0), (at(1050), 2e6), (at(2000), 2e6)]);
}

#[test]
fn backlog_rises_for_one_loop_and_drains() {
    // The 2 Mbit take 100 ms at 20 Mbit/s: the queue is empty r d after the drop.
    let drop = steps(&[(0, 60), (1000, 20)]);
    let corners = backlog(&drop, MS(50), Draining, at(2000));
    let expected = [(0, 0.0), (1000, 0.0), (1050, 2e6), (1150, 0.0), (2000, 0.0)];
    assert_eq!(corners, expected.map(|(ms, bits)| (at(ms), bits)));
    let sent = arrivals(&drop, MS(50), Draining, at(2000));
    assert_eq!(sent, steps(&[(0, 60), (1050, 0), (1150, 20)]));
}

#[test]
fn backlog_runs_empty_when_capacity_returns() {
    // After the rise at 1100 ms, 40 Mbit/s are spare for one loop: exactly the 2 Mbit.
    let dip = steps(&[(0, 60), (1000, 20), (1100, 60)]);
    let corners = backlog(&dip, MS(50), Matching, at(1200));
    let expected = [(0, 0.0), (1000, 0.0), (1050, 2e6), (1100, 2e6), (1150, 0.0), (1200, 0.0)];
    assert_eq!(corners, expected.map(|(ms, bits)| (at(ms), bits)));
    // With 100 Mbit/s it takes 2 Mbit / (80 Mbit/s), within the segment.
    let rise = steps(&[(0, 60), (1000, 20), (1100, 100)]);
    assert!(backlog(&rise, MS(50), Matching, at(1200)).contains(&(at(1125), 0.0)));
}

#[test]
fn draining_heeds_a_change_that_overtakes_it() {
    // 2 Mbit at 1050 ms, then silence. 1 Mbit is left when capacity rises to 100 Mbit/s at
    // 1100 ms. It is gone by 1110 ms, but the sender learns of the rise only at 1150 ms.
    let dip = steps(&[(0, 60), (1000, 20), (1100, 100)]);
    let sent = arrivals(&dip, MS(50), Draining, at(2000));
    assert_eq!(sent, steps(&[(0, 60), (1050, 0), (1150, 100)]));
    // 10 Mbit/s at 1100 ms instead: the remaining 1 Mbit needs 100 ms from then on.
    let worse = steps(&[(0, 60), (1000, 20), (1100, 10)]);
    let sent = arrivals(&worse, MS(50), Draining, at(2000));
    assert_eq!(sent, steps(&[(0, 60), (1050, 0), (1150, 0), (1200, 10)]));
}

#[test]
fn two_drops_add_up_unless_drained() {
    // 60 to 40 Mbit/s queues 1 Mbit, 40 to 20 Mbit/s another: 50 ms each at 20 Mbit/s.
    let drops = steps(&[(0, 60), (1000, 40), (9000, 20)]);
    let edges = [0, 8000, 10_000].map(at);
    assert_eq!(peak_delays(&drops, MS(50), Matching, &edges), [MS(25), MS(100)]);
    assert_eq!(peak_delays(&drops, MS(50), Draining, &edges), [MS(25), MS(50)]);
}

#[test]
fn the_wait_peaks_where_a_departure_meets_a_rise() {
    // B grows at 40 Mbit/s from 1000 ms. An arrival at u after the drop leaves at 20 Mbit/s
    // as long as it leaves by 1020 ms: 40u = 20 (20 ms - u), u = 6.67 ms. It waits 2u =
    // 13.33 ms; later arrivals benefit from the 120 Mbit/s.
    let peak = peak(&[(0, 60), (1000, 20), (1020, 120)], 50);
    assert_eq!(peak, Duration(13_333_333));
}

#[test]
fn an_outage_makes_its_first_arrival_wait_to_its_end() {
    // The supremum: the bit just after the start of the outage waits for all of it.
    assert_eq!(peak(&[(0, 10), (1000, 0), (1100, 100)], 50), MS(100));
    // Half the rate after it: the last bit (50 ms in) has 0.5 Mbit ahead of it, 100 ms at 5
    // Mbit/s, and 50 ms of outage left.
    assert_eq!(peak(&[(0, 10), (1000, 0), (1100, 5)], 50), MS(150));
    // Two outages without service in between count as one.
    assert_eq!(peak(&[(0, 10), (1000, 0), (1050, 0), (1100, 100)], 50), MS(100));
}

#[test]
fn capacity_that_ends_for_good_never_serves() {
    assert_eq!(peak(&[(0, 10), (1000, 0)], 50), Duration::MAX);
    // Without a loop delay no data are in flight when capacity ends.
    assert_eq!(peak(&[(0, 10), (1000, 0)], 0), Duration::ZERO);
}

#[test]
fn no_drop_no_wait() {
    assert_eq!(peak(&[(0, 20), (1000, 60), (2000, 60)], 50), Duration::ZERO);
    assert_eq!(peak(&[(0, 0), (1000, 60)], 50), Duration::ZERO);
    assert_eq!(peak(&[], 50), Duration::ZERO);
    assert_eq!(backlog(&[], MS(50), Draining, at(9)), [(at(0), 0.0), (at(9), 0.0)]);
}

#[test]
fn the_first_rate_holds_before_its_step() {
    assert_eq!(peak(&[(500, 60), (1000, 20)], 50), MS(100));
}

/// The peak with d = 50 ms, for a fall from 60 to 20 Mbit/s in 40 steps of `step_ms`.
fn ramp(step_ms: u64, sender: Sender) -> Duration {
    let down = (1..=40).map(|i| (1000 + i * step_ms, 60 - i));
    let points: Vec<_> = std::iter::once((0, 60)).chain(down).collect();
    peak_delay(&steps(&points), MS(50), sender, Instant::ZERO, at(60_000))
}

#[test]
fn a_gradual_ramp_costs_less_if_drained() {
    // Without draining, at any speed: the sum over the steps of 1 Mbit/s x 50 ms, 2 Mbit,
    // which finally waits 100 ms.
    assert_eq!([1, 10, 100].map(|ms| ramp(ms, Matching)), [MS(100); 3]);
    // Each step is drained before the next: the last one's (21/20 - 1) 50 ms.
    assert_eq!(ramp(100, Draining), Duration(2_500_000));
    // The mitigation of section IV: "more gradually will reduce Q".
    let drained = [0, 1, 2, 5, 10, 100].map(|ms| ramp(ms, Draining));
    assert_eq!(drained[0], MS(100));
    assert!(drained.is_sorted_by(|a, b| a > b), "{drained:?}");
}

#[test]
fn windows_see_only_their_arrivals() {
    let dip = steps(&[(0, 60), (1000, 20), (1100, 60)]);
    let window = |from, until| peak_delay(&dip, MS(50), Matching, at(from), at(until));
    assert_eq!(window(0, 1000), Duration::ZERO);
    // 0.8 Mbit are queued by 1020 ms: 40 ms at 20 Mbit/s.
    assert_eq!(window(0, 1020), MS(40));
    // At 1100 ms: 2 Mbit at 60 Mbit/s.
    assert_eq!(window(1100, 9000), Duration(33_333_333));
    assert_eq!(window(1200, 1020), Duration::ZERO);
    let edges = [0, 1000, 1020, 1020, 1100, 9000].map(at);
    // 1020 to 1100: the kink, 100 ms before capacity returns, at 40u = 20 (100 - u).
    let expected = [0, 40_000_000, 0, 66_666_666, 33_333_333].map(Duration);
    assert_eq!(peak_delays(&dip, MS(50), Matching, &edges), expected);
    assert_eq!(peak_delays(&dip, MS(50), Matching, &[]), []);
    // Drained from 1050 ms on, 1 Mbit is left at 1100 ms.
    assert_eq!(peak_delays(&dip, MS(50), Draining, &edges)[4], Duration(16_666_666));
}

#[test]
#[should_panic(expected = "in order of time")]
fn steps_out_of_order_are_the_callers_fault() {
    peak_delay(&steps(&[(10, 60), (5, 20)]), MS(50), Matching, at(0), at(100));
}

#[test]
fn no_rate_or_time_overflows() {
    let steps = [(Instant(0), Rate::MAX), (Instant(1 << 62), Rate(1)), (Instant::MAX, Rate(0))];
    for sender in [Matching, Draining] {
        let wait = peak_delay(&steps, Duration(1 << 62), sender, Instant::ZERO, Instant::MAX);
        assert_eq!(wait, Duration::MAX);
        backlog(&steps, Duration(1 << 62), sender, Instant::MAX);
    }
}

/// A mahimahi trace of some minutes has 10^5 changes, each with its window.
#[test]
fn a_long_trace_is_one_pass() {
    let trace: Vec<_> = (0..100_000).map(|i| (at(i), MBIT(5 + i * 7919 % 50))).collect();
    let edges: Vec<_> = (0..=100_000).map(at).collect();
    for sender in [Matching, Draining] {
        let peaks = peak_delays(&trace, MS(40), sender, &edges);
        let greatest = peak_delay(&trace, MS(40), sender, at(0), at(100_000));
        assert_eq!(peaks.iter().max(), Some(&greatest));
        assert!(greatest > Duration::ZERO);
    }
}

/// The grid of the brute-force integration.
const GRID: Duration = Duration::from_micros(10);

/// Backlog after grid steps of `capacity` (bits each) with these arrivals.
fn queued(backlog: f64, arrivals: &[f64], capacity: impl Fn(usize) -> f64) -> f64 {
    let step = |left: f64, (i, bits): (usize, &f64)| (left + bits - capacity(i)).max(0.0);
    arrivals.iter().enumerate().fold(backlog, step)
}

/// The same fluid, integrated step by step on a grid that contains all changes. Returns the
/// backlog (bits) and the wait (ns) of each point. `capacity` is in bits per grid step,
/// `delay` in grid steps.
fn integrate(capacity: &[f64], delay: usize, sender: Sender) -> Vec<(f64, f64)> {
    let (mut arrivals, mut backlogs) = (Vec::new(), vec![0.0]);
    for i in 0..capacity.len() {
        let told = i.saturating_sub(delay);
        let rate = capacity[told];
        // Recomputed at every point: the present backlog if capacity had stayed at its
        // value of a loop ago.
        let left = match sender {
            Matching => 0.0,
            Draining => queued(backlogs[told], &arrivals[told..], |_| rate),
        };
        arrivals.push((rate - left).max(0.0));
        backlogs.push(queued(backlogs[i], &arrivals[i..], |_| capacity[i]));
    }
    let last = capacity[capacity.len() - 1];
    let wait = |(i, backlog): (usize, &f64)| {
        let (mut left, mut steps) = (*backlog, 0);
        while left > *capacity.get(i + steps).unwrap_or(&last) {
            left -= capacity.get(i + steps).unwrap_or(&last);
            steps += 1;
        }
        let rest = left / capacity.get(i + steps).unwrap_or(&last);
        (*backlog, (steps as f64 + rest) * GRID.0 as f64)
    };
    backlogs.iter().enumerate().map(wait).collect()
}

/// Changes on the grid: the duration of each rate, in grid steps.
type Changes = Vec<(usize, Rate)>;

fn changes(longest: usize) -> impl Strategy<Value = Changes> {
    let rate = (1_000_000_u64..50_000_000).prop_map(Rate);
    prop::collection::vec((1..longest, rate), 1..30)
}

/// The steps of the changes, from the start of the run.
fn on_grid(changes: &Changes) -> Vec<(Instant, Rate)> {
    let mut time = Instant::ZERO;
    let mut steps = Vec::new();
    for (span, rate) in changes {
        steps.push((time, *rate));
        time += GRID * *span as u64;
    }
    steps
}

/// Bits per grid step; the last rate holds for `more` steps longer.
fn sampled(changes: &Changes, more: usize) -> Vec<f64> {
    let last = changes.last().map(|(_, rate)| (more, *rate));
    let pieces = changes.iter().copied().chain(last);
    pieces.flat_map(|(span, rate)| vec![rate.as_f64() * GRID.as_secs_f64(); span]).collect()
}

/// The maximum rate over the minimum.
fn spread(changes: &Changes) -> f64 {
    let rates = || changes.iter().map(|(_, rate)| rate.as_f64());
    rates().fold(0.0, f64::max) / rates().fold(f64::MAX, f64::min)
}

fn greatest_wait(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|(_, wait)| *wait).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn one_drop_is_equation_2(
        from in 1_000_u64..100_000_000_000, to in 1_000_u64..100_000_000_000,
        t0 in 0_u64..10_000_000_000, delay in 0_u64..2_000_000_000,
    ) {
        let (from, to, delay) = (Rate(from), Rate(to), Duration(delay));
        let steps = [(Instant::ZERO, from), (Instant(t0), to)];
        let until = Instant(t0) + delay + Duration(1);
        let expected = spike(from, to, delay, None).unwrap().spike;
        for sender in [Matching, Draining] {
            prop_assert_eq!(peak_delay(&steps, delay, sender, Instant::ZERO, until), expected);
        }
    }

    #[test]
    fn matching_agrees_with_integration(changes in changes(300), delay in 0_usize..500) {
        let steps = on_grid(&changes);
        let brute = integrate(&sampled(&changes, 2 * delay), delay, Matching);
        let until = Instant((brute.len() as u64 - 1) * GRID.0);
        for (time, bits) in backlog(&steps, GRID * delay as u64, Matching, until) {
            // Times off the grid are those at which the queue runs empty.
            let expected = match time.0.is_multiple_of(GRID.0) {
                true => brute[(time.0 / GRID.0) as usize].0,
                false => 0.0,
            };
            // Sums of up to 10^4 terms below 10^6 bits, each to 2^-53.
            prop_assert!((bits - expected).abs() < 1e-4, "{time}: {bits} not {expected}");
        }
        let peak = peak_delay(&steps, GRID * delay as u64, Matching, Instant::ZERO, until);
        let (exact, least) = (peak.0 as f64, greatest_wait(&brute));
        // The exact value is rounded down, and float errors are far below 1 ns.
        prop_assert!(least < exact + 1.1, "{least} above {exact}");
        // Between two grid points the wait rises by at most (r - 1) of the grid step.
        let most = least + (spread(&changes) - 1.0) * GRID.0 as f64 + 1.1;
        prop_assert!(exact <= most, "{exact} above {most}");
    }

    #[test]
    fn draining_agrees_with_integration(changes in changes(60), delay in 0_usize..100) {
        let steps = on_grid(&changes);
        let brute = integrate(&sampled(&changes, 2 * delay), delay, Draining);
        let until = Instant((brute.len() as u64 - 1) * GRID.0);
        let peak = peak_delay(&steps, GRID * delay as u64, Draining, Instant::ZERO, until);
        // The grid spreads the first bits after a silence over one step, and samples the
        // wait: each error is up to r steps of waiting.
        let tolerance = 2.0 * spread(&changes) * GRID.0 as f64;
        let difference = (peak.0 as f64 - greatest_wait(&brute)).abs();
        prop_assert!(difference <= tolerance, "{peak}: off by {difference} ns");
    }

    #[test]
    fn draining_never_waits_longer_than_matching(changes in changes(300), delay in 0_usize..500) {
        let (steps, until) = (on_grid(&changes), Instant(100_000_000));
        let [drained, matched] = [Draining, Matching]
            .map(|sender| peak_delay(&steps, GRID * delay as u64, sender, Instant::ZERO, until));
        prop_assert!(drained <= matched);
    }

    /// While capacity only falls, draining keeps the link busy.
    #[test]
    fn draining_keeps_the_link_busy(changes in changes(300), delay in 0_usize..500) {
        let mut changes = changes;
        changes.sort_by_key(|(_, rate)| std::cmp::Reverse(*rate));
        let delay = GRID * delay as u64;
        let (steps, until) = (on_grid(&changes), Instant(500_000_000));
        let volume = |steps: &[(Instant, Rate)]| -> u128 {
            let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([until]);
            let spans = steps.iter().zip(ends);
            spans.map(|((at, rate), end)| u128::from(rate.0) * u128::from(end.0 - at.0)).sum()
        };
        let sent = volume(&arrivals(&steps, delay, Draining, until));
        let served = volume(&steps);
        // Each silence is rounded up by less than 1 ns, at no more than 50 Mbit/s.
        prop_assert!(sent <= served);
        prop_assert!(served - sent < 50_000_000 * changes.len() as u128);
        let left = backlog(&steps, delay, Draining, until).last().unwrap().1;
        prop_assert_eq!(left, 0.0);
    }

    /// No window's peak exceeds that of the whole, and the windows cover the whole.
    #[test]
    fn windows_make_up_the_whole(changes in changes(300), cut in 0_u64..100_000_000) {
        let steps = on_grid(&changes);
        let [start, cut, end] = [0, cut, 100_000_000].map(Instant);
        let peaks = peak_delays(&steps, MS(3), Draining, &[start, cut, end]);
        let whole = peak_delay(&steps, MS(3), Draining, start, end);
        prop_assert_eq!(peaks[0].max(peaks[1]), whole);
        prop_assert_eq!(peaks[0], peak_delay(&steps, MS(3), Draining, start, cut));
    }
}
