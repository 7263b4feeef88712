//! A flow that a real QUIC stack carries over UDP.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use sojourn_quic::endpoint::{Crypto, KeyLogSink, SERVER_NAME, cryptography};
use sojourn_quic::noq::Kit;
use sojourn_quic_udp::{
    Credit, Driver, Ending, Error as Fault, Figures, Limits, Pipe, PipeObserver, Service,
    Settings as QuicSettings, SharedObserver,
};
use sojourn_scenario::StackChoice;
use sojourn_scenario::source::{Carrier, Source};
use sojourn_sim::RemoteState;
use sojourn_trace::Histogram;
use sojourn_udp::io::{Socket, Writer, least_timer_slack};
use sojourn_units::{Bytes, Duration, Instant};

use crate::endpoints::application::Application;
use crate::endpoints::live_flow::{LiveFlow, SAMPLE, Start};
use crate::endpoints::shared::Shared;
use crate::endpoints::udp::{PORT, Setup, Stops};
use crate::error::Error;
use crate::machine::sys::realtime::{self, OF_ENDPOINTS};
use crate::machine::{Namespace, Side};
use sojourn_udp::io::Clock;

/// The stack that can run over UDP.
pub(crate) const STACK: &str = "noq";
/// Data that may wait in the stack, and flow control, as in virtual time.
const WINDOW: Bytes = Bytes(64 << 20);

/// The credit of both ends, whose data are those of one stream.
const CREDIT: Credit = Credit { receive_windows: [WINDOW, WINDOW], streams: [100, 100] };

/// A flow of noq over UDP.
pub(crate) struct QuicFlow {
    name: String,
    settings: QuicSettings,
    crypto: Crypto,
    /// The side that opens the connection: that of the requests, or else of the data.
    opening: Side,
    to: SocketAddr,
    sockets: [UdpSocket; 2],
    /// Data of each side that its stack has not taken.
    writers: [Writer; 2],
    stops: Mutex<Stops>,
    shared: Arc<Shared>,
    lateness: Mutex<Option<Histogram>>,
    /// The observers of both sides, until the flow begins.
    observers: Mutex<[Option<SharedObserver>; 2]>,
}

/// The side that opens the connection of a flow.
pub(crate) fn opening(carrier: Carrier) -> Side {
    if carrier == Carrier::Requests { Side::Receivers } else { Side::Senders }
}

impl QuicFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(
        setup: &Setup,
        choice: &StackChoice,
        source: Box<dyn Source>,
        carrier: Carrier,
        sides: [&Namespace; 2],
        (observers, secrets): ([Option<SharedObserver>; 2], Option<KeyLogSink>),
    ) -> Result<QuicFlow, Error> {
        let opening = opening(carrier);
        let address = |side: Side| SocketAddr::new(side.of_flow(setup.version, setup.index), PORT);
        let bind = |side: Side| {
            let socket = sides[side as usize].enter(|| UdpSocket::bind(address(side)))?;
            socket.map_err(|error| Error::socket(&setup.name, "open its socket", error))
        };
        let writer = || {
            Writer::new().map_err(|error| Error::socket(&setup.name, "open its descriptors", error))
        };
        let (kind, params) = setup.control.clone();
        let kit = Kit::with(setup.catalogue.clone(), &kind, params, setup.seed);
        let mtu = u16::try_from(choice.params.data("mtu").0).unwrap_or(u16::MAX);
        let settings = QuicSettings {
            mtu,
            ack_every: u32::try_from(choice.params.integer("ack_every")).ok(),
            // The links decide how long a path is silent.
            idle: None,
            send_window: WINDOW,
            counts_retransmissions: true,
            ..QuicSettings::new(kit.expect("the scenario was validated"))
        };
        Ok(QuicFlow {
            name: setup.name.clone(),
            settings,
            crypto: cryptography(choice.params.choice("crypto"), secrets),
            opening,
            to: address(opening.other()),
            sockets: [bind(Side::Senders)?, bind(Side::Receivers)?],
            writers: [writer()?, writer()?],
            stops: Mutex::default(),
            shared: Arc::new(Shared::of(Application::new(source))),
            lateness: Mutex::default(),
            observers: Mutex::new(observers),
        })
    }

    /// Writes data, or requests, when the source decides.
    fn write(&self, clock: Clock) {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        while let Some(bytes) = self.shared.application().next_write(clock) {
            self.writers[self.opening as usize].write(bytes);
        }
    }

    fn ends(&self, side: Side, clock: Clock) -> Ends<'_> {
        Ends { flow: self, side, clock, fault: None }
    }

    fn socket(&self, side: Side) -> Result<Socket, Fault> {
        let socket = self.sockets[side as usize].try_clone();
        let opener = move |_| match &socket {
            Ok(socket) => socket.try_clone(),
            Err(error) => Err(error.kind().into()),
        };
        Ok(Socket::bind(self.to, &opener)?)
    }

    /// Runs the end that accepts the connection.
    fn serve(&self, clock: Clock) -> Result<(), Fault> {
        let side = self.opening.other();
        let (settings, ends) = (self.settings.clone(), self.ends(side, clock));
        let (crypto, limits) = (Arc::clone(&self.crypto.server), Limits::default());
        let driver = Driver::server(self.socket(side)?, clock, settings, ends, crypto, limits)?;
        self.drive(side, driver, |_| Ok(()))
    }

    /// Runs the end that opens the connection at `opens`.
    fn connect(&self, clock: Clock, opens: Instant) -> Result<(), Fault> {
        let side = self.opening;
        let (settings, ends) = (self.settings.clone(), self.ends(side, clock));
        let driver = Driver::client(self.socket(side)?, clock, settings, ends)?;
        self.drive(side, driver, |driver| {
            clock.sleep_until(opens);
            let pipe = driver.service().pipe();
            driver.connect(self.to, SERVER_NAME, Arc::clone(&self.crypto.client), pipe)
        })
    }

    /// Runs the driver of a side in this thread, after its begin.
    fn drive<'a>(
        &self,
        side: Side,
        driver: Driver<Ends<'a>>,
        begin: impl FnOnce(&mut Driver<Ends<'a>>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        least_timer_slack();
        let mut driver = driver.with_credit(CREDIT).with_observer(self.observer(side));
        self.stops().register(driver.stop_handle());
        begin(&mut driver)?;
        driver.run(&mut |ends| ends.fault.is_some())?;
        driver.service().outcome()
    }

    /// The observer of a side, which its driver owns: with the driver, its files are complete.
    fn observer(&self, side: Side) -> Option<SharedObserver> {
        let mut observers = self.observers.lock().unwrap_or_else(PoisonError::into_inner);
        observers[side as usize].take()
    }

    fn stops(&self) -> std::sync::MutexGuard<'_, Stops> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveFlow for QuicFlow {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn run(&self, Start { clock, opens, is_ending }: Start<'_>) -> Result<(), Error> {
        thread::scope(|scope| {
            scope.spawn(|| self.write(clock));
            let ends = |done| {
                // The other threads end as well.
                self.end();
                done
            };
            let served = scope.spawn(move || ends(self.serve(clock)));
            let connected = ends(self.connect(clock, opens));
            let served = served.join().map_err(|_| Error::Thread("flow"))?;
            match connected.and(served) {
                Err(error) if !is_ending() => Err(Error::Quic { flow: self.name.clone(), error }),
                _ => Ok(()),
            }
        })
    }

    fn lateness(&self) -> Option<(&str, Histogram)> {
        let lateness = self.lateness.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((&self.name, lateness))
    }

    fn end(&self) {
        self.shared.application().end();
        self.stops().end();
    }
}

