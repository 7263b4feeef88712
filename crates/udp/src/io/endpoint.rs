//! The sending endpoint.

use std::net::SocketAddr;

use sojourn_units::params::Params;

use super::clock::Clock;
use super::fit::fit;
use super::load::Feed;
use super::plan::{Observer, Plan};
use super::qdisc;
use super::socket::{Opener, Socket, least_timer_slack, open_here};
use super::stop::StopHandle;
use super::transfer::Transfer;
use crate::client::{Client, Setup};
use crate::departures::{Departures, Timing};
use crate::error::Error;
use crate::record::Outcome;

/// An endpoint that sends data to a server.
pub struct Endpoint {
    remote: SocketAddr,
    clock: Clock,
    timing: Timing,
    opener: Box<Opener>,
    stop: StopHandle,
}

impl Endpoint {
    /// An endpoint that sends to the server at `remote`.
    pub fn new(remote: SocketAddr) -> Endpoint {
        Endpoint {
            remote,
            clock: Clock::start(),
            timing: Timing::default(),
            opener: Box::new(open_here),
            stop: StopHandle::default(),
        }
    }

    /// Replaces the function that opens the socket.
    pub fn with_opener(self, opener: Box<Opener>) -> Endpoint {
        Endpoint { opener, ..self }
    }

    /// Replaces the clock, so that several endpoints have the same time.
    pub fn with_clock(self, clock: Clock) -> Endpoint {
        Endpoint { clock, ..self }
    }

    /// Replaces the way of keeping time.
    pub fn with_timing(self, timing: Timing) -> Endpoint {
        Endpoint { timing, ..self }
    }

    /// Ends its transfer from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    /// Carries out a transfer in this thread, whose timer slack it sets to the least.
    ///
    /// # Errors
    /// If the controller is unknown or refused, the server is not reachable or vanishes, or the
    /// socket fails.
    pub fn send(&self, plan: Plan, observer: &mut dyn Observer) -> Result<Outcome, Error> {
        let socket = Socket::connect(self.remote, &*self.opener)?;
        let setup = self.setup(&plan, &socket)?;
        let mss = setup.config.mss;
        self.enable_departure_times(&socket)?;
        least_timer_slack();
        let mut client = Client::new(self.clock.now(), setup);
        client.sender_mut().catch_up(self.timing.catch_up);
        if observer.follows_state() {
            client.sender_mut().watch();
        }
        let feed = Feed::new(plan.load)?;
        let mut transfer =
            Transfer::new(self.remote, socket, self.clock, self.timing, client, feed);
        let end = transfer.run(plan.duration, plan.interval, &self.stop, observer)?;
        let mut outcome = transfer.outcome(&plan.name, &plan.control, end);
        outcome.mss = mss;
        Ok(outcome)
    }

    /// The connection of a plan, with packets that fit the path.
    fn setup(&self, plan: &Plan, socket: &Socket) -> Result<Setup, Error> {
        let unknown = || Error::UnknownController {
            name: plan.control.clone(),
            known: plan.catalogue.infos().map(|info| info.name).collect::<Vec<_>>().join(", "),
        };
        let info = plan.catalogue.find(&plan.control).ok_or_else(unknown)?;
        let params = plan.params.clone().unwrap_or_else(|| Params::defaults(info.params));
        let mut config = plan.config.clone();
        fit(&mut config, self.remote, socket.path_mtu())?;
        let (catalogue, id) = (&plan.catalogue, connection_id()?);
        let setup = Setup::new(catalogue, &plan.control, &params, config, plan.seed, id)?;
        Ok(Setup { patience: plan.patience, ..setup.ok_or_else(unknown)? })
    }
}

impl Endpoint {
    /// Lets the kernel hold the packets, if it is to. Refuses if it would not.
    fn enable_departure_times(&self, socket: &Socket) -> Result<(), Error> {
        let departures = self.timing.departures;
        if !departures.are_kernels() {
            return Ok(());
        }
        let local = socket.local_addr()?.ip();
        let is_assumed = departures == Departures::KernelAssumed;
        if let Some(hindrance) = (!is_assumed).then(|| qdisc::hindrance(local)).flatten() {
            return Err(Error::Departures(hindrance));
        }
        let refused = |errno| Error::Departures(format!("the kernel has no SO_TXTIME ({errno})"));
        socket.enable_departure_times().map_err(refused)
    }
}

/// A number that only the two ends know.
fn connection_id() -> Result<u64, Error> {
    getrandom::u64()
        .map_err(|error| Error::socket("draw a connection ID", std::io::Error::from(error)))
}
