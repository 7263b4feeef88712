//! The hosts of flows: a host by name, or a table of its exceptions.

use sojourn_transport::{Choice, Host, Noise, Setting, Side};
use sojourn_units::Bytes;
use sojourn_units::params::{Given, Key, Kind, Value};

use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::model::{EcnFeedback, Transport};
use crate::shape::{Either, Form, Shape};

/// A host, which is a name or a table.
pub(crate) static HOST: Either =
    Either { short: NAME, key: Some("like"), forms: &[Form { title: "host", fields: &FIELDS }] };

const NAME: Shape = Shape::Scalar(Kind::Choice(Host::DEFAULT, Host::NAMES));

const LIKE: Key<Shape> = Key::new(
    "like",
    NAME,
    "the host whose values the other keys change; if absent, that of the scenario, or for a \
     `receiver` that of the flow",
)
.given(Given::Optional);

static FIELDS: [Key<Shape>; count() + 1] = fields();

const fn count() -> usize {
    let (mut count, mut place) = (0, 0);
    while place < Transport::SETTINGS.len() {
        count += Transport::SETTINGS[place].is_key() as usize;
        place += 1;
    }
    count
}

/// `like`, and the settings that are keys.
const fn fields() -> [Key<Shape>; count() + 1] {
    let mut fields = [LIKE; count() + 1];
    let (mut next, mut place) = (1, 0);
    while place < Transport::SETTINGS.len() {
        if Transport::SETTINGS[place].is_key() {
            fields[next] = field(&Transport::SETTINGS[place]);
            next += 1;
        }
        place += 1;
    }
    fields
}

const fn field(setting: &Setting) -> Key<Shape> {
    let Key { name, kind, doc, .. } = setting.key;
    let shape = if setting.may_be_unlimited { Shape::Window(kind) } else { Shape::Scalar(kind) };
    Key::new(name, shape, doc).given(Given::Optional)
}

/// A host with its exceptions.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) host: &'static Host,
    pub(crate) config: Transport,
    /// Its exceptions, such as `tso=0B`.
    exceptions: Vec<String>,
}

