//! Sojourn's transport over UDP as the two ends of a flow.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sojourn_cc::Catalogue;
use sojourn_scenario::source::Source;
use sojourn_sim::RemoteState;
use sojourn_transport::{Ack, Config, Data, LossCause, Vitals};
use sojourn_udp::client::Patience;
use sojourn_udp::io::{
    Departures, Endpoint, Load, Observer, Opener, Plan, Server, ServerObserver, StopHandle,
    Timing as UdpTiming,
};
use sojourn_udp::record::Sample;
use sojourn_udp::server::{Limits, Server as Table};
use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant, Rate};

use crate::endpoints::live_flow::{LiveFlow, SAMPLE, Start};
use crate::endpoints::shared::Shared;
use crate::error::Error;
use crate::machine::sys::realtime::{self, OF_ENDPOINTS};
use crate::machine::{IpVersion, Namespace, Side};
use crate::observers::logs::{Logger, SenderFile};
use sojourn_udp::io::Clock;

/// Port of every receiver: flows differ in their addresses.
pub(crate) const PORT: u16 = 4433;

/// The settings of a flow.
pub(crate) struct Setup {
    pub(crate) name: String,
    /// Place of the flow in the scenario.
    pub(crate) index: usize,
    pub(crate) version: IpVersion,
    pub(crate) control: (String, Params),
    pub(crate) catalogue: Catalogue,
    pub(crate) config: Config,
    /// That of requests, which travel in the opposite direction.
    pub(crate) reverse: Config,
    /// The latest end of the flow.
    pub(crate) end: Instant,
    pub(crate) seed: u64,
    pub(crate) departures: Departures,
}

/// A flow of Sojourn's transport over UDP whose source does not wait for deliveries.
pub(crate) struct UdpFlow {
    connection: Connection,
    end: Instant,
    /// The transfer until it begins.
    plan: Mutex<Option<Planned>>,
    shared: Arc<Shared>,
}

/// A transfer, and the file of its events if it is wanted.
pub(crate) type Planned = (Plan, Option<SenderFile>);

/// The sockets of one connection, whose data have one direction.
pub(crate) struct Connection {
    /// Name of the flow.
    name: String,
    to: SocketAddr,
    sockets: [UdpSocket; 2],
    departures: Departures,
    stops: Mutex<Stops>,
}

/// The handles of the running ends.
#[derive(Default)]
pub(crate) struct Stops {
    handles: Vec<StopHandle>,
    has_ended: bool,
}

impl Stops {
    /// Adds the handle of an end that starts.
    pub(crate) fn register(&mut self, handle: StopHandle) {
        if self.has_ended {
            handle.abandon();
        }
        self.handles.push(handle);
    }

    /// Ends them all at once.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
        self.handles.iter().for_each(StopHandle::abandon);
    }
}

impl UdpFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(
        setup: &Setup,
        source: Box<dyn Source>,
        sides: [&Namespace; 2],
        log: Option<SenderFile>,
    ) -> Result<UdpFlow, Error> {
        let connection = Connection::open(setup, Side::Senders, sides)?;
        let plan = setup.plan(Load::Source(source));
        Ok(UdpFlow {
            connection,
            end: setup.end,
            plan: Mutex::new(Some((plan, log))),
            shared: Arc::default(),
        })
    }
}

impl Connection {
    /// Opens the sockets of a connection whose data `from` sends.
    pub(crate) fn open(
        setup: &Setup,
        from: Side,
        sides: [&Namespace; 2],
    ) -> Result<Connection, Error> {
        let address =
            |side: Side, port| SocketAddr::new(side.of_flow(setup.version, setup.index), port);
        let to = address(from.other(), PORT);
        let bind = |side: Side, at: SocketAddr, step| {
            let socket = sides[side as usize].enter(|| UdpSocket::bind(at))?;
            socket.map_err(|error| Error::Socket { flow: setup.name.clone(), step, error })
        };
        let sockets = [
            bind(from, address(from, 0), "open its sender")?,
            bind(from.other(), to, "open its receiver")?,
        ];
        let departures = match setup.departures {
            // This thread does not see the devices of the namespaces. The run has added `fq`.
            Departures::Kernel => Departures::KernelAssumed,
            other => other,
        };
        let name = setup.name.clone();
        Ok(Connection { name, to, sockets, departures, stops: Mutex::default() })
    }

    /// Writes the events of its sender, if they are wanted.
    pub(crate) fn logger(
        &self,
        log: Option<SenderFile>,
        opens: Instant,
        transport: &Config,
    ) -> Logger {
        let local = self.sockets[0].local_addr().unwrap_or(self.to);
        Logger::new(log, opens, [local, self.to], transport)
    }

    /// Transfers the data of a plan until `end` or [`Connection::end`].
    pub(crate) fn transfer(
        &self,
        mut plan: Plan,
        Start { clock, opens, is_ending }: Start<'_>,
        end: Instant,
        sender: &mut dyn Observer,
        receiver: &mut (dyn ServerObserver + Send),
    ) -> Result<(), Error> {
        plan.duration = end.since(opens);
        let mut server = self.serve(clock)?;
        let (endpoint, stop) = (self.endpoint(clock), server.stop_handle());
        thread::scope(|scope| {
            let served = scope.spawn(|| {
                let _ = realtime::schedule_fifo(OF_ENDPOINTS);
                server.run(receiver)
            });
            let _ = realtime::schedule_fifo(OF_ENDPOINTS);
            clock.sleep_until(opens);
            let sent = endpoint.send(plan, sender);
            stop.stop();
            served.join().map_err(|_| Error::Thread("flow"))?.map_err(|e| self.failed(e))?;
            match sent {
                // A connection that no answer has opened by the end of the flow is not a fault.
                Err(error) if !is_ending() && clock.now() < end => Err(self.failed(error)),
                Ok(_) | Err(_) => Ok(()),
            }
        })
    }

