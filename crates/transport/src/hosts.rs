//! Hosts by name: the settings of real systems, each with its source.

mod linux;
mod quic;
mod standards;

use std::fmt;

use crate::choices::Profile;
use crate::config::Config;
use crate::noise::Noise;
use crate::setting::Setting;

/// A system that ends connections.
pub struct Host {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// The protocol of its connections, whose values it has unless it differs.
    pub profile: Profile,
    /// Its settings that differ from the profile's.
    differs: &'static [&'static [Value]],
    /// The time that it takes to answer a packet, and the source of this value.
    pub noise: (Noise, &'static str),
    /// Its parameters of controllers that differ from the defaults.
    pub parameters: &'static [Parameter],
}

/// A value of a host.
pub(crate) struct Value {
    name: &'static str,
    /// In the spelling of scenarios.
    text: &'static str,
    source: &'static str,
}

/// A parameter of a controller on a host: one of several names.
#[derive(Debug)]
pub struct Parameter {
    /// The controller.
    pub controller: &'static str,
    /// The parameter.
    pub name: &'static str,
    /// Its value.
    pub value: &'static str,
    /// The source of the value.
    pub source: &'static str,
}

/// A setting of a host, for listings.
#[derive(Clone, Copy, Debug)]
pub struct HostSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value, as scenarios spell it; empty: absent.
    pub value: &'static str,
    /// The source of the value.
    pub source: &'static str,
    /// Whether the value differs from the profile's.
    pub differs: bool,
}

const fn is(name: &'static str, text: &'static str, source: &'static str) -> Value {
    Value { name, text, source }
}

const fn with(
    controller: &'static str,
    name: &'static str,
    value: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { controller, name, value, source }
}

impl Host {
    /// The host of scenarios without the key `host`.
    pub const DEFAULT: &'static str = linux::LINUX_6_18.name;

    /// All hosts, in the order of listings.
    pub const ALL: &'static [&'static Host] = &[
        &standards::RFC,
        &linux::LINUX_6_18,
        &linux::LINUX_6_6,
        &linux::LINUX_6_1,
        &linux::LINUX_5_10,
        &standards::NS_3,
        &standards::NS_3_OVERFLOW,
        &quic::QUIC,
        &quic::UDP,
        &quic::PICOQUIC,
        &quic::PICOQUIC_2022,
    ];

    /// Their names.
    pub const NAMES: &'static [&'static str] = &names();

    /// The host of this name.
    pub fn named(name: &str) -> Option<&'static Host> {
        Host::ALL.iter().copied().find(|host| host.name == name)
    }

    /// The host of a Linux kernel of this release, such as `6.12.3-amd64`: the newest one that is no
    /// newer, or the oldest; `None` if `release` does not begin with two numbers.
    pub fn of_kernel(release: &str) -> Option<&'static Host> {
        let version = |text: &str| {
            let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        };
        let running = version(release)?;
        let of_host = |host: &&Host| version(host.name.strip_prefix("linux-")?);
        let all = Host::ALL.iter().copied().filter(|host| of_host(host).is_some());
        let older = all.clone().filter(|host| of_host(host) <= Some(running)).max_by_key(of_host);
        older.or_else(|| all.min_by_key(of_host))
    }

    /// The settings of its connections.
    pub fn config(&self) -> Config {
        let mut config = Config::new(self.profile);
        for Value { name, text, .. } in self.values() {
            config.put(name, text).unwrap_or_else(|| panic!("`{name}` cannot be `{text}`"));
        }
        config
    }

    /// All its settings, in the order of their declaration.
    pub fn settings(&self) -> Vec<HostSetting> {
        let settings = Config::SETTINGS.iter().filter_map(|setting| {
            let (value, source) = setting.of_profile(self.profile)?;
            let own = self.values().find(|own| own.name == setting.key.name);
            let (value, source) = own.map_or((value, source), |own| (own.text, own.source));
            Some(HostSetting { setting, value, source, differs: own.is_some() })
        });
        settings.collect()
    }

    fn values(&self) -> impl Iterator<Item = &'static Value> {
        self.differs.iter().copied().flatten()
    }
}

const fn names() -> [&'static str; Host::ALL.len()] {
    let mut names = [""; Host::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Host::ALL[index].name;
        index += 1;
    }
    names
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Host {
    fn eq(&self, other: &Host) -> bool {
        self.name == other.name
    }
}
