//! A source with the values of its keys, before a run.

use std::fmt;
use std::sync::Arc;

use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::source::cdf::Cdf;
use crate::source::contract::{Carrier, Fault, Info, Model, Setup, Source};
use crate::source::transfers;

/// A kind of source in the registry: the functions of its [`Model`].
pub(crate) struct Registered {
    pub(crate) info: &'static Info,
    build: fn(&Setup) -> Box<dyn Source>,
    bytes_in: fn(&Params, Option<&Arc<Cdf>>, Bytes, Duration) -> Bytes,
    rate: fn(&Params) -> Rate,
    packet: fn(&Params) -> Option<Bytes>,
    is_random: fn(&Params) -> bool,
    reads_file: fn(&Params) -> bool,
    most_transfers: fn(&Params, Option<&Arc<Cdf>>, Duration) -> u64,
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
            reads_file: M::reads_file,
            most_transfers: M::most_transfers,
            fault: M::fault,
        }
    }
}

/// A source of a scenario: its kind, and the values of its keys.
#[derive(Clone)]
pub struct Spec {
    kind: &'static Registered,
    params: Params,
    /// Content of the file of sizes, once it is read.
    sizes: Option<Arc<Cdf>>,
}

impl Spec {
    /// The source of this name, or `None` if the name is unknown. `params` has a value for every
    /// key of [`Info::params`] that is not optional.
    pub fn new(name: &str, params: Params) -> Option<Spec> {
        let kind = crate::source::ALL.iter().find(|registered| registered.info.name == name)?;
        Some(Spec { kind, params, sizes: None })
    }

    /// The source of one file of this size.
    pub fn file(size: Bytes) -> Spec {
        let kind = &const { Registered::of::<crate::source::file::File>() };
        let mut params = Params::empty();
        let declared = kind.info.params;
        params.set(declared, "size", Value::Data(size)).expect("the size is in range");
        Spec { kind, params, sizes: None }
    }

    /// The same source with the content of its file of sizes.
    pub fn with_sizes(self, sizes: Cdf) -> Spec {
        Spec { sizes: Some(Arc::new(sizes)), ..self }
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
        let (params, sizes) = (self.params.clone(), self.sizes.clone());
        (self.kind.build)(&Setup { params, sizes, start, mss, seed })
    }

    /// [`Model::bytes_in`].
    pub fn bytes_in(&self, mss: Bytes, span: Duration) -> Bytes {
        (self.kind.bytes_in)(&self.params, self.sizes.as_ref(), mss, span)
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

    /// [`Model::reads_file`].
    pub fn reads_file(&self) -> bool {
        (self.kind.reads_file)(&self.params)
    }

    /// Whether it has [`Source::sized_transfers`].
    pub fn lists_transfers(&self) -> bool {
        transfers::are_listed(&self.params)
    }

    /// [`Model::most_transfers`].
    pub fn most_transfers(&self, span: Duration) -> u64 {
        (self.kind.most_transfers)(&self.params, self.sizes.as_ref(), span)
    }

    /// [`Model::fault`].
    pub fn fault(&self, mss: Bytes) -> Option<Fault> {
        (self.kind.fault)(&self.params, mss)
    }
}

impl PartialEq for Spec {
    fn eq(&self, other: &Spec) -> bool {
        self.kind.info.name == other.kind.info.name
            && self.params == other.params
            && self.sizes == other.sizes
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.kind.info.name).field(&self.params).finish()
    }
}
