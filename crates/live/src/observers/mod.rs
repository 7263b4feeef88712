//! The observers of a run: captures, event files, traced acknowledgements and readings of a link.

pub(crate) mod acks;
pub(crate) mod all;
pub(crate) mod capture;
pub(crate) mod logs;
pub(crate) mod round_trip;
pub(crate) mod watch;