    /// Ends a transfer at once.
    pub(crate) fn end(&self) {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).end();
    }

    fn serve(&self, clock: Clock) -> Result<Server, Error> {
        let server = Server::bind_with(self.to, Limits::default(), clock, &*self.opener(1))
            .map_err(|error| self.failed(error))?;
        self.register(server.stop_handle());
        Ok(server)
    }

    fn endpoint(&self, clock: Clock) -> Endpoint {
        let timing = UdpTiming { departures: self.departures, ..UdpTiming::default() };
        let endpoint = Endpoint::new(self.to).with_clock(clock).with_opener(self.opener(0));
        let endpoint = endpoint.with_timing(timing);
        self.register(endpoint.stop_handle());
        endpoint
    }

    /// Hands out the socket that was opened in the namespace.
    fn opener(&self, side: usize) -> Box<Opener> {
        let socket = self.sockets[side].try_clone();
        let socket = Mutex::new(Some(socket));
        Box::new(move |_| {
            let taken = socket.lock().unwrap_or_else(PoisonError::into_inner).take();
            taken.unwrap_or_else(|| Err(io::Error::other("the socket is in use")))
        })
    }

    fn register(&self, handle: StopHandle) {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner).register(handle);
    }

    fn failed(&self, error: sojourn_udp::Error) -> Error {
        Error::Udp { flow: self.name.clone(), error }
    }
}

impl Setup {
    /// The transfer of this load.
    pub(crate) fn plan(&self, load: Load) -> Plan {
        let (control, params) = self.control.clone();
        Plan {
            name: self.name.clone(),
            control,
            params: Some(params),
            catalogue: self.catalogue.clone(),
            config: self.config.clone(),
            load,
            seed: self.seed,
            interval: SAMPLE,
            // The links decide how long a path is silent.
            patience: Patience { silence: Duration::MAX, ..Patience::default() },
            ..Plan::new("", Load::Endless)
        }
    }
}

impl LiveFlow for UdpFlow {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn run(&self, start: Start<'_>) -> Result<(), Error> {
        let taken = self.plan.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((plan, log)) = taken else { return Ok(()) };
        let log = self.connection.logger(log, start.opens, &plan.config);
        let mut sender = Sender { shared: &self.shared, log };
        let mut receiver = Receiver(&self.shared);
        self.connection.transfer(plan, start, self.end, &mut sender, &mut receiver)
    }

    fn end(&self) {
        self.connection.end();
    }
}

/// Follows the sender.
pub(crate) struct Sender<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) log: Logger,
}

impl Observer for Sender<'_> {
    fn follows_state(&self) -> bool {
        self.log.follows_state()
    }

    fn sent(&mut self, at: Instant, data: &Data) {
        self.log.sent(at, data);
    }

    fn acked(&mut self, now: Instant, ack: &Ack, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.shared.on_rtt(rtt);
        }
        self.log.acked(now, ack, rtt);
    }

    fn lost(&mut self, now: Instant, number: u64, cause: LossCause) {
        self.log.lost(now, number, cause);
    }

    fn vitals(&mut self, now: Instant, vitals: &Vitals) {
        self.log.vitals(now, vitals);
    }

    fn sample(&mut self, sample: &Sample) {
        self.shared.update(|state| {
            *state = RemoteState {
                received_bytes: state.received_bytes,
                transfers: state.transfers,
                phase: sample.phase,
                cwnd: sample.cwnd,
                ssthresh: sample.ssthresh,
                srtt: sample.srtt,
                min_rtt: sample.min_rtt,
                pacing: sample.pacing_bps.map(rate),
                alpha: sample.alpha,
                bandwidth: sample.bandwidth_bps.map(rate),
                in_flight: sample.in_flight,
                lost: sample.stats.lost,
                retransmitted: sample.stats.retransmitted,
                spurious_retransmissions: Some(sample.stats.spurious_retransmissions),
                undone_reductions: Some(sample.stats.undone_reductions),
                timeouts: Some(sample.stats.timeouts),
                rwnd_limited: sample.rwnd_limited,
                ecn_failure: sample.ecn_failure,
                marked: sample.marked_packets,
            };
        });
    }
}

fn rate(bps: f64) -> Rate {
    Rate(bps as u64)
}

/// Follows the receiver.
struct Receiver<'a>(&'a Shared);

impl ServerObserver for Receiver<'_> {
    fn interval(&self) -> Duration {
        SAMPLE
    }

    fn look(&mut self, _now: Instant, peers: &Table) {
        let received = received_bytes(peers);
        // The list lacks a peer that has closed.
        self.0.update(|state| state.received_bytes = state.received_bytes.max(received));
    }
}

/// Payload that the peers have sent, each byte once.
pub(crate) fn received_bytes(peers: &Table) -> u64 {
    peers.peers().map(|peer| peer.receipt.bytes).sum()
}
