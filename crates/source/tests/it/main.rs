//! Every source, driven by random deliveries.

use proptest::prelude::*;
use sojourn_params::{Kind, Params, Value};
use sojourn_source::{Action, Carrier, Info, Source, Spec, infos};
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
        Kind::Number(..) | Kind::Switch(_) => kind.default_value(),
    }
}

fn params(info: &Info, draws: &[u64]) -> Params {
    let mut params = Params::empty();
    let mut excluded = false;
    for (place, param) in info.params.iter().enumerate() {
        let draw = draws[place];
        let is_optional = info.optional.contains(&param.name);
        let is_exclusive = info.exclusive.is_some_and(|(a, b)| [a, b].contains(&param.name));
        if is_optional && (draw.is_multiple_of(2) || is_exclusive && excluded) {
            continue;
        }
        excluded |= is_exclusive;
        params.set(info.params, param.name, value(&param.kind, draw)).expect("it is in range");
    }
    params
}

fn specs() -> impl Strategy<Value = Spec> {
    let infos: Vec<&'static Info> = infos().collect();
    (prop::sample::select(infos), prop::collection::vec(0_u64..1_000_000, 8))
        .prop_map(|(info, draws)| Spec::new(info.name, params(info, &draws)).expect("it is listed"))
}

/// Actions of a source in a run.
#[derive(Debug, Default, PartialEq)]
struct Log {
    written: Vec<(Instant, u64)>,
    requested: u64,
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
        let transfers = source.transfers();
        if spec.carrier() != Carrier::ConnectionOrUdp && spec.carrier() != Carrier::Echo {
            prop_assert_eq!(transfers.completed, log.deliveries);
        }
        if let (Some(target), Carrier::Connection) = (source.target(), spec.carrier()) {
            let written: u64 = log.written.iter().map(|(_, bytes)| bytes).sum();
            // At most one file is still to be written.
            prop_assert!(written == target || written + spec.bytes_in(MSS, Duration(1)).0 == target);
        }
        if let Some(of_requests) = source.request_target(log.deliveries) {
            prop_assert!(log.requested <= of_requests);
        }
        if spec.carrier() == Carrier::ConnectionOrUdp {
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
        let exclusive = info.exclusive.map(|(first, second)| [first, second]);
        let named = info.optional.iter().copied().chain(exclusive.into_iter().flatten());
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
