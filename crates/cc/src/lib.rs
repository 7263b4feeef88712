//! Congestion controllers: pure state machines behind one contract.
//!
//! A controller sees the events of a sender ([`Sent`], [`Feedback`], timeouts) and answers
//! with [`Limits`]. It uses no clock, socket, queue or file: callers pass in `now` and the
//! seed. The same code therefore runs in virtual time, over UDP and inside a QUIC stack.
//!
//! To add a built-in controller: write its file, and add its line below. A user-defined
//! controller stays in the user's crate and is added to a [`Catalogue`].

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

mod abe;
mod careful_resume;
mod catalogue;
mod contract;
mod delays;
mod fixed;
mod hystart;
mod one_way;
mod registry;
mod round;
mod search;
mod undo;
mod window;
mod windowed;

pub use bbr3::View as Bbr3View;
pub use careful_resume::lacks_saved;
pub use catalogue::{Catalogue, CatalogueError};
pub use contract::{
    Controller, EcnUse, Feedback, Frame, Info, Limits, Needs, Pacing, Probe, RateSample, Received,
    Sent, Setup, Signal,
};

/// A sender in real time makes up for a packet that is late by up to this, unless it is set otherwise.
pub const CATCH_UP: Duration = Duration::from_millis(1);

registry::controllers! {
    Reno = hot reno: needs + start,
    Cubic = hot cubic: needs + start,
    Bbr = boxed bbr,
    Bbr3 = boxed bbr3: needs,
    Copa = cold copa,
    Dctcp = hot dctcp,
    Prague = cold prague,
    Vegas = cold vegas,
    Ledbat = cold ledbat: needs,
    LedbatPlusPlus = cold ledbat_plus_plus,
    Swift = cold swift,
    Vivace = boxed vivace,
    Lola = boxed lola,
    Ideal = cold ideal,
    Rapid = boxed rapid: needs,
    Scream = boxed scream: needs,
    Nada = boxed nada: needs,
    Gcc = boxed gcc,
}

/// A built-in controller.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Its registry entry.
    pub info: &'static Info,
    /// Builds a controller.
    pub build: fn(&Setup) -> AnyController,
    /// Transport features that it needs with these parameters (`info.needs` holds for the
    /// defaults).
    pub needs: fn(&Params) -> Needs,
}

/// The controller of this name.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALL.iter().find(|a| a.info.name == name)
}

/// All built-in controllers, in the order of listings.
pub fn all() -> &'static [Algorithm] {
    ALL
}

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
