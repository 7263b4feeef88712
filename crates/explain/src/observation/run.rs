//! The observation of a run directory: the series of one run, as columns in JSON.
//!
//! The text has `run`, an entry of `runs` in `summary.json`, and `flows`, the columns of the run's rows
//! of `flows.parquet` by their names. Whoever reads the Parquet file writes it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::json::{count, ns, number};
use super::polled::{Poll, Polled};
use super::{Damage, Flow, Kind, Observation, Vantage};

/// The series of one run.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Series {
    #[serde(default)]
    run: Value,
    #[serde(default)]
    flows: BTreeMap<String, Vec<Value>>,
}

/// Reads a whole text.
pub(super) fn read(text: &str) -> Observation {
    let mut found = Observation::new(Kind::Run);
    let series: Series = match serde_json::from_str(text) {
        Ok(series) => series,
        Err(error) => {
            let message = format!("not the series of a run: {error}");
            found.damage = Some(Damage { offset: text.len() as u64, message });
            return found;
        }
    };
    let mut flows: Vec<(String, Vec<Poll>)> = Vec::new();
    let names = series.flows.get("flow").map_or(&[][..], Vec::as_slice);
    for (row, name) in names.iter().enumerate() {
        let (Some(name), Some(poll)) = (name.as_str(), series.poll(row)) else { continue };
        found.packets += 1;
        match flows.iter_mut().find(|(own, _)| own == name) {
            Some((_, polls)) => polls.push(poll),
            None => flows.push((name.to_owned(), vec![poll])),
        }
    }
    for (name, mut polls) in flows {
        polls.sort_by_key(|poll| poll.at);
        found.duration = found.duration.max(polls.last().map_or(0, |poll| poll.at));
        found.flows.extend(series.flow(&name, &polls));
    }
    found
}

impl Series {
    fn value(&self, row: usize, names: &[&str]) -> &Value {
        let values = names.iter().filter_map(|name| self.flows.get(*name)?.get(row));
        values.into_iter().find(|value| !value.is_null()).unwrap_or(&Value::Null)
    }

    fn poll(&self, row: usize) -> Option<Poll> {
        let of = |name: &str| count(self.value(row, &[name])).unwrap_or(0);
        let rtt = number(self.value(row, &["rtt_s", "srtt_s"]));
        Some(Poll {
            at: number(self.value(row, &["t_s"])).and_then(ns).filter(|at| *at >= 0)?,
            delivered: of("delivered_bytes"),
            rtt: rtt.and_then(ns),
            lost: of("lost_packets"),
            marked: of("marked_packets"),
            flight: count(self.value(row, &["in_flight_bytes"])),
        })
    }

    fn flow(&self, name: &str, polls: &[Poll]) -> Option<Flow> {
        let about = self.run["flows"].as_array().into_iter().flatten();
        let about = about.into_iter().find(|flow| flow["name"] == name).unwrap_or(&Value::Null);
        let mut polled = Polled::new(None);
        let start = number(&about["start_s"]).and_then(ns).unwrap_or(0);
        // The counters begin with the flow, before its first row.
        let first = polls.first()?;
        if start < first.at {
            polled.poll(&Poll { at: start.max(0), ..Poll::default() });
        }
        let least = number(&about["rtt_min_s"]).and_then(ns).filter(|rtt| *rtt > 0);
        if let Some(least) = least {
            polled.sample(first.at, least);
        }
        polls.iter().for_each(|poll| polled.poll(poll));
        let flow = polled.finish([name.to_owned(), "receiver".to_owned()], Vantage::Sender)?;
        let controller = about["control"].as_str().map(str::to_owned);
        Some(Flow { controller, ..flow })
    }
}
