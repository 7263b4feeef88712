use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use sojourn_theory::mitigations::{Row, Settings, table};
use sojourn_theory::shared::{arrivals, growth, shared};
use sojourn_theory::spike::per_user;
use sojourn_units::{Duration, Rate};

use crate::errors::value_error;

/// The bound on a latency spike, as JSON. `flows` are loop delays, each with its share; `users` are
/// those of a fair queue, before and after; `mitigations` are settings of their table, `None` for
/// no table.
#[pyfunction]
#[pyo3(signature = (from_, to, flows, max_queue = None, users = None, mitigations = None, course = false))]
pub(crate) fn theory_spike(
    from_: &str,
    to: &str,
    flows: Vec<(String, f64)>,
    max_queue: Option<&str>,
    users: Option<(u64, u64)>,
    mitigations: Option<Vec<(String, String)>>,
    course: bool,
) -> PyResult<String> {
    let (from, to): (Rate, Rate) =
        (from_.parse().map_err(value_error)?, to.parse().map_err(value_error)?);
    let flows =
        flows.iter().map(|(delay, share)| Ok((*share, delay.parse().map_err(value_error)?)));
    let flows: Vec<(f64, Duration)> = flows.collect::<PyResult<_>>()?;
    let max_queue = max_queue.map(str::parse).transpose().map_err(value_error)?;
    // All users' shares in one unit, as integers.
    let (unit, (from, to)) = match users {
        Some(users) => {
            (users.0 as f64 * users.1 as f64, per_user(from, to, users).map_err(value_error)?)
        }
        None => (1.0, (from, to)),
    };
    let bound = shared(from, to, &flows, max_queue).map_err(value_error)?;
    let mut answer = Map::new();
    answer.insert("r".into(), bound.r.into());
    answer.insert("delay_s".into(), bound.delay.as_secs_f64().into());
    answer.insert("spike_s".into(), bound.spike.as_secs_f64().into());
    answer.insert("lost_fraction".into(), bound.lost_fraction.into());
    answer.insert("time_to_peak_s".into(), bound.time_to_peak.as_secs_f64().into());
    if let Some(given) = mitigations {
        let mut settings = Settings::examples(bound.delay);
        settings.users = settings.users.filter(|_| users.is_none());
        given.iter().try_for_each(|(name, text)| settings.set(name, text)).map_err(value_error)?;
        let rows = table(from, to, bound.delay, &settings).map_err(value_error)?;
        answer.insert("mitigations".into(), rows.iter().map(row).collect());
    }
    if course {
        let sent = arrivals(from, to, &flows).map_err(value_error)?;
        let sent = sent.iter().map(|(t, rate)| json!([t, rate / unit]));
        let queue = growth(from, to, &flows, max_queue).map_err(value_error)?;
        answer.insert("arrivals".into(), sent.collect());
        answer.insert("queue".into(), queue.iter().map(|(t, delay)| json!([t, delay])).collect());
        let rates = [from, to].map(|rate| rate.as_f64() / unit);
        answer.insert("capacity_bps".into(), json!(rates));
    }
    Ok(Value::from(answer).to_string())
}

fn row(row: &Row) -> Value {
    json!({
        "name": row.name,
        "setting": row.setting,
        "before_s": row.before.as_secs_f64(),
        "after_s": row.after.as_secs_f64(),
    })
}
