//! The adapter for noq.
//!
//! ```
//! use std::sync::Arc;
//! use sojourn_quic::noq::Kit;
//!
//! let kit = Kit::new("prague")?;
//! let mut transport = noq_proto::TransportConfig::default();
//! kit.apply_to(&mut transport);
//! # Ok::<(), sojourn_quic::noq::KitError>(())
//! ```

mod adapter;
mod crypto;
mod gated;

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use noq_proto::TransportConfig;
use noq_proto::congestion::ControllerFactory;
use noq_proto::crypto::{ClientConfig, ServerConfig};
use sojourn_cc::{Catalogue, Needs, Setup};
use sojourn_params::Params;
use sojourn_transport::Lacks;
use sojourn_units::{Bytes, Ecn};

pub use gated::{Gated, codepoint};

use crate::ledger::{INITIAL_WINDOW, Ledger};
use crate::tally::Tally;

/// Inputs that noq cannot give to a controller.
pub const LACKS: Lacks = Lacks { every_packet: false, receive_times: true };

/// A controller that a [`Kit`] cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KitError {
    /// No controller has this name.
    #[error("there is no controller `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of all controllers.
        known: Vec<String>,
    },
    /// The controller needs an input that the stack cannot give.
    #[error("`{name}` needs {need}, which noq does not give; choose another controller")]
    Lacks {
        /// The controller.
        name: String,
        /// The input.
        need: &'static str,
    },
}

/// A controller of Sojourn for the connections of an endpoint.
///
/// [`Kit::apply_to`] installs the controller, and [`Kit::client`] or [`Kit::server`] the reader of
/// ECN counts. Controllers that count marks need both.
#[derive(Clone)]
pub struct Kit(Arc<Choice>);

/// The chosen controller.
struct Choice {
    catalogue: Catalogue,
    name: String,
    params: Params,
    needs: Needs,
    seed: u64,
    /// The time that counts as zero: the creation of the first connection.
    epoch: OnceLock<Instant>,
    /// The only connection, whose caller uses the gate.
    link: Option<Link>,
}

impl fmt::Debug for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl Kit {
    /// The shipped controller of this name, with the defaults of its parameters.
    ///
    /// # Errors
    /// If the name is unknown, or noq cannot serve the controller.
    pub fn new(name: &str) -> Result<Kit, KitError> {
        let catalogue = Catalogue::shipped();
        let params = catalogue.find(name).map_or(Params::empty(), |i| Params::defaults(i.params));
        Kit::with(catalogue, name, params, 0)
    }

    /// The controller of this name in a catalogue, with a value for each of its parameters. `seed`:
    /// of its random numbers.
    ///
    /// # Errors
    /// The same as those of [`Kit::new`].
    pub fn with(
        catalogue: Catalogue,
        name: &str,
        params: Params,
        seed: u64,
    ) -> Result<Kit, KitError> {
        let Some(needs) = catalogue.needs(name, &params) else {
            let known = catalogue.infos().map(|info| info.name.to_owned()).collect();
            return Err(KitError::Unknown { name: name.to_owned(), known });
        };
        if let Some(need) = LACKS.of(&needs) {
            return Err(KitError::Lacks { name: name.to_owned(), need });
        }
        let (name, epoch) = (name.to_owned(), OnceLock::new());
        Ok(Kit(Arc::new(Choice { catalogue, name, params, needs, seed, epoch, link: None })))
    }

    /// The same controller for one connection whose caller polls it through the returned link, in
    /// time that begins at `epoch`.
    pub(crate) fn linked(&self, epoch: Instant) -> (Kit, Link) {
        let Choice { catalogue, name, params, needs, seed, .. } = &*self.0;
        let link = Link::default();
        let choice = Choice {
            catalogue: catalogue.clone(),
            name: name.clone(),
            params: params.clone(),
            needs: *needs,
            seed: *seed,
            epoch: OnceLock::from(epoch),
            link: Some(link.clone()),
        };
        (Kit(Arc::new(choice)), link)
    }

    /// The ECN codepoint of the connections' packets.
    pub fn codepoint(&self) -> Ecn {
        self.0.needs.ecn.codepoint()
    }

    /// Installs the controller. Switches path MTU discovery off, since a controller of Sojourn
    /// takes the size of packets when it is built, and multipath, since the reader of ECN counts
    /// has one path. Do not enable either afterwards.
    pub fn apply_to(&self, config: &mut TransportConfig) {
        config.mtu_discovery_config(None);
        config.max_concurrent_multipath_paths(0);
        config.congestion_controller_factory(Arc::clone(&self.0) as _);
    }

    /// The cryptography of a client, with the reader of ECN counts.
    pub fn client(&self, inner: Arc<dyn ClientConfig>) -> Arc<dyn ClientConfig> {
        Arc::new(crypto::Client { inner, kit: self.clone() })
    }

    /// The cryptography of a server, with the reader of ECN counts.
    pub fn server(&self, inner: Arc<dyn ServerConfig>) -> Arc<dyn ServerConfig> {
        Arc::new(crypto::Server { inner, kit: self.clone() })
    }

    /// The counts of a connection whose session begins now.
    fn begin_session(&self) -> Arc<Tally> {
        let tally = match &self.0.link {
            Some(link) => Arc::clone(&link.tally),
            None => Arc::default(),
        };
        BEGUN.set(Some(Arc::clone(&tally)));
        tally
    }
}

thread_local! {
    /// The counts of the connection that this thread is creating. noq begins the session of a
    /// connection and builds its controller in one call.
    static BEGUN: RefCell<Option<Arc<Tally>>> = const { RefCell::new(None) };
}

impl Choice {
    fn ledger(&self, mtu: u16) -> Ledger {
        let mss = Bytes(u64::from(mtu));
        let setup = Setup {
            mss,
            initial_window: mss * INITIAL_WINDOW,
            paced: true,
            round_recovery: true,
            seed: self.seed,
            params: self.params.clone(),
        };
        let controller = self.catalogue.build(&self.name, &setup);
        let controller = controller.expect("the kit was made with a known name");
        let tally = BEGUN.take().unwrap_or_default();
        Ledger::new(controller, self.needs, mss, tally, self.link.is_some())
    }
}

impl ControllerFactory for Choice {
    fn build(
        self: Arc<Self>,
        now: Instant,
        mtu: u16,
    ) -> Box<dyn noq_proto::congestion::Controller> {
        let epoch = *self.epoch.get_or_init(|| now);
        let ledger = Arc::new(Mutex::new(self.ledger(mtu)));
        if let Some(link) = &self.link {
            link.set(Arc::clone(&ledger));
        }
        Box::new(adapter::Adapter::new(ledger, epoch))
    }
}

/// The ledger of a connection, shared by its adapter and the caller that polls it.
#[derive(Clone, Default)]
pub(crate) struct Link {
    tally: Arc<Tally>,
    ledger: Arc<Mutex<Option<Arc<Mutex<Ledger>>>>>,
}

impl Link {
    fn set(&self, ledger: Arc<Mutex<Ledger>>) {
        *lock(&self.ledger) = Some(ledger);
    }

    /// The ledger, once the connection exists.
    pub(crate) fn ledger(&self) -> Option<Arc<Mutex<Ledger>>> {
        lock(&self.ledger).clone()
    }
}

/// Locks a ledger, which only one thread uses at a time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
