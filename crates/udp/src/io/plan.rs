//! The description of a transfer, and its observer.

use sojourn_cc::Catalogue;
use sojourn_transport::{Ack, Config, Data, LossCause, Profile, Vitals};
use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

use super::Load;
use crate::client::Patience;
use crate::record::Sample;

/// A transfer.
#[derive(Debug)]
pub struct Plan {
    /// The flow's name in the summary.
    pub name: String,
    /// The name of its controller.
    pub control: String,
    /// The parameters of its controller; `None` for the defaults.
    pub params: Option<Params>,
    /// The controllers.
    pub catalogue: Catalogue,
    /// The settings of the connection, as for a simulated flow.
    pub config: Config,
    /// The data.
    pub load: Load,
    /// The transfer ends after this time, unless its load ends earlier.
    pub duration: Duration,
    /// Seed of the controller's random numbers.
    pub seed: u64,
    /// Time between samples; zero for none.
    pub interval: Duration,
    /// When to give up.
    pub patience: Patience,
}

impl Plan {
    /// A transfer of at most a minute in the profile QUIC, with samples every 10 ms.
    pub fn new(control: &str, load: Load) -> Plan {
        Plan {
            name: "upload".to_owned(),
            control: control.to_owned(),
            params: None,
            catalogue: Catalogue::shipped(),
            config: Config::new(Profile::Quic),
            load,
            duration: Duration::from_secs(60),
            seed: 1,
            interval: Duration::from_millis(10),
            patience: Patience::default(),
        }
    }
}

/// Follows a transfer, in its thread: each call delays the next packet.
pub trait Observer {
    /// Whether [`Observer::lost`] and [`Observer::vitals`] are to be called.
    fn follows_state(&self) -> bool {
        false
    }

    /// The server has accepted the connection.
    fn opened(&mut self, now: Instant) {
        let _ = now;
    }

    /// A data packet leaves. With departure times in the kernel, `at` is in the future.
    fn sent(&mut self, at: Instant, data: &Data) {
        let _ = (at, data);
    }

    /// An acknowledgement has arrived, with its sample of the round-trip time.
    fn acked(&mut self, now: Instant, ack: &Ack, rtt: Option<Duration>) {
        let _ = (now, ack, rtt);
    }

    /// A packet is deemed lost.
    fn lost(&mut self, now: Instant, number: u64, cause: LossCause) {
        let _ = (now, number, cause);
    }

    /// The state of the sender, after it has sent all that it may.
    fn vitals(&mut self, now: Instant, vitals: &Vitals) {
        let _ = (now, vitals);
    }

    /// A sample was taken.
    fn sample(&mut self, sample: &Sample) {
        let _ = sample;
    }
}

impl Observer for () {}
