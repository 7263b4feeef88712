//! The part of a kit that has a stack's types.

use std::sync::Arc;
use std::time::Instant;

use sojourn_units::Ecn;

use super::adapter::Adapter;
use super::dialect::{self, Stack, proto};
use super::reader;
use crate::kit::Choice;
use proto::congestion::{Controller, ControllerFactory};
use proto::crypto::{ClientConfig, ServerConfig};
use proto::{EcnCodepoint, TransportConfig};

/// A controller of Sojourn for the connections of an endpoint.
pub type Kit = crate::kit::Kit<Stack>;

impl Kit {
    /// Installs the controller. Switches path MTU discovery off, since a controller of Sojourn
    /// takes the size of packets when it is built, and multipath, since the reader of ECN counts
    /// has one path. Do not enable either afterwards.
    pub fn apply_to(&self, config: &mut TransportConfig) {
        config.mtu_discovery_config(None);
        dialect::use_one_path(config);
        config.congestion_controller_factory(Arc::clone(&self.0) as _);
    }

    /// The cryptography of a client, with the reader of ECN counts.
    pub fn client(&self, inner: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(reader::Client { inner, kit: self.clone() })
    }

    /// The cryptography of a server, with the reader of ECN counts.
    pub fn server(&self, inner: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(reader::Server { inner, kit: self.clone() })
    }
}

impl ControllerFactory for Choice {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let (ledger, tally, epoch) = self.begin(now, mtu);
        Box::new(Adapter::new(ledger, tally, epoch))
    }
}

/// The ECN field of a received datagram, as the stack takes it.
pub fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
