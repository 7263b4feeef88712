//! Listings of controllers, queues, hosts and the schema.

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_cc::EcnUse;
use sojourn_transport::{Choice, Host, HostSetting, Parameter, Stacks};
use sojourn_units::Bytes;
use sojourn_units::params::Key;

/// The default of a parameter; `off` for the greatest number of bytes, a limit without effect.
fn default(param: &Key) -> String {
    if param.is_required() {
        return "required".to_owned();
    }
    match param.kind.default_value() {
        sojourn_units::params::Value::Data(Bytes::MAX) => "off".to_owned(),
        value => value.to_string(),
    }
}

fn params(params: &[Key]) -> Value {
    let one = |p: &Key| {
        json!({
            "name": p.name,
            "default": default(p),
            "unit": p.kind.unit(),
            "range": p.kind.range(),
            "doc": p.doc,
            "source": p.source,
        })
    };
    params.iter().map(one).collect()
}

/// Every shipped controller with its parameters, as JSON.
#[pyfunction]
pub(crate) fn controllers() -> String {
    controllers_of(&sojourn_cc::Catalogue::shipped())
}

/// Every controller of a catalogue with its parameters, as JSON.
pub(crate) fn controllers_of(catalogue: &sojourn_cc::Catalogue) -> String {
    let one = |info: &sojourn_cc::Info| {
        let needs = info.needs;
        let ecn = match needs.ecn {
            EcnUse::None => "none",
            EcnUse::Classic => "classic",
            EcnUse::Counts => "counts",
            EcnUse::L4s => "l4s",
        };
        json!({
            "name": info.name,
            "title": info.title,
            "source": info.source,
            "params": params(info.params),
            "needs": { "ecn": ecn, "receive_times": needs.receive_times, "signal": needs.signal, "media": needs.media, "prr": needs.prr },
        })
    };
    catalogue.infos().map(one).collect::<Value>().to_string()
}

/// Every queue with its parameters, as JSON.
#[pyfunction]
pub(crate) fn queues() -> String {
    let inner = |inner: &sojourn_queue::Inner| json!({ "name": inner.name, "default": inner.default, "doc": inner.doc });
    let one = |info: &&sojourn_queue::Info| {
        json!({
            "name": info.name,
            "title": info.title,
            "source": info.source,
            "params": params(info.params),
            "inner": info.inner.iter().map(inner).collect::<Value>(),
            "default_packets": info.default_packets,
        })
    };
    sojourn_queue::infos().iter().map(one).collect::<Value>().to_string()
}

/// The name of the host of a Linux kernel of this release.
#[pyfunction]
pub(crate) fn kernel_host(release: &str) -> Option<&'static str> {
    Host::of_kernel(release).map(|host| host.name)
}

/// Every host with its values, as JSON.
#[pyfunction]
pub(crate) fn hosts() -> String {
    let setting = |own: &HostSetting| {
        json!({
            "name": own.setting.key.name,
            "value": own.value,
            "end": own.setting.side().name(),
            "is_key": own.setting.is_key(),
            "differs": own.differs,
            "doc": own.setting.key.doc,
            "source": own.source,
        })
    };
    let parameter = |own: &Parameter| {
        json!({
            "controller": own.controller,
            "name": own.name,
            "value": own.value,
            "source": own.source,
        })
    };
    let one = |host: &&Host| {
        let (noise, source) = host.noise;
        json!({
            "name": host.name,
            "title": host.title,
            "protocol": host.profile.name(),
            "settings": host.settings().iter().map(setting).collect::<Value>(),
            "noise": { "value": noise.name(), "source": source },
            "parameters": host.parameters.iter().map(parameter).collect::<Value>(),
        })
    };
    Host::ALL.iter().map(one).collect::<Value>().to_string()
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub(crate) fn schema() -> String {
    let stacks = stacks();
    let known = sojourn_scenario::Known { stacks, ..Default::default() };
    sojourn_scenario::json_schema_known(&known).to_string()
}

/// The stacks of QUIC that a scenario may name.
pub(crate) fn stacks() -> Stacks {
    #[cfg(feature = "live")]
    return sojourn_quic::endpoint::stacks();
    #[cfg(not(feature = "live"))]
    Stacks::none()
}
