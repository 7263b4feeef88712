//! Requests and responses over UDP: two connections of Sojourn's transport, as in a simulation.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sojourn_sim::Remote as Report;
use sojourn_source::Source;
use sojourn_udp::io::{Load, Observer, Plan, ServerObserver, Writer};
use sojourn_udp::server::Server as Table;
use sojourn_units::{Duration, Instant};

use crate::addresses::Side;
use crate::application::Application;
use crate::clock::Clock;
use crate::flow_threads::LiveFlow;
use crate::logs::SenderFile;
use crate::sys::realtime;
use crate::tcp::{PRIORITY, socket_error};
use crate::udp::{Connection, Planned, Sender, Setup, Shared, View, received_bytes};
use crate::{Error, Namespace};

/// A flow of responses, and of the requests against its direction.
pub(crate) struct RequestFlow {
    responses: Connection,
    requests: Connection,
    /// The transfers of both, in this order, and the files of their events.
    plans: Mutex<Option<[Planned; 2]>>,
    /// What they send.
    writers: [Writer; 2],
    end: Instant,
    shared: Arc<Shared>,
}

impl RequestFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(
        setup: &Setup,
        source: Box<dyn Source>,
        sides: [&Namespace; 2],
        [response_log, request_log]: [Option<SenderFile>; 2],
    ) -> Result<RequestFlow, Error> {
        let responses = Connection::open(setup, Side::Senders, sides)?;
        let requests = Connection::open(setup, Side::Receivers, sides)?;
        let writer = || {
            Writer::new().map_err(|error| socket_error(&setup.name, "open its descriptors", error))
        };
        let writers = [writer()?, writer()?];
        let response_plan = setup.plan(Load::Written(writers[0].clone()));
        // As in a simulation. The record has no samples of requests.
        let request_plan = Plan {
            config: setup.reverse.clone(),
            seed: setup.seed ^ 1,
            interval: Duration::ZERO,
            ..setup.plan(Load::Written(writers[1].clone()))
        };
        let application = Application::new(source);
        Ok(RequestFlow {
            responses,
            requests,
            plans: Mutex::new(Some([(response_plan, response_log), (request_plan, request_log)])),
            writers,
            end: setup.end,
            shared: Arc::new(Shared::of(application)),
        })
    }

    fn application(&self) -> &Application {
        self.shared.application.as_ref().expect("a flow with requests has an application")
    }

    /// Writes the requests when the source decides.
    fn ask(&self, clock: Clock) {
        let _ = realtime::schedule_fifo(PRIORITY);
        while let Some(bytes) = self.application().next_write(clock) {
            self.writers[1].write(bytes);
        }
    }

    /// Both connections open when the flow starts, so that responses do not wait for a handshake.
    fn transfer(
        &self,
        [(responses, response_log), (requests, request_log)]: [Planned; 2],
        clock: Clock,
        opens: Instant,
        is_ending: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let mut client = Client { application: self.application(), clock, received: 0 };
        let mut server =
            Responder { application: self.application(), writer: &self.writers[0], received: 0 };
        let transfer = |connection: &Connection, plan, sender: &mut dyn Observer, receiver| {
            let observers: (_, &mut (dyn ServerObserver + Send)) = (sender, receiver);
            let done = connection.transfer(plan, [opens, self.end], clock, is_ending, observers);
            // The other connection ends as well.
            self.end();
            done.map(|_| ())
        };
        let log = self.responses.logger(response_log, opens, &responses.config);
        let mut sender = Sender { shared: &self.shared, log };
        let mut asking = self.requests.logger(request_log, opens, &requests.config);
        thread::scope(|scope| {
            scope.spawn(|| self.ask(clock));
            let requested =
                scope.spawn(|| transfer(&self.requests, requests, &mut asking, &mut server));
            let responded = transfer(&self.responses, responses, &mut sender, &mut client);
            requested.join().map_err(|_| Error::Thread("flow"))??;
            responded
        })
    }
}

impl LiveFlow for RequestFlow {
    fn report(&self) -> Box<dyn Report> {
        Box::new(View::new(&self.shared))
    }

    fn run(
        &self,
        clock: Clock,
        opens: Instant,
        is_ending: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner).take();
        plans.map_or(Ok(()), |plans| self.transfer(plans, clock, opens, is_ending))
    }

    fn end(&self) {
        self.application().end();
        self.responses.end();
        self.requests.end();
    }
}

/// The host that receives responses.
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

/// The payload beyond `received`, to which it is added. A request waits for the response before it,
/// so that all bytes of the one under way have arrived once their number has.
fn added(received: &mut u64, peers: &Table) -> u64 {
    // The list lacks a peer that has closed.
    let total = received_bytes(peers).max(*received);
    total - std::mem::replace(received, total)
}
