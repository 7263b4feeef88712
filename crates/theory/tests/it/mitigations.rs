//! The closed forms of the mitigations compared with the fluid, integrated in small steps.

use sojourn_theory::mitigations::{MitigationError, Settings, forms, table};
use sojourn_theory::spike::SpikeError;
use sojourn_units::{Duration, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;
const MBIT: fn(u64) -> Rate = Rate::from_mbit;

/// A step of the integration, in milliseconds; rates are in Mbit/s, data in kbit.
const STEP: f64 = 0.005;
/// The old capacity.
const C0: f64 = 60.0;

/// A drop at 50 ms, for two seconds.
const DROP: f64 = 50.0;
const PLACES: usize = (2_000.0 / STEP) as usize;

/// The longest wait in ms under this capacity. `sent` returns the arrivals of a step, from
/// its index and the arrivals and backlogs so far.
fn longest(
    capacity: impl Fn(f64) -> f64,
    standing: f64,
    mut sent: impl FnMut(usize, &[f64], &[f64]) -> f64,
) -> f64 {
    let mut served = vec![0.0];
    let (mut arrived, mut waiting) = (vec![standing], vec![standing]);
    for k in 0..PLACES {
        let serves = capacity(k as f64 * STEP) * STEP;
        let comes = sent(k, &arrived, &waiting);
        served.push(served[k] + serves);
        arrived.push(arrived[k] + comes);
        waiting.push((waiting[k] + comes - serves).max(0.0));
    }
    // An arrival at k has left once the work that it found has been served.
    let (mut leaves, mut most) = (0, 0);
    for k in 0..=PLACES {
        let ahead = served[k] + waiting[k];
        while leaves < PLACES && served[leaves] < ahead {
            leaves += 1;
        }
        if leaves < PLACES {
            most = most.max(leaves - k.min(leaves));
        }
    }
    most as f64 * STEP
}

fn place(ms: f64) -> usize {
    (ms / STEP).round() as usize
}

fn step_to(c1: f64) -> impl Fn(f64) -> f64 {
    move |t| if t < DROP { C0 } else { c1 }
}

/// Each step may count once too often; waits grow r - 1 times as fast.
#[track_caller]
fn assert_near(form: Duration, fluid_ms: f64, r: f64, what: &str) {
    let form_ms = form.as_secs_f64() * 1e3;
    let tolerance = 3.0 * STEP * (1.0 + r);
    assert!((form_ms - fluid_ms).abs() < tolerance, "{what}: {form_ms} against {fluid_ms} ms");
}

/// r and d in ms.
const CASES: [(u64, u64); 4] = [(2, 20), (3, 50), (6, 10), (3, 100)];

#[test]
fn headroom_makes_r_less() {
    for ((r, d), share) in
        CASES.into_iter().flat_map(|case| [0.0, 0.1, 0.4, 0.9].map(|h| (case, h)))
    {
        let c1 = C0 / r as f64;
        let known = place(DROP + d as f64);
        let fluid = longest(step_to(c1), 0.0, |k, _, _| {
            STEP * if k < known { C0 * (1.0 - share) } else { c1 }
        });
        let form = forms::headroom(MBIT(60), MBIT(60 / r), MS(d), share).unwrap();
        assert_near(form, fluid, r as f64, &format!("r {r}, d {d}, headroom {share}"));
    }
}

/// The sender keeps the predicted backlog at zero, for a capacity that stays as last
/// reported.
#[test]
fn a_ramp_costs_what_falls_within_a_loop() {
    for ((r, d), ramp) in CASES.into_iter().flat_map(|case| [5, 50, 150, 700].map(|t| (case, t))) {
        let c1 = C0 / r as f64;
        let capacity = move |t: f64| C0 - (C0 - c1) * ((t - DROP) / ramp as f64).clamp(0.0, 1.0);
        let lag = place(d as f64);
        let fluid = longest(capacity, 0.0, |k, arrived, waiting| {
            let Some(then) = k.checked_sub(lag) else { return STEP * C0 };
            let loop_holds = capacity(then as f64 * STEP) * (lag + 1) as f64 * STEP;
            (loop_holds - waiting[then] - (arrived[k] - arrived[then])).max(0.0)
        });
        let form = forms::gradual(MBIT(60), MBIT(60 / r), MS(d), MS(ramp)).unwrap();
        assert_near(form, fluid, r as f64, &format!("r {r}, d {d}, ramp {ramp}"));
    }
}

/// With a warning, or with a shorter loop, arrivals change at d - w.
#[test]
fn a_warning_is_a_shorter_loop() {
    for ((r, d), warning) in CASES.into_iter().flat_map(|case| [0, 5, 20, 40].map(|w| (case, w))) {
        let c1 = C0 / r as f64;
        let known = place(DROP + d as f64 - warning as f64);
        let fluid = longest(step_to(c1), 0.0, |k, _, _| STEP * if k < known { C0 } else { c1 });
        let form = forms::early(MBIT(60), MBIT(60 / r), MS(d), MS(warning)).unwrap();
        assert_near(form, fluid, r as f64, &format!("r {r}, d {d}, warning {warning}"));
        if warning <= d {
            let near = forms::step(MBIT(60), MBIT(60 / r), MS(d - warning)).unwrap();
            assert_eq!(near, form);
        }
    }
}

/// A signal at enqueue is seen once all packets ahead have been served; a signal at
/// dequeue, at once.
#[test]
fn a_signal_at_dequeue_does_not_wait_in_the_standing_queue() {
    for ((r, d), standing) in CASES.into_iter().flat_map(|case| [0, 2, 10].map(|h| (case, h))) {
        let c1 = C0 / r as f64;
        let loop_ms = d as f64;
        for is_enqueue in [true, false] {
            let backlog = C0 * standing as f64;
            let seen = if is_enqueue { DROP + backlog / c1 } else { DROP };
            let known = place(seen + loop_ms);
            let fluid =
                longest(step_to(c1), backlog, |k, _, _| STEP * if k < known { C0 } else { c1 });
            let form = if is_enqueue { forms::at_enqueue } else { forms::at_dequeue };
            let form = form(MBIT(60), MBIT(60 / r), MS(d), MS(standing)).unwrap();
            let what = format!("r {r}, d {d}, h {standing}, {is_enqueue}");
            assert_near(form, fluid, r as f64, &what);
        }
    }
}

/// Max-min shares: at any demand of other users, r is at most the number of users, and at
/// most its value without fair queueing.
#[test]
fn fair_queueing_leaves_a_share_whatever_others_send() {
    let mut is_tight = [false, false];
    for users in 2..6_u64 {
        for others_mbit in [5.0, 20.0, 40.0, 55.0] {
            for skew in [1.0, 3.0] {
                let mut asks: Vec<f64> =
                    (1..users).map(|k| f64::powf(k as f64, skew - 1.0)).collect();
                let sum: f64 = asks.iter().sum();
                asks.iter_mut().for_each(|ask| *ask *= others_mbit / sum);
                let ours = max_min(&mut asks, C0);
                let fluid = (C0 / ours - 1.0) * 50.0;
                let to = MBIT(60 - others_mbit as u64);
                let form = forms::fair(MBIT(60), to, MS(50), users).unwrap().as_secs_f64() * 1e3;
                // The form exceeds it by rounding only, because it is the maximum.
                assert!(fluid <= form + 1e-6, "{users} users, {others_mbit}: {fluid} above {form}");
                let by_share = (C0 / ours - users as f64).abs() < 1e-9;
                is_tight[usize::from(by_share)] |= (fluid - form).abs() < 1e-6;
            }
        }
    }
    assert_eq!(is_tight, [true, true], "no case reached the bound");
}

/// The rest of `capacity` for a user that takes all it can get, beside others.
fn max_min(asks: &mut [f64], capacity: f64) -> f64 {
    asks.sort_by(f64::total_cmp);
    let mut left = capacity;
    for (place, ask) in asks.iter().enumerate() {
        let even = left / (asks.len() - place + 1) as f64;
        left -= ask.min(even);
    }
    left
}

/// 60 to 20 Mbit/s over 50 ms, by hand: 100 ms without mitigation.
#[test]
fn the_table_by_hand() {
    let mut settings = Settings::examples(MS(50));
    for (name, text) in
        [("ramp", "100ms"), ("warning", "20ms"), ("back_queue", "10ms"), ("near", "10ms")]
    {
        settings.set(name, text).unwrap();
    }
    let rows = table(MBIT(60), MBIT(20), MS(50), &settings).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.name, row.before, row.after)).collect();
    let expected = [
        ("headroom", MS(100), MS(85)),
        // 2 x 50^2 / (2 x 100).
        ("ramp", MS(100), MS(25)),
        ("warning", MS(100), MS(60)),
        ("near", MS(100), MS(20)),
        ("back_queue", MS(120), MS(100)),
        // 15 ms of queue at the new rate: 15 + 2 (50 + 15), and 15 + 2 x 50.
        ("standing", MS(145), MS(115)),
        ("users", MS(100), MS(50)),
        ("node", MS(100), MS(10)),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn refuses_what_no_mitigation_can_be() {
    let settings = Settings::examples(MS(50));
    let rise = table(MBIT(20), MBIT(60), MS(50), &settings);
    assert_eq!(rise, Err(MitigationError::NoDrop { from: MBIT(20), to: MBIT(60) }));
    let nothing = table(MBIT(20), Rate::ZERO, MS(50), &settings);
    assert_eq!(nothing, Err(SpikeError::ToZero { from: MBIT(20) }.into()));
    let far = Settings { near: MS(60), ..settings };
    let said = table(MBIT(60), MBIT(20), MS(50), &far).unwrap_err().to_string();
    assert_eq!(said, "`near` is 60ms, longer than the loop delay d = 50ms that it is to shorten");
    for (name, text, expected) in [
        ("headroom", "-0.1", "`headroom`: -0.1 is not a share of the capacity from 0 to 1"),
        ("headroom", "nan", "not a share"),
        ("headroom", "1.5", "not a share"),
        ("users", "0", "`users`: 0 is not a number of users, 1 or more"),
        ("ramp", "100", "`ramp`: `100` is not a duration"),
        ("rampe", "1ms", "there is no mitigation `rampe`; there are: headroom, ramp"),
    ] {
        let said = Settings::examples(MS(50)).set(name, text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}
