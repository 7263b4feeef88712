//! Traffic sources, which decide the data of a flow and their times. Pure state machines behind
//! one contract.
//!
//! The host of a flow calls [`Source::act`] at [`Source::next_at`], and carries out the
//! [`Action`]. [`Info`] declares the keys of the source in a scenario, and the carrier of its data.
//!
//! To add a source: write its file, and add its line below.

mod cdf;
mod contract;
pub(crate) mod draws;
mod kinds;
mod registry;
mod sizes;
mod spec;
mod transfers;

pub use cdf::{Cdf, CdfError};
pub use contract::{
    Action, Carrier, Fault, FileName, IP_HEADER, Info, Model, Setup, SizedTransfer, Source,
    Transfers,
};
pub use media::{RTP_HEADER, UDP_IP_HEADERS, pixels};
pub use spec::Spec;

registry::sources! {
    Bulk = bulk,
    File = file,
    Files = files,
    OnOff = on_off,
    Request = request,
    Ping = ping,
    Poisson = poisson,
    Media = media,
}

/// All sources, in the order of listings.
pub fn infos() -> impl Iterator<Item = &'static Info> {
    ALL.iter().map(|registered| registered.info)
}
