//! A source with the values of its keys, before a run.

use std::fmt;

use sojourn_params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Carrier, Fault, Info, Model, Setup, Source};

/// A kind of source in the registry: the functions of its [`Model`].
pub(crate) struct Registered {
    pub(crate) info: &'static Info,
    build: fn(&Setup) -> Box<dyn Source>,
    bytes_in: fn(&Params, Bytes, Duration) -> Bytes,
    rate: fn(&Params) -> Rate,
    packet: fn(&Params) -> Option<Bytes>,
    is_random: fn(&Params) -> bool,
    fault: fn(&Params, Bytes) -> Option<Fault>,
}

impl Registered {
    pub(crate) const fn of<M: Model>() -> Registered {
        Registered {
            info: &M::INFO,
            build: M::build,
            bytes_in: M::bytes_in,
            rate: M::rate,
            packet: M::packet,
            is_random: M::is_random,
            fault: M::fault,
        }
    }
}

/// A source of a scenario: its kind, and the values of its keys.
#[derive(Clone)]
pub struct Spec {
    kind: &'static Registered,
    params: Params,
}

impl Spec {
    /// The source of this name, or `None` if the name is unknown. `params` has a value for every
    /// key of [`Info::params`] that is not optional.
    pub fn new(name: &str, params: Params) -> Option<Spec> {
        let kind = crate::ALL.iter().find(|registered| registered.info.name == name)?;
        Some(Spec { kind, params })
    }

    /// Its registry entry.
    pub fn info(&self) -> &'static Info {
        self.kind.info
    }

    /// The values of its keys.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Carrier of its data.
    pub fn carrier(&self) -> Carrier {
        self.kind.info.carrier
    }

    /// Builds it for a flow that starts at `start`. `mss`: payload of a full packet.
    pub fn build(&self, start: Instant, mss: Bytes, seed: u64) -> Box<dyn Source> {
        (self.kind.build)(&Setup { params: self.params.clone(), start, mss, seed })
    }

    /// [`Model::bytes_in`].
    pub fn bytes_in(&self, mss: Bytes, span: Duration) -> Bytes {
        (self.kind.bytes_in)(&self.params, mss, span)
    }

    /// [`Model::rate`].
    pub fn rate(&self) -> Rate {
        (self.kind.rate)(&self.params)
    }

    /// [`Model::packet`].
    pub fn packet(&self) -> Option<Bytes> {
        (self.kind.packet)(&self.params)
    }

    /// [`Model::is_random`].
    pub fn is_random(&self) -> bool {
        (self.kind.is_random)(&self.params)
    }

    /// [`Model::fault`].
    pub fn fault(&self, mss: Bytes) -> Option<Fault> {
        (self.kind.fault)(&self.params, mss)
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        self.kind.info.name == other.kind.info.name && self.params == other.params
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.kind.info.name).field(&self.params).finish()
    }
}
