//! Hosts: their values, and the sources of these.

use std::collections::BTreeSet;

use sojourn_transport::{Config, Host, Side};
use sojourn_units::params::Value;

/// More keys than a user would study belong to hosts.
#[test]
fn scenarios_have_at_most_eighteen_keys() {
    let keys = Config::SETTINGS.iter().filter(|setting| setting.is_key());
    let names: Vec<&str> = keys.map(|setting| setting.key.name).collect();
    assert!(names.len() <= 18, "{names:?}");
}

#[test]
fn hosts_have_names_of_their_own() {
    let names: BTreeSet<&str> = Host::NAMES.iter().copied().collect();
    assert_eq!(names.len(), Host::ALL.len());
    assert!(names.contains(Host::DEFAULT));
    assert!(Host::ALL.iter().all(|host| Host::named(host.name) == Some(host)));
}

/// A value that equals that of the standards would hide a later change of these.
#[test]
fn each_value_of_a_host_differs_and_has_a_source() {
    for host in Host::ALL {
        host.config();
        for own in host.settings() {
            let name = own.setting.key.name;
            let (value, _) = own.setting.of_profile(host.profile).expect("the profile has it");
            assert_eq!(own.differs, own.value != value, "{} {name}", host.name);
            assert!(!own.source.is_empty(), "{} {name}", host.name);
        }
        assert!(!host.noise.1.is_empty(), "{}", host.name);
        for parameter in host.parameters {
            assert!(!parameter.source.is_empty(), "{} {parameter:?}", host.name);
        }
    }
}

/// Every controller has the parameters that a host sets.
#[test]
fn parameters_of_a_host_exist() {
    for parameter in Host::ALL.iter().flat_map(|host| host.parameters) {
        let found = sojourn_cc::find(parameter.controller).expect("it ships");
        let declared = found.info.params.iter().find(|param| param.name == parameter.name);
        let value = Value::Choice(parameter.value.to_owned());
        assert!(declared.expect("it has it").kind.admits(&value), "{parameter:?}");
    }
}

/// Each setting is of one side: with all three of another host, a connection is that host's.
#[test]
fn the_settings_of_both_ends_are_all() {
    let linux = Host::named("linux-6.18").expect("it ships").config();
    let mut config = Host::named("rfc").expect("it ships").config();
    config.take(Side::Sender, &linux);
    assert_eq!((config.tso, config.quick_acks), (linux.tso, 0), "the sender's alone");
    config.take(Side::Receiver, &linux);
    assert_ne!(config, linux, "whether both use ECN");
    config.take(Side::Both, &linux);
    assert_eq!(config, linux);
}

/// Linux counts a minor version as a number: 6.9 is older than 6.18.
#[test]
fn a_running_kernel_has_the_newest_host_that_is_no_newer() {
    let host = |release| Host::of_kernel(release).map(|host| host.name);
    assert_eq!(host("6.18.44-v657"), Some("linux-6.18"));
    assert_eq!(host("7.1.0-amd64"), Some("linux-6.18"));
    assert_eq!(host("6.12.100+deb12-amd64"), Some("linux-6.6"));
    assert_eq!(host("6.9"), Some("linux-6.6"));
    assert_eq!(host("5.15.0"), Some("linux-5.10"));
    assert_eq!(host("4.19.0"), Some("linux-5.10"));
    assert_eq!(host("Darwin"), None);
}
