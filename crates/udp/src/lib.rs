//! Sojourn's transport over UDP: the sender and receiver of `sojourn-transport`, which the
//! simulator drives in virtual time, on real sockets.
//!
//! The pure layer uses no clock, socket or thread: [`wire`] is the format of the datagrams,
//! [`client`] the end that sends data, [`server`] the end that receives them from a bounded number
//! of peers. The layer [`io`] drives both on sockets. [`record`] has the summary and the series of a
//! transfer, with the keys and columns of a simulated flow.
//!
//! ```no_run
//! use sojourn_udp::io::{Endpoint, Load, Plan, Server};
//! use sojourn_udp::server::Limits;
//! use sojourn_units::Bytes;
//!
//! let mut server = Server::bind("127.0.0.1:0".parse()?, Limits::default())?;
//! let address = server.local_addr();
//! let stop = server.stop_handle();
//! let serving = std::thread::spawn(move || server.run(&mut ()));
//! let plan = Plan::new("cubic", Load::Bytes(Bytes(10_000_000)));
//! let outcome = Endpoint::new(address).send(plan, &mut ())?;
//! println!("{} bit/s", outcome.summary.goodput_bps);
//! stop.stop();
//! serving.join().expect("no panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod client;
mod departures;
mod error;
pub mod io;
pub mod record;
pub mod server;
pub mod wire;

pub use error::Error;