/// The application at one side, for the driver of its socket.
struct Ends<'a> {
    flow: &'a QuicFlow,
    side: Side,
    clock: Clock,
    /// The connection ended by itself.
    fault: Option<String>,
}

impl<'a> Ends<'a> {
    fn pipe(&self) -> Pipe<Delivered<'a>> {
        let writer = self.flow.writers[self.side as usize].clone();
        Pipe::new(writer, Delivered { flow: self.flow, side: self.side, clock: self.clock })
    }

    fn outcome(&self) -> Result<(), Fault> {
        let address = self.flow.to;
        let fault = self.fault.clone();
        fault.map_or(Ok(()), |reason| Err(Fault::Failed { address, reason }))
    }
}

impl<'a> Service for Ends<'a> {
    type App = Pipe<Delivered<'a>>;

    fn accept(&mut self, _: SocketAddr) -> Pipe<Delivered<'a>> {
        self.pipe()
    }

    fn ended(&mut self, _: &mut Pipe<Delivered<'a>>, figures: &Figures) {
        match &figures.ending {
            Ending::Failed(reason) | Ending::Fault(reason) => self.fault = Some(reason.clone()),
            Ending::Vanished => self.fault = Some("the other end was silent".to_owned()),
            Ending::Open | Ending::Closed => {}
        }
        if self.side == Side::Senders {
            let mut lateness = self.flow.lateness.lock().unwrap_or_else(PoisonError::into_inner);
            *lateness = Some(figures.lateness.clone());
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        if self.side == Side::Senders {
            self.flow.shared.on_rtt(rtt);
        }
    }

    fn look(&mut self, _: &mut Pipe<Delivered<'a>>, figures: &Figures) {
        if self.side == Side::Senders {
            self.flow.shared.update(|state| *state = RemoteState::from(&figures.state));
        }
    }

    fn look_every(&self) -> Option<Duration> {
        Some(if self.side == Side::Senders { SAMPLE } else { Duration::from_secs(1) })
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        Some(self.flow.writers[self.side as usize].descriptor())
    }
}

/// Passes the bytes that have arrived at one side to the application.
pub(crate) struct Delivered<'a> {
    flow: &'a QuicFlow,
    side: Side,
    clock: Clock,
}

impl PipeObserver for Delivered<'_> {
    fn received(&mut self, _: Instant, bytes: u64) {
        match self.side {
            Side::Receivers => self.flow.shared.application().on_received(bytes, self.clock),
            Side::Senders => {
                let due = self.flow.shared.application().on_requested(bytes);
                if due > 0 {
                    self.flow.writers[Side::Senders as usize].write(due);
                }
            }
        }
    }
}