/// The two ends of a flow.
pub(crate) struct Ends {
    /// The hosts that send and receive.
    pub(crate) hosts: [&'static Host; 2],
    /// Their exceptions.
    pub(crate) exceptions: [Vec<String>; 2],
    pub(crate) transport: Transport,
    /// The transport in the opposite direction, if it differs.
    pub(crate) reverse: Option<Box<Transport>>,
}

impl Default for Chosen {
    fn default() -> Chosen {
        Chosen::named(Host::DEFAULT).expect("the default is one of them")
    }
}

impl Chosen {
    pub(crate) fn named(name: &str) -> Option<Chosen> {
        let host = Host::named(name)?;
        Some(Chosen { host, config: host.config(), exceptions: Vec::new() })
    }
}

/// The host of a value; `None` after a reported problem. `base`: the host of a table without `like`.
pub(crate) fn read(checker: &mut Checker, value: &Checked, base: &Chosen) -> Option<Chosen> {
    let fields = match &value.value {
        Got::Scalar(Value::Choice(name)) => return Chosen::named(name),
        Got::Table(fields) => fields,
        _ => return None,
    };
    let mut chosen = match fields.get("like") {
        Some(like) => Chosen::named(like.choice()?)?,
        None => base.clone(),
    };
    for (setting, given) in exceptions(fields) {
        if setting.of_profile(chosen.host.profile).is_none() {
            let name = setting.key.name;
            let others = Host::ALL.iter().filter(|host| setting.of_profile(host.profile).is_some());
            let others: Vec<&str> = others.map(|host| host.name).collect();
            let message = format!("host `{}` has no `{name}`", chosen.host.name);
            checker.report(&given.at, message, format!("it is a key of {}", others.join(", ")));
            return None;
        }
        chosen.config.set(setting.key.name, given.scalar()?)?;
        let name = format!("{}=", setting.key.name);
        chosen.exceptions.retain(|one| !one.starts_with(&name));
        chosen.exceptions.push(name + &given.scalar()?.to_string());
    }
    check_tso(checker, &chosen.config, fields);
    check_validation(checker, &chosen.config, fields);
    check_windows(checker, &chosen.config, fields);
    Some(chosen)
}

/// The settings that a table gives.
fn exceptions(fields: &Fields) -> impl Iterator<Item = (&'static Setting, &Checked)> {
    let settings = Transport::SETTINGS.iter();
    settings.filter_map(|setting| Some((setting, fields.get(setting.key.name)?)))
}

/// The ends of a flow. `has_requests`: whether the receiving host sends data too.
pub(crate) fn ends(
    checker: &mut Checker,
    flow: &Fields,
    base: &Chosen,
    has_requests: bool,
) -> Option<Ends> {
    let sender = match flow.get("host") {
        Some(value) => read(checker, value, base)?,
        None => base.clone(),
    };
    let Some(value) = flow.get("receiver") else {
        let hosts = [sender.host, sender.host];
        let exceptions = [sender.exceptions.clone(), sender.exceptions];
        return Some(Ends { hosts, exceptions, transport: sender.config, reverse: None });
    };
    let receiver = read(checker, value, &sender)?;
    if let Some(given) = flow.get("host").filter(|_| names_host(value) && !has_requests) {
        check_overridden(checker, given);
    }
    check_receiver(checker, value, [&sender, &receiver], has_requests)?;
    let mut transport = sender.config.clone();
    transport.take(Side::Receiver, &receiver.config);
    let mut reverse = receiver.config;
    reverse.take(Side::Receiver, &sender.config);
    reverse.take(Side::Both, &sender.config);
    let reverse = Some(Box::new(reverse)).filter(|reverse| **reverse != transport);
    let hosts = [sender.host, receiver.host];
    Some(Ends { hosts, exceptions: [sender.exceptions, receiver.exceptions], transport, reverse })
}

/// Whether a host is given by its name, and not by exceptions to another one alone.
fn names_host(value: &Checked) -> bool {
    value.table().is_none_or(|fields| fields.get("like").is_some())
}

/// Refuses exceptions of `host` for its receiving side, if `receiver` names a host of its own.
fn check_overridden(checker: &mut Checker, host: &Checked) {
    for (setting, given) in host.table().into_iter().flat_map(exceptions) {
        if setting.side() == Side::Receiver {
            let name = setting.key.name;
            let message = format!("`{name}` of `host` has no effect: `receiver` is another host");
            checker.report(&given.at, message, format!("set `{name}` of `receiver`"));
        }
    }
}

/// Refuses a receiver of another protocol, and its exceptions without effect.
fn check_receiver(
    checker: &mut Checker,
    value: &Checked,
    [sender, receiver]: [&Chosen; 2],
    has_requests: bool,
) -> Option<()> {
    if sender.host.profile != receiver.host.profile {
        let [from, to] = [sender, receiver].map(|end| (end.host.name, end.host.profile.name()));
        let message =
            format!("receiver `{}` speaks {}, and host `{}` {}", to.0, to.1, from.0, from.1);
        checker.report(&value.at, message, "name two hosts of one protocol");
        return None;
    }
    for (setting, given) in value.table().into_iter().flat_map(exceptions) {
        let name = setting.key.name;
        match setting.side() {
            Side::Both => {
                let message = format!("`{name}` holds for both ends");
                checker.report(&given.at, message, format!("set `{name}` of `host`"));
            }
            Side::Sender if !has_requests => {
                let message =
                    format!("`{name}` of `receiver` has no effect: that end sends no data");
                checker.report(&given.at, message, format!("set `{name}` of `host`"));
            }
            Side::Sender | Side::Receiver => {}
        }
    }
    Some(())
}

/// Refuses validation of counts that the receiver does not send.
fn check_validation(checker: &mut Checker, config: &Transport, fields: &Fields) {
    let Some(given) = fields.get("ecn_validation").or(fields.get("ecn_feedback")) else { return };
    if config.ecn_validation && config.ecn_feedback == EcnFeedback::Classic {
        let message = "`ecn_validation` has no effect: a classic echo of ECN has no counts";
        let help = "remove `ecn_validation`, or set `ecn_feedback` to accurate";
        checker.report(&given.at, message, help);
    }
}

/// Refuses a first receive window that leaves no room to grow.
fn check_windows(checker: &mut Checker, config: &Transport, fields: &Fields) {
    let Some(given) = fields.get("initial_receive_window") else { return };
    let (Some(first), Some(most)) = (config.initial_receive_window, config.receive_window) else {
        return;
    };
    if first >= most {
        let message = format!("`initial_receive_window` is {first}, and `receive_window` {most}");
        let help = "give a greater `receive_window`, or remove `initial_receive_window`";
        checker.report(&given.at, message, help);
    }
}

/// Refuses a burst of less than two packets, which would silently have no effect.
fn check_tso(checker: &mut Checker, config: &Transport, fields: &Fields) {
    let Some(given) = fields.get("tso").or(fields.get("mss")) else { return };
    let Transport { tso, mss, .. } = *config;
    if Bytes::ZERO < tso && tso < mss * 2 {
        let message = format!("`tso` is {tso}, less than two packets of {mss}");
        let help = format!("give 0B for single packets, or {} or more", mss * 2);
        checker.report(&given.at, message, help);
    }
}

/// Refuses a host for data that no host's transport carries. `why`: what carries them.
pub(crate) fn refuse(checker: &mut Checker, flow: &Fields, why: &str, help: &str) {
    for key in ["host", "receiver"] {
        if let Some(given) = flow.get(key) {
            let message = format!("`{key}` has no effect: {why}");
            checker.report(&given.at, message, format!("remove `{key}`; {help}"));
        }
    }
}

/// The names of both ends, with their exceptions: `linux-6.18 with tso=0B`.
pub(crate) fn names(ends: &Ends, document: Option<Noise>) -> [String; 2] {
    [0, 1].map(|end| {
        let host = ends.hosts[end];
        let noise = document.filter(|noise| *noise != host.noise.0);
        let noise = noise.map(|noise| format!("noise={}", noise.name()));
        let own: Vec<String> = ends.exceptions[end].iter().cloned().chain(noise).collect();
        if own.is_empty() {
            return host.name.to_owned();
        }
        format!("{} with {}", host.name, own.join(", "))
    })
}

/// The noise of both ends.
pub(crate) fn noise(document: Option<Noise>, hosts: [&Host; 2]) -> [Noise; 2] {
    hosts.map(|host| document.unwrap_or(host.noise.0))
}
