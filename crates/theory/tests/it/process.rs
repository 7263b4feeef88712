//! Random capacity: it follows the models, and a fit recovers them.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_theory::capacity::means;
use sojourn_theory::process::{Chain, Fit, FitError, MOST_STEPS, Process, autocorrelation};
use sojourn_units::{Duration, Instant, Rate};

const STRETCH: Duration = Duration::from_millis(10);

fn at(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

fn seeded(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

/// Duration of each rate up to `until`, in seconds.
fn spans(steps: &[(Instant, Rate)], until: Instant) -> Vec<(Rate, f64)> {
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([until]);
    steps.iter().zip(ends).map(|((at, rate), end)| (*rate, end.since(*at).as_secs_f64())).collect()
}

/// Rayleigh fading: the ratio is below a level A with probability 1 - exp(-A / rho), and
/// falls below it sqrt(2 pi A / rho) f exp(-A / rho) times per second.
#[test]
fn wifi_is_as_often_at_each_rate_as_rayleigh_has_it() {
    let wifi = Process::published("wifi", &given(&[("snr", "15"), ("doppler", "6")])).unwrap();
    let until = at(20_000);
    let steps = wifi.steps(&mut seeded(1), until);
    let spans = spans(&steps, until);
    for (rate_kbit, db, lower) in [(6_500, 4.0, 0), (26_000, 12.0, 19_500), (65_000, 22.0, 58_500)]
    {
        let level = f64::powf(10.0, (db - 15.0) / 10.0);
        let below = 1.0 - f64::exp(-level);
        let time: f64 =
            spans.iter().filter(|(rate, _)| *rate < Rate(1000 * rate_kbit)).map(|s| s.1).sum();
        let crossings = f64::sqrt(2.0 * std::f64::consts::PI * level) * 6.0 * f64::exp(-level);
        let ups = steps
            .windows(2)
            .filter(|pair| pair[0].1 == Rate(1000 * lower) && pair[1].1 == Rate(1000 * rate_kbit));
        // The time below is a sum of visits: with n crossings, each twice as uncertain as
        // an exponential, a relative error of about 2 / sqrt(n); four standard deviations.
        let n = crossings * 20_000.0;
        let (time, ups) = (time / 20_000.0, ups.count() as f64 / 20_000.0);
        assert!((time / below - 1.0).abs() < 8.0 / n.sqrt(), "{rate_kbit}: {time}, not {below}");
        assert!(
            (ups / crossings - 1.0).abs() < 8.0 / n.sqrt(),
            "{rate_kbit}: {ups}, not {crossings}"
        );
    }
    // Only to the neighbours (the last step is the mean that follows).
    let rates: Vec<u64> = [0, 6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000]
        .map(|kbit| 1000 * kbit)
        .into();
    let place = |rate: Rate| rates.iter().position(|known| *known == rate.0).unwrap();
    let moves = steps[..steps.len() - 1].windows(2);
    assert!(moves.into_iter().all(|pair| place(pair[0].1).abs_diff(place(pair[1].1)) == 1));
}

/// Away from both ends a tick's change has mean 0 and variance sigma^2 times the tick; an
/// outage lasts 1 / escape seconds on average.
#[test]
fn cellular_is_brownian_with_outages() {
    let cellular = Process::published("cellular", &[]).unwrap();
    let until = at(20_000);
    let steps = cellular.steps(&mut seeded(2), until);
    let inner = |rate: Rate| rate.0 > 3_000_000 && rate.0 < 9_000_000;
    let changes: Vec<f64> = steps[..steps.len() - 1]
        .windows(2)
        .filter(|pair| inner(pair[0].1))
        .map(|pair| pair[1].1.as_f64() - pair[0].1.as_f64())
        .collect();
    let count = changes.len() as f64;
    let mean = changes.iter().sum::<f64>() / count;
    let variance = changes.iter().map(|change| change * change).sum::<f64>() / count;
    // Sprout's 200 packets per root second, of 12 kbit, over 20 ms.
    let expected = 2.4e6 * f64::sqrt(0.020);
    // Four standard deviations of a mean, and of a variance (2 / n), of normal values.
    assert!(mean.abs() < 4.0 * expected / count.sqrt(), "mean {mean}");
    let off = variance / (expected * expected) - 1.0;
    assert!(off.abs() < 4.0 * f64::sqrt(2.0 / count), "variance off by {off}");
    assert!(steps.iter().all(|(_, rate)| *rate <= Rate::from_mbit(12)));
    let is_out: Vec<bool> = steps[..steps.len() - 1].iter().map(|(_, rate)| rate.0 == 0).collect();
    let stays = is_out.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
    let ends = is_out.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
    // An escape within a tick of 20 ms, at one per second.
    let leaves = 1.0 - f64::exp(-0.020);
    let spread = f64::sqrt(leaves / (stays + ends));
    assert!((ends / (stays + ends) - leaves).abs() < 4.0 * spread, "{ends} of {stays}");
}

#[test]
fn the_same_seed_gives_the_same_capacity() {
    for name in ["wifi", "cellular"] {
        let process = Process::published(name, &[]).unwrap();
        let [first, again, other] = [7, 7, 8].map(|seed| process.steps(&mut seeded(seed), at(30)));
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert!(first.is_sorted_by(|a, b| a.0 < b.0), "{name}");
        assert_eq!((first[0].0, first.last().unwrap().0), (at(0), at(30)));
        assert!(first.last().unwrap().1 > Rate::ZERO);
    }
}

/// The length of a process is known before it is generated.
#[test]
fn too_much_capacity_is_refused_with_what_can_be_had() {
    let process = |name, pairs: &[(&str, &str)]| Process::published(name, &given(pairs)).unwrap();
    let fine = process("cellular", &[("tick", "100us")]);
    let said = fine.check_length(at(24 * 3600)).unwrap_err().to_string();
    assert!(said.contains("changes 10000 times a second is 8.640e8 steps"), "{said}");
    assert!(said.contains("a duration of 500s, or steps that last longer"), "{said}");
    assert_eq!(fine.check_length(at(500)), Ok(()));
    // A day of Sprout's own model.
    assert_eq!(process("cellular", &[]).check_length(at(24 * 3600)), Ok(()));
    let fast = process("wifi", &[("doppler", "10000")]);
    let longest = fast.check_length(at(24 * 3600)).unwrap_err().longest;
    assert_eq!(fast.check_length(Instant::ZERO + longest), Ok(()));
    // Fading is random: at some 80,000 changes per second, the number in 10 s is within
    // five times the root of its mean.
    let made = fast.steps(&mut seeded(6), at(10)).len() as f64;
    let mean = 10.0 * fast.changes_a_second();
    assert!((made - mean).abs() < 5.0 * mean.sqrt(), "{made} for {mean}");
}

#[test]
fn a_fit_of_too_many_stretches_is_refused() {
    let steps = [(at(0), Rate::from_mbit(10)), (at(30), Rate::from_mbit(20))];
    // A minute has six times the maximum number of steps.
    let stretch = Duration(at(60).0 / MOST_STEPS / 6);
    let fit = Fit { stretch, levels: 2, until: at(1), delay: STRETCH };
    let found = fit.of(&steps, at(60), &mut seeded(1));
    assert!(matches!(found, Err(FitError::TooLong(_))), "{found:?}");
    let found = Fit { until: at(60), ..fit }.of(&steps, at(1), &mut seeded(1));
    assert!(matches!(found, Err(FitError::TooLong(_))), "{found:?}");
}

#[test]
fn refuses_what_is_no_process() {
    for (name, pairs, expected) in [
        ("lte", &[][..], "there is no process `lte`; there are: wifi, cellular"),
        ("wifi", &[("sigma", "1")], "there is no parameter `sigma`; there are: snr, doppler"),
        ("wifi", &[("doppler", "0")], "`doppler` is 0; it must be 0.01 to 10000"),
        ("wifi", &[("snr", "20dB")], "`snr`: 20dB is not a number"),
        ("cellular", &[("sigma", "3")], "`sigma`: `3` is not a rate"),
        ("cellular", &[("tick", "0ms")], "`tick` is 0s; it must be 100us to 10s"),
    ] {
        let said = Process::published(name, &given(pairs)).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

/// A known chain of three rates.
fn known() -> Chain {
    Chain {
        stretch: STRETCH,
        rates: vec![Rate::ZERO, Rate::from_mbit(10), Rate::from_mbit(40)],
        shares: vec![0.2, 0.4, 0.4],
        moves: vec![vec![0.8, 0.2, 0.0], vec![0.1, 0.8, 0.1], vec![0.0, 0.1, 0.9]],
    }
}

/// The fit to a chain's output is that chain.
#[test]
fn a_fit_finds_the_chain_again() {
    let until = at(2_000);
    let steps = Process::Chain(known()).steps(&mut seeded(3), until);
    let count = 200_000;
    let found = Chain::fit(&means(&steps, until, count), STRETCH, 3).unwrap();
    assert_eq!(found.rates, known().rates);
    for (row, (ours, theirs)) in found.moves.iter().zip(known().moves).enumerate() {
        // Each transition from n visits is a Bernoulli trial: four standard deviations.
        let visits = found.shares[row] * count as f64;
        for (found, known) in ours.iter().zip(theirs) {
            let spread = f64::sqrt(known * (1.0 - known) / visits);
            assert!(
                (found - known).abs() <= 4.0 * spread + 1e-12,
                "row {row}: {found}, not {known}"
            );
        }
    }
}

/// On a ring, rows sum to 1, the shares are stationary, and the mean is that of the
/// capacity.
#[test]
fn a_fit_keeps_shares_and_mean() {
    let until = at(600);
    for name in ["wifi", "cellular"] {
        let steps = Process::published(name, &[]).unwrap().steps(&mut seeded(4), until);
        let values = means(&steps, until, 60_000);
        for levels in [2, 5, 16, 64] {
            let chain = Chain::fit(&values, STRETCH, levels).unwrap();
            let total: f64 = chain.shares.iter().sum();
            assert!((total - 1.0).abs() < 1e-9);
            for (place, share) in chain.shares.iter().enumerate() {
                let row: f64 = chain.moves[place].iter().sum();
                let kept: f64 =
                    chain.shares.iter().zip(&chain.moves).map(|(s, row)| s * row[place]).sum();
                assert!((row - 1.0).abs() < 1e-9 && (kept - share).abs() < 1e-9, "{name} {levels}");
            }
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            // A level's rate is rounded to a bit/s.
            assert!((chain.mean() - mean).abs() < 1.0, "{name} {levels}: {mean}");
            assert!(chain.rates.is_sorted() && chain.rates.len() <= levels);
        }
    }
}

#[test]
fn refuses_what_cannot_be_fitted() {
    let flat = vec![5e6; 1_000];
    assert_eq!(Chain::fit(&flat, STRETCH, 4), Err(FitError::Constant { stretch: STRETCH }));
    assert_eq!(Chain::fit(&flat, STRETCH, 1), Err(FitError::Levels { levels: 1 }));
    let short = Chain::fit(&flat[..100], STRETCH, 4);
    let least = 160;
    assert_eq!(short, Err(FitError::Short { stretches: 100, stretch: STRETCH, levels: 4, least }));
}

#[test]
fn autocorrelation_by_hand() {
    assert_eq!(autocorrelation(&[1.0, -1.0, 1.0, -1.0], 1), -1.0);
    assert_eq!(autocorrelation(&[1.0, -1.0, 1.0, -1.0], 2), 1.0);
    assert_eq!(autocorrelation(&[3.0, 3.0], 1), 1.0);
    assert_eq!(autocorrelation(&[0.0, 1.0, 0.0, -1.0], 1), 0.0);
}

/// A chain keeps the correlation over one interval, but not over longer times.
#[test]
fn a_fit_keeps_mean_spread_and_the_next_stretch() {
    let measured = Process::Chain(known()).steps(&mut seeded(5), at(1_000));
    let fit = Fit { stretch: STRETCH, levels: 3, until: at(1_000), delay: STRETCH };
    let found = fit.of(&measured, at(1_000), &mut seeded(6)).unwrap();
    let (ours, theirs) = (found.made, found.measured);
    // Autocorrelation 0.78 per interval, determined from two runs of this length: a tenth
    // of the 100,000 intervals are independent. Four deviations of either: 6 %.
    assert!((ours.mean_bps / theirs.mean_bps - 1.0).abs() < 0.06, "{ours:?} {theirs:?}");
    assert!((ours.deviation_bps / theirs.deviation_bps - 1.0).abs() < 0.06, "{ours:?} {theirs:?}");
    assert!((ours.autocorrelation - theirs.autocorrelation).abs() < 0.02, "{ours:?} {theirs:?}");
    assert!(theirs.autocorrelation > 0.5, "{theirs:?}");
    assert_eq!(found.steps.last().unwrap().0, at(1_000));
}
