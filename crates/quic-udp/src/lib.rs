//! Connections of the QUIC stack noq over UDP, with Sojourn's congestion controllers.
//!
//! A [`Driver`] runs an endpoint of noq on a socket, in the thread that calls it: it sends the ECN
//! codepoint of the controller, reads the ECN field of each received datagram, and paces by the gate
//! of [`sojourn_quic`]. An [`Application`] reads and writes the streams of a connection.

mod driver;
mod error;
mod fetch;
mod figures;
mod guard;
pub mod h3;
mod observation;
mod peer;
mod pipe;
mod reader;
mod serve;
mod settings;
pub mod tls;

pub use driver::{Application, Closing, Driver, Service, Strays};
pub use error::Error;
pub use fetch::{Fetch, Fetched, Progress};
pub use figures::{Datagrams, Ending, Figures};
pub use guard::guard;
pub use observation::{Observation, Observer, Passing, SharedObserver};
pub use pipe::{Pipe, PipeObserver};
pub use serve::{HttpServer, Resources, Serve, ServeObserver};
pub use settings::{Credit, Limits, Settings};
