//! Errors and confusions over all cases.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Case, Named};

/// Cases that are listed for a figure, the worst first.
const WORST: usize = 8;

/// All figures, of each place and of all.
pub(crate) fn summary(cases: &[Case]) -> Value {
    let mut places: Vec<&str> = cases.iter().map(|case| case.place.as_str()).collect();
    places.sort_unstable();
    places.dedup();
    let mut all = serde_json::Map::new();
    for place in places.iter().copied().chain(["all"]) {
        let own: Vec<&Case> =
            cases.iter().filter(|case| place == "all" || case.place == place).collect();
        all.insert(place.to_owned(), of_place(&own));
    }
    Value::Object(all)
}

fn of_place(cases: &[&Case]) -> Value {
    let clear: Vec<&Case> = cases.iter().copied().filter(|case| case.is_clear).collect();
    let mut names: Vec<&'static str> =
        clear.iter().flat_map(|case| case.figures.iter().map(|one| one.name)).collect();
    names.sort_unstable();
    names.dedup();
    let figures: serde_json::Map<String, Value> =
        names.into_iter().map(|name| (name.to_owned(), figure(&clear, name))).collect();
    let controllers = |is_wanted: &dyn Fn(&Named) -> bool| {
        let own = clear.iter().flat_map(|case| case.controllers.iter().map(|one| (*case, one)));
        names_found(own.filter(|(_, one)| is_wanted(one)))
    };
    let queues = clear.iter().filter_map(|case| Some((*case, case.queue.as_ref()?)));
    let mut seconds: Vec<f64> = clear.iter().map(|case| case.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    json!({
        "cases": cases.len(),
        "clear": clear.len(),
        "figures": figures,
        "controllers": controllers(&|_| true),
        "controllers_of_clear_flows": controllers(&|one| one.is_clear),
        "queues": names_found(queues),
        "seconds_median": seconds.get(seconds.len() / 2),
        "seconds_most": seconds.last(),
    })
}

fn figure(cases: &[&Case], name: &str) -> Value {
    let own = || {
        let named = |case: &&'_ Case| case.figures.iter().any(|one| one.name == name);
        cases.iter().copied().filter(named)
    };
    let get = |case: &Case| {
        let one = case.figures.iter().find(|one| one.name == name);
        one.map_or((None, f64::NAN), |one| (one.error, one.plain))
    };
    let mut known: Vec<(f64, f64, u64, String)> = own()
        .filter_map(|case| Some((get(case).0?, get(case).1, case.number, case.place.clone())))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = own().count();
    let mut plain: Vec<f64> = known.iter().map(|one| one.1.abs()).collect();
    plain.sort_by(f64::total_cmp);
    let at = |q: f64| plain.get((q * plain.len() as f64) as usize).copied();
    let wrong = known.iter().filter(|one| one.0 > 2.0).count();
    let worst = known.iter().rev().take(WORST);
    let unsure: Vec<String> = own()
        .filter(|case| get(case).0.is_none())
        .map(|case| format!("{} {}", case.number, case.place))
        .collect();
    json!({
        "n": all,
        "median": at(0.5),
        "p90": at(0.9),
        "p95": at(0.95),
        "wrong": share(wrong, all),
        "unsure": share(all - known.len(), all),
        "worst": worst.map(|one| format!("{} {}: {:.4}", one.2, one.3, one.1)).collect::<Vec<_>>(),
        "unsure_cases": unsure,
    })
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

fn names_found<'a>(all: impl Iterator<Item = (&'a Case, &'a Named)>) -> Value {
    let mut matrix: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let (mut right, mut total, mut sure, mut sure_wrong) = (0, 0, 0, 0);
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (case, one) in all {
        let is_right = one.truth == one.found;
        total += 1;
        right += usize::from(is_right);
        sure += usize::from(one.is_sure);
        sure_wrong += usize::from(one.is_sure && !is_right);
        *matrix.entry(&one.truth).or_default().entry(&one.found).or_default() += 1;
        if !is_right {
            let key = format!("{} as {}", one.truth, one.found);
            wrong.entry(key).or_default().push(format!("{} {}", case.number, case.place));
        }
    }
    wrong.values_mut().for_each(|cases| cases.truncate(WORST));
    json!({
        "n": total,
        "right": share(right, total),
        "sure": share(sure, total),
        "sure_but_wrong": share(sure_wrong, total),
        "matrix": matrix,
        "wrong": wrong,
    })
}

/// The main figures in lines.
pub(crate) fn print(all: &Value) {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    for (place, own) in all.as_object().into_iter().flatten() {
        println!("{place}: {} of {} cases are clear", own["clear"], own["cases"]);
        for (name, one) in own["figures"].as_object().into_iter().flatten() {
            println!(
                "  {name:9} n {:4} median {:.4} p90 {:.4} p95 {:.4} wrong {:.3} unsure {:.3}",
                one["n"],
                number(&one["median"]),
                number(&one["p90"]),
                number(&one["p95"]),
                number(&one["wrong"]),
                number(&one["unsure"])
            );
            if place == "all" {
                println!("    worst {}", one["worst"]);
            }
        }
        for key in ["controllers", "controllers_of_clear_flows", "queues"] {
            let one = &own[key];
            println!(
                "  {key}: n {} right {:.3} sure {:.3} sure but wrong {:.3}",
                one["n"],
                number(&one["right"]),
                number(&one["sure"]),
                number(&one["sure_but_wrong"])
            );
        }
        if place == "all" {
            for key in ["controllers", "queues"] {
                for (names, cases) in own[key]["wrong"].as_object().into_iter().flatten() {
                    println!("    {names}: {cases}");
                }
            }
        }
        println!("  seconds: median {} most {}", own["seconds_median"], own["seconds_most"]);
    }
}
