//! A controller for the connections of a stack's endpoint.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use sojourn_cc::{Catalogue, Needs, Setup};
use sojourn_transport::Lacks;
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Ecn};

use crate::ledger::{INITIAL_WINDOW, Ledger};
use crate::link::Link;
use crate::refusal::KitError;
use crate::tally::Tally;

/// A stack that a kit can be for.
pub trait Dialect: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Inputs that it cannot give to a controller.
    const LACKS: Lacks;
}

/// A controller of Sojourn for the connections of an endpoint of the stack `S`.
///
/// `apply_to` installs the controller, and `client` or `server` the reader of ECN counts. Controllers
/// that count marks need both.
pub struct Kit<S>(pub(crate) Arc<Choice>, PhantomData<fn() -> S>);

impl<S> Clone for Kit<S> {
    fn clone(&self) -> Kit<S> {
        Kit(Arc::clone(&self.0), PhantomData)
    }
}

/// The chosen controller, which builds the controllers of connections.
pub(crate) struct Choice {
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

impl<S> fmt::Debug for Kit<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl<S: Dialect> Kit<S> {
    /// The shipped controller of this name, with the defaults of its parameters.
    ///
    /// # Errors
    /// If the name is unknown, or the stack cannot serve the controller.
    pub fn new(name: &str) -> Result<Kit<S>, KitError> {
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
    ) -> Result<Kit<S>, KitError> {
        let Some(needs) = catalogue.needs(name, &params) else {
            let known = catalogue.infos().map(|info| info.name.to_owned()).collect();
            return Err(KitError::Unknown { name: name.to_owned(), known });
        };
        if let Some(need) = S::LACKS.of(&needs) {
            return Err(KitError::Lacks { stack: S::NAME, name: name.to_owned(), need });
        }
        let (name, begun, epoch) = (name.to_owned(), AtomicU64::new(0), OnceLock::new());
        let choice = Choice { catalogue, name, params, needs, seed, begun, epoch, link: None };
        Ok(Kit(Arc::new(choice), PhantomData))
    }

    /// The same controller for one connection whose caller polls it through the returned link, in
    /// time that begins at `epoch`.
    pub(crate) fn linked(&self, epoch: Instant) -> (Kit<S>, Link) {
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
        (Kit(Arc::new(choice), PhantomData), link)
    }

    /// The ECN codepoint of the connections' packets.
    pub fn codepoint(&self) -> Ecn {
        self.0.needs.ecn.codepoint()
    }

    /// The counts of a connection whose session begins now.
    pub(crate) fn begin_session(&self) -> Arc<Tally> {
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

    /// The ledger, the counts and the zero of time of a connection that begins at `now`.
    pub(crate) fn begin(
        &self,
        now: Instant,
        mtu: u16,
    ) -> (Arc<Mutex<Ledger>>, Arc<Tally>, Instant) {
        let epoch = *self.epoch.get_or_init(|| now);
        let tally = BEGUN.take().unwrap_or_default();
        let ledger = Arc::new(Mutex::new(self.ledger(mtu, Arc::clone(&tally))));
        if let Some(link) = &self.link {
            link.set(Arc::clone(&ledger));
        }
        (ledger, tally, epoch)
    }
}
