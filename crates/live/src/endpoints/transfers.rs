//! Files and responses over UDP: their source waits for deliveries, which the receiver reports. Requests
//! have a connection of their own, as in a simulation.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sojourn_scenario::source::{Carrier, Source};
use sojourn_udp::io::{Load, Observer, Plan, ServerObserver, Writer};
use sojourn_udp::server::Server as Table;
use sojourn_units::{Duration, Instant};

use crate::endpoints::application::Application;
use crate::endpoints::live_flow::{LiveFlow, Start};
use crate::endpoints::shared::Shared;
use crate::endpoints::udp::{Connection, Planned, Sender, Setup, received_bytes};
use crate::error::Error;
use crate::machine::sys::realtime::{self, OF_ENDPOINTS};
use crate::machine::{Namespace, Side};
use crate::observers::logs::SenderFile;
use sojourn_udp::io::Clock;

/// A flow of transfers, and of the requests for them.
pub(crate) struct TransferFlow {
    data: Path,
    requests: Option<Path>,
    end: Instant,
    shared: Arc<Shared>,
}

/// A connection, its transfer, and the writer of its data.
struct Path {
    connection: Connection,
    plan: Mutex<Option<Planned>>,
    writer: Writer,
}

impl Path {
    fn open(
        setup: &Setup,
        from: Side,
        sides: [&Namespace; 2],
        log: Option<SenderFile>,
    ) -> Result<Path, Error> {
        let writer = Writer::new()
            .map_err(|error| Error::socket(&setup.name, "open its descriptors", error))?;
        let plan = setup.plan(Load::Written(writer.clone()));
        let plan = match from {
            Side::Senders => plan,
            // As in a simulation. The record has no samples of requests.
            Side::Receivers => Plan {
                config: setup.reverse.clone(),
                seed: setup.seed ^ 1,
                interval: Duration::ZERO,
                ..plan
            },
        };
        let connection = Connection::open(setup, from, sides)?;
        Ok(Path { connection, plan: Mutex::new(Some((plan, log))), writer })
    }
}

impl TransferFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(
        setup: &Setup,
        source: Box<dyn Source>,
        carrier: Carrier,
        sides: [&Namespace; 2],
        [data_log, request_log]: [Option<SenderFile>; 2],
    ) -> Result<TransferFlow, Error> {
        let has_requests = carrier == Carrier::Requests;
        let requests = has_requests.then(|| Path::open(setup, Side::Receivers, sides, request_log));
        Ok(TransferFlow {
            data: Path::open(setup, Side::Senders, sides, data_log)?,
            requests: requests.transpose()?,
            end: setup.end,
            shared: Arc::new(Shared::of(Application::new(source))),
        })
    }

    /// Writes the data, or the requests for them, when the source decides.
    fn write(&self, clock: Clock) {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        let written = self.requests.as_ref().unwrap_or(&self.data);
        while let Some(bytes) = self.shared.application().next_write(clock) {
            written.writer.write(bytes);
        }
    }
}

impl LiveFlow for TransferFlow {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Both connections open when the flow starts, so that responses do not wait for a handshake.
    fn run(&self, start: Start<'_>) -> Result<(), Error> {
        let application = self.shared.application();
        let mut client = Client { application, clock: start.clock, received: 0 };
        let mut server = Responder { application, writer: &self.data.writer, received: 0 };
        let transfer = |path: &Path, is_data: bool, receiver: &mut (dyn ServerObserver + Send)| {
            let planned = path.plan.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((plan, log)) = planned else { return Ok(()) };
            let mut log = path.connection.logger(log, start.opens, &plan.config);
            let mut sender;
            let sender: &mut dyn Observer = match is_data {
                true => {
                    sender = Sender { shared: &self.shared, log };
                    &mut sender
                }
                // The record has no samples of requests.
                false => &mut log,
            };
            let done = path.connection.transfer(plan, start, self.end, sender, receiver);
            // The other connection ends as well.
            self.end();
            done
        };
        thread::scope(|scope| {
            scope.spawn(|| self.write(start.clock));
            let requests = self.requests.as_ref();
            let requested = requests.map(|path| scope.spawn(|| transfer(path, false, &mut server)));
            let responded = transfer(&self.data, true, &mut client);
            let requested =
                requested.map(|thread| thread.join().map_err(|_| Error::Thread("flow")));
            requested.transpose()?.transpose()?;
            responded
        })
    }

    fn end(&self) {
        self.shared.application().end();
        self.data.connection.end();
        self.requests.iter().for_each(|path| path.connection.end());
    }
}

/// The host that receives data.
struct Client<'a> {
    application: &'a Application,
    clock: Clock,
    received: u64,
}

impl ServerObserver for Client<'_> {
    fn arrived(&mut self, peers: &Table) {
        let new = added(&mut self.received, peers);
        if new > 0 {
            self.application.on_received(new, self.clock);
        }
    }
}

/// The host that receives requests, and responds.
struct Responder<'a> {
    application: &'a Application,
    writer: &'a Writer,
    received: u64,
}

impl ServerObserver for Responder<'_> {
    fn arrived(&mut self, peers: &Table) {
        let new = added(&mut self.received, peers);
        let due = self.application.on_requested(new);
        if due > 0 {
            self.writer.write(due);
        }
    }
}

/// The payload beyond `received`, to which it is added. A transfer waits for the one before it, so that
/// all bytes of the one under way have arrived once their number has.
fn added(received: &mut u64, peers: &Table) -> u64 {
    // The list lacks a peer that has closed.
    let total = received_bytes(peers).max(*received);
    total - std::mem::replace(received, total)
}
