//! Every source, driven by random deliveries.

use proptest::prelude::*;
use sojourn_scenario::source::{Action, Carrier, Cdf, CdfError, Info, Source, Spec, infos};
use sojourn_units::params::{Given, Kind, Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const MSS: Bytes = Bytes(1448);

/// A value of a key that is small enough for a short run.
fn value(kind: &Kind, draw: u64) -> Value {
    match kind {
        Kind::Data(..) => Value::Data(Bytes(100 + draw % 50_000)),
        Kind::Integer(..) => Value::Integer(1 + draw % 20),
        Kind::Rate(..) => Value::Rate(Rate::from_mbit(1 + draw % 100)),
        Kind::Time(..) => Value::Time(Duration::from_millis(1 + draw % 300)),
        Kind::Choice(_, names) => Value::Choice(names[draw as usize % names.len()].to_owned()),
        Kind::Number(_, lo, hi) => Value::Number(lo + (hi - lo) * (draw % 100) as f64 / 1000.0),
        Kind::Switch(_) => kind.default_value(),
    }
}

fn params(info: &Info, draws: &[u64]) -> Params {
    let mut params = Params::empty();
    for (place, param) in info.params.iter().enumerate() {
        let draw = draws[place];
        let is_optional = param.given == Given::Optional;
        let mut pairs = info.exclusive.iter();
        let is_excluded = pairs.any(|(first, second)| {
            *second == param.name && params.has(first) || *first == param.name && params.has(second)
        });
        if is_optional && (draw.is_multiple_of(2) || is_excluded) {
            continue;
        }
        params.set(info.params, param.name, value(&param.kind, draw)).expect("it is in range");
    }
    params
}

fn specs() -> impl Strategy<Value = Spec> {
    let infos: Vec<&'static Info> = infos().collect();
    (prop::sample::select(infos), prop::collection::vec(0_u64..1_000_000, 20))
        .prop_map(|(info, draws)| Spec::new(info.name, params(info, &draws)).expect("it is listed"))
        .prop_filter("possible values", |spec| spec.fault(MSS).is_none())
        .prop_map(|spec| if spec.reads_file() { spec.with_sizes(two_sizes()) } else { spec })
}

/// A file of sizes: half of all transfers have 100 bytes, the others up to 10 kB.
fn two_sizes() -> Cdf {
    Cdf::new(vec![(100.0, 0.5), (10_000.0, 1.0)]).expect("it is valid")
}

/// Actions of a source in a run.
#[derive(Debug, Default, PartialEq)]
struct Log {
    written: Vec<(Instant, u64)>,
    requested: u64,
    transferred: Vec<(Instant, u64)>,
    deliveries: u64,
}

/// Runs a source for a second; each transfer is delivered after the next of these delays.
fn run(source: &mut dyn Source, delays: &[u64]) -> Log {
    let (mut log, mut now) = (Log::default(), Instant::ZERO);
    let mut delays = delays.iter().cycle();
    let mut due = Instant::MAX;
    loop {
        let next = source.next_at().min(due);
        assert!(next >= now, "time does not go back");
        if next > Instant::ZERO + Duration::from_secs(1) {
            return log;
        }
        now = next;
        if due <= now {
            due = Instant::MAX;
            log.deliveries += 1;
            source.on_delivered(now);
            continue;
        }
        match source.act(now) {
            Action::Write(bytes) => log.written.push((now, bytes)),
            Action::Request(bytes) => log.requested += bytes,
            Action::Transfer(bytes) => log.transferred.push((now, bytes)),
            Action::Frame { bytes, .. } => log.written.push((now, bytes)),
        }
        if source.target().is_some() {
            due = now + Duration::from_millis(*delays.next().expect("it is a cycle"));
        }
    }
}

proptest! {
    /// A source never goes back in time, its seed decides everything, it writes its target, and a
    /// paced source stays within its estimate.
    #[test]
    fn sources_keep_their_contract(
        spec in specs(),
        seed in 0_u64..100,
        delays in prop::collection::vec(1_u64..100, 1..10),
    ) {
        let mut source = spec.build(Instant::ZERO, MSS, seed);
        let log = run(&mut *source, &delays);
        prop_assert_eq!(&run(&mut *spec.build(Instant::ZERO, MSS, seed), &delays), &log);
        let most = spec.most_transfers(Duration::from_secs(1));
        prop_assert!(log.transferred.len() as u64 <= most);
        let transfers = source.transfers();
        if !spec.carrier().is_paced() {
            prop_assert_eq!(transfers.completed, log.deliveries);
        }
        if let (Some(target), Carrier::Connection) = (source.target(), spec.carrier()) {
            let written: u64 = log.written.iter().map(|(_, bytes)| bytes).sum();
            let files = log.written.iter().map(|(_, bytes)| *bytes);
            prop_assert!(files.max() <= Some(spec.bytes_in(MSS, Duration(1)).0));
            // At most one file is still to be written, before the source has begun it.
            prop_assert!(written <= target);
            prop_assert_eq!(written == target, log.written.len() as u64 > log.deliveries);
        }
        if let Some(of_requests) = source.request_target(log.deliveries) {
            prop_assert!(log.requested <= of_requests);
        }
        if matches!(spec.carrier(), Carrier::ConnectionOrUdp | Carrier::Media) {
            let sent: u64 = log.written.iter().map(|(_, bytes)| bytes).sum();
            // The packet at the start is due at once.
            prop_assert!(sent <= spec.bytes_in(MSS, Duration::from_secs(1)).0 + MSS.0);
        }
    }
}

/// Keys that a source names beside its list are in the list.
#[test]
fn listings_are_consistent() {
    for info in infos() {
        let is_declared = |name: &&str| info.params.iter().any(|param| param.name == *name);
        let exclusive = info.exclusive.iter().flat_map(|(first, second)| [*first, *second]);
        let named = info
            .params
            .iter()
            .filter(|key| key.given == Given::Optional)
            .map(|key| key.name)
            .chain(exclusive);
        assert!(named.clone().all(|name| is_declared(&name)), "{}", info.name);
    }
}

/// A count of on-off periods: 100 ms on and 100 ms off halve the rate.
#[test]
fn an_on_off_source_sends_its_share() {
    let info = infos().find(|info| info.name == "on-off").expect("it is listed");
    let mut params = Params::empty();
    let half = Value::Time(Duration::from_millis(100));
    let values = [
        ("rate", Value::Rate(Rate::from_mbit(10))),
        ("on", half.clone()),
        ("off", half),
        ("distribution", Value::Choice("periodic".into())),
    ];
    for (name, value) in values {
        params.set(info.params, name, value).expect("it is in range");
    }
    let spec = Spec::new("on-off", params).expect("it is listed");
    let log = run(&mut *spec.build(Instant::ZERO, MSS, 1), &[1]);
    let sent: u64 = log.written.iter().map(|(_, bytes)| bytes).sum();
    // Five periods of 100 ms at 10 Mbit/s are 625 kB; the last packet of each may be cut.
    assert!(sent.abs_diff(625_000) <= 6 * MSS.0, "{sent} bytes");
}

/// A source of 10 Mbit/s in transfers of 100 kB on average.
fn poisson(sizes: &str, key: Option<(&str, f64)>) -> Spec {
    let info = infos().find(|info| info.name == "poisson").expect("it is listed");
    let mut params = Params::empty();
    let values = [
        ("load", Value::Rate(Rate::from_mbit(10))),
        ("sizes", Value::Choice(sizes.into())),
        ("mean", Value::Data(Bytes(100_000))),
    ];
    let key = key.map(|(name, value)| (name, Value::Number(value)));
    for (name, value) in values.into_iter().chain(key) {
        params.set(info.params, name, value).expect("it is in range");
    }
    Spec::new("poisson", params).expect("it is listed")
}

/// In 10,000 s, 125,000 transfers of 100 kB are due: the standard deviation of their number is
/// 0.3 %, and that of exponential gaps and sizes is the mean.
#[test]
fn a_poisson_source_offers_its_load() {
    let end = Instant::ZERO + Duration::from_secs(10_000);
    for spec in [
        poisson("fixed", None),
        poisson("exponential", None),
        poisson("lognormal", Some(("sigma", 1.0))),
        poisson("pareto", Some(("shape", 3.0))),
    ] {
        let mut source = spec.build(Instant::ZERO, MSS, 1);
        let (mut count, mut bytes, mut squares, mut last) = (0_u64, 0_u64, 0.0, Instant::ZERO);
        while source.next_at() < end {
            let now = source.next_at();
            let Action::Transfer(size) = source.act(now) else { panic!("it only transfers") };
            let gap = now.since(last).as_secs_f64();
            (count, bytes, squares, last) = (count + 1, bytes + size, squares + gap * gap, now);
        }
        let (load, mean_gap) = (bytes as f64 * 8.0 / 10_000.0, 10_000.0 / count as f64);
        assert!((load / 10e6 - 1.0).abs() < 0.02, "{spec:?}: {load} bit/s");
        // The second moment of an exponential distribution is twice the square of its mean.
        let ratio = squares / count as f64 / (2.0 * mean_gap * mean_gap);
        assert!((ratio - 1.0).abs() < 0.05, "{spec:?}: {ratio}");
    }
}

#[test]
fn a_distribution_without_its_keys_is_refused() {
    assert_eq!(poisson("fixed", None).fault(MSS), None);
    let missing = poisson("pareto", None).fault(MSS).expect("it has no shape");
    assert_eq!(missing.message, "sizes = \"pareto\" needs `shape`");
    let idle = poisson("web-search", None).fault(MSS).expect("it has a mean of its own");
    assert_eq!(idle.message, "`mean` has no effect with sizes = \"web-search\"");
}

#[test]
fn a_malformed_distribution_is_refused() {
    let fault = |points: &[(f64, f64)]| Cdf::new(points.to_vec()).expect_err("it is malformed");
    assert_eq!(fault(&[]), CdfError::Empty);
    assert_eq!(fault(&[(0.0, 1.0)]), CdfError::Zero);
    assert_eq!(fault(&[(9.0, 0.5)]), CdfError::Incomplete { place: 0, share: 0.5 });
    assert_eq!(fault(&[(9.0, 1.5)]), CdfError::Share { place: 0, share: 1.5 });
    assert_eq!(fault(&[(-9.0, 1.0)]), CdfError::Size { place: 0, size: -9.0 });
    let shrinks = [(9.0, 0.5), (8.0, 1.0)];
    assert_eq!(fault(&shrinks), CdfError::Decreases { place: 1, now: 8.0, before: 9.0 });
}
