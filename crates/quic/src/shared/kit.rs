//! A controller for the connections of a stack's endpoint.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use sojourn_cc::{Catalogue, Needs, Setup};
use sojourn_transport::StackEvent;
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Ecn};

use super::adapter::Adapter;
use super::dialect::{self, proto};
use super::reader;
use crate::ledger::{INITIAL_WINDOW, Ledger};
use crate::lock::lock;
use crate::refusal::KitError;
use crate::tally::Tally;
use proto::TransportConfig;
use proto::congestion::{Controller, ControllerFactory};
use proto::crypto::{ClientConfig, ServerConfig};

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
    /// Connections so far: each has random numbers of its own, so that flows that start together
    /// do not probe together.
    begun: AtomicU64,
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
    /// If the name is unknown, or the stack cannot serve the controller.
    pub fn new(name: &str) -> Result<Kit, KitError> {
        let catalogue = Catalogue::shipped();
        let params = catalogue.find(name).map_or(Params::empty(), |i| Params::defaults(i.params));
        Kit::with(catalogue, name, params, 0)
    }

    /// The controller of this name in a catalogue, with a value for each of its parameters. `seed`:
    /// of the random numbers of the first connection; further connections have others.
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
        if let Some(need) = dialect::LACKS.of(&needs) {
            return Err(KitError::Lacks { stack: dialect::NAME, name: name.to_owned(), need });
        }
        let (name, begun, epoch) = (name.to_owned(), AtomicU64::new(0), OnceLock::new());
        let choice = Choice { catalogue, name, params, needs, seed, begun, epoch, link: None };
        Ok(Kit(Arc::new(choice)))
    }

    /// The same controller for one connection whose caller polls it through the returned link, in
    /// time that begins at `epoch`.
    pub(crate) fn linked(&self, epoch: Instant) -> (Kit, Link) {
        let Choice { catalogue, name, params, needs, .. } = &*self.0;
        let link = Link::default();
        let choice = Choice {
            catalogue: catalogue.clone(),
            name: name.clone(),
            params: params.clone(),
            needs: *needs,
            seed: self.0.next_seed(),
            begun: AtomicU64::new(0),
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

    /// The counts of a connection whose session begins now.
    pub(super) fn begin_session(&self) -> Arc<Tally> {
        let tally = match &self.0.link {
            Some(link) => Arc::clone(&link.tally),
            None => Arc::default(),
        };
        BEGUN.set(Some(Arc::clone(&tally)));
        tally
    }
}

thread_local! {
    /// The counts of the connection that this thread is creating. The stacks begin the
    /// session of a connection and build its controller in one call.
    static BEGUN: RefCell<Option<Arc<Tally>>> = const { RefCell::new(None) };
}

impl Choice {
    /// The seed of the next connection: that of the kit for the first one, and others at distances
    /// of the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4).
    fn next_seed(&self) -> u64 {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        self.seed.wrapping_add(begun.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn ledger(&self, mtu: u16, tally: Arc<Tally>) -> Ledger {
        let mss = Bytes(u64::from(mtu));
        let setup = Setup {
            mss,
            initial_window: mss * INITIAL_WINDOW,
            paced: true,
            round_recovery: true,
            seed: self.next_seed(),
            params: self.params.clone(),
        };
        let controller = self.catalogue.build(&self.name, &setup);
        let controller = controller.expect("the kit was made with a known name");
        Ledger::new(controller, self.needs, mss, tally, self.link.is_some())
    }
}

impl ControllerFactory for Choice {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let epoch = *self.epoch.get_or_init(|| now);
        let tally = BEGUN.take().unwrap_or_default();
        let ledger = Arc::new(Mutex::new(self.ledger(mtu, Arc::clone(&tally))));
        if let Some(link) = &self.link {
            link.set(Arc::clone(&ledger));
        }
        Box::new(Adapter::new(ledger, tally, epoch))
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

    /// Keeps events from now on. Called before the connection begins, if at all.
    pub(crate) fn observe(&self) {
        self.tally.observe();
    }

    /// Counts retransmissions from now on. Called before the connection begins, if at all.
    pub(crate) fn count_retransmissions(&self) {
        self.tally.count_retransmissions();
    }

    /// Passes on the events since the last call, then the state of the sender if there were any.
    pub(crate) fn take_events(&self, take: &mut dyn FnMut(StackEvent)) {
        let events = self.tally.take_log();
        let is_changed = !events.is_empty();
        events.into_iter().for_each(&mut *take);
        if is_changed && let Some(ledger) = self.ledger() {
            take(StackEvent::State(lock(&ledger).vitals()));
        }
    }

    /// The ledger, once the connection exists.
    pub(crate) fn ledger(&self) -> Option<Arc<Mutex<Ledger>>> {
        lock(&self.ledger).clone()
    }
}
