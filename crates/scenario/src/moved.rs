//! Keys with another name since, and their replacements.

use sojourn_transport::{Choice as _, Noise, Setting};

use crate::error::At;
use crate::model::Transport;
use crate::tree::{Entry, Node, Value};
use crate::write;

/// The replacement of an unknown key: a message and its help.
pub(crate) fn replacement(at: &At, entry: &Entry) -> Option<(String, String)> {
    let keys: Vec<&str> = at.path.split('.').collect();
    match keys[..] {
        ["flow", _] if entry.key == "transport" => Some(transport(&entry.node)),
        [""] if entry.key == "host_noise" => {
            let help = format!("give one of {}", Noise::NAMES.join(", "));
            Some(("`host_noise` is `noise` now, the name of a distribution".to_owned(), help))
        }
        ["host"] | ["flow", _, "host" | "receiver"] => setting(&entry.key),
        _ => None,
    }
}

/// `transport`, which `host` and `stack` have replaced.
fn transport(node: &Node) -> (String, String) {
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    let mut key = "host";
    for Entry { key: name, node, .. } in node.entries() {
        let name = match name.as_str() {
            "profile" => "like",
            "stack" => {
                key = "stack";
                "kind"
            }
            name => name,
        };
        let is_gone = key == "host" && is_data(name);
        if is_gone {
            gone.push(format!("`{name}`"));
        } else {
            let node = if name == "like" { host(node) } else { node.clone() };
            kept.push(Entry { key: name.to_owned(), key_span: None, node });
        }
    }
    let value = match &node.value {
        Value::Table(_) => Node { value: Value::Table(kept), span: None },
        Value::Text(name) if name != "tcp" && name != "quic" => {
            key = "stack";
            node.clone()
        }
        _ => host(node),
    };
    let mut help = format!("write {key} = {}", write::inline(&value));
    if !gone.is_empty() {
        help = format!("{help}; {} differ by host (`sojourn hosts`)", gone.join(", "));
    }
    (format!("`transport` is `{key}` now"), help)
}

/// The host of a profile's name.
fn host(node: &Node) -> Node {
    match &node.value {
        Value::Text(name) if name == "tcp" => Node::text("rfc", node.span),
        _ => node.clone(),
    }
}

/// A setting that only hosts have.
fn setting(name: &str) -> Option<(String, String)> {
    is_data(name).then(|| {
        let help = "name a host that has the value you need (`sojourn hosts`)";
        (format!("`{name}` differs by host, and is no key"), help.to_owned())
    })
}

fn is_data(name: &str) -> bool {
    let is_named = |setting: &&Setting| setting.key.name == name;
    Transport::SETTINGS.iter().find(is_named).is_some_and(|setting| !setting.is_key())
}
