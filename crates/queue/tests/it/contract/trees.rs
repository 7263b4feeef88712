//! Random nested queues.

use proptest::prelude::*;
use sojourn_queue::{Discipline, Info, find, infos};
use sojourn_units::params::{Key, Kind, Value};
use sojourn_units::{Bytes, Rate};

/// A queue of up to `depth` levels.
pub(crate) fn tree(depth: u64) -> BoxedStrategy<Discipline> {
    let kinds = infos().iter().filter(|info| depth > 1 || info.inner.is_empty());
    let kinds: Vec<&'static Info> = kinds.copied().collect();
    prop::sample::select(kinds).prop_flat_map(move |info| of_kind(info, depth)).boxed()
}

fn of_kind(info: &'static Info, depth: u64) -> impl Strategy<Value = Discipline> {
    let inner = prop::collection::vec(tree_inside(depth), info.inner.len());
    let values: Vec<_> = info.params.iter().filter_map(value).collect();
    (inner, values).prop_map(move |(inner, values)| {
        let mut all = Discipline { inner, ..Discipline::plain(info.name).expect("it is listed") };
        for (name, value) in values {
            all.params.set(info.params, name, value).expect("an admissible parameter");
        }
        all
    })
}

fn tree_inside(depth: u64) -> BoxedStrategy<Discipline> {
    if depth > 1 { tree(depth - 1) } else { Just(plain()).boxed() }
}

fn plain() -> Discipline {
    let info = find("droptail").expect("it is listed");
    Discipline::plain(info.name).expect("it is listed")
}

/// Values of the parameters relevant to nested queues; the others have defaults.
fn value(param: &Key) -> Option<BoxedStrategy<(&'static str, Value)>> {
    let name = param.name;
    let values = match name {
        // Few, so that flows share them and a tree of them stays small.
        "flows" => (1_u64..9).prop_map(Value::Integer).boxed(),
        "ecn" => any::<bool>().prop_map(Value::Switch).boxed(),
        _ if param.is_required() && matches!(param.kind, Kind::Data(..)) => {
            (1_u64..100_000).prop_map(|bytes| Value::Data(Bytes(bytes))).boxed()
        }
        _ if param.is_required() => {
            // From seconds per packet to less than a nanosecond per byte, by magnitude.
            (4.6..11.0_f64).prop_map(|m| Value::Rate(Rate(10_f64.powf(m) as u64))).boxed()
        }
        _ => return None,
    };
    Some(values.prop_map(move |value| (name, value)).boxed())
}
