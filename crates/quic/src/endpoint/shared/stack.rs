//! A connection, as the simulator drives it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant as StdInstant;

use bytes::BytesMut;
use sojourn_transport::{Direction, Stack, StackDatagram, StackEvent, StackSetup, StackState};
use sojourn_units::{Duration, Ecn, Instant};

use super::crypto::{self, SERVER_NAME};
use super::dialect::{self, proto};
use super::end::{End, Leaving, WINDOW};
use super::keys::{Random, ResetKey};
use super::kit::Kit;
use crate::endpoint::payloads::Payloads;
use crate::endpoint::{Exposed, keylog, other};
use crate::link::Link;
use crate::lock::lock;
use proto::{
    AckFrequencyConfig, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, ServerConfig,
    TransportConfig, ValidationTokenConfig, VarInt,
};

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;
/// Timers of the stack are never due at once again: time passes between two actions.
const TICK: Duration = Duration::from_nanos(1);

/// Both ends of a connection.
pub(crate) struct Connection {
    /// By the direction of their data: the flow's sender, and its receiver.
    ends: [End; 2],
    configs: Configs,
    opening: Direction,
    is_open: bool,
    codepoint: Ecn,
    payloads: Payloads,
    leaving: Vec<StackDatagram>,
    acted_at: Instant,
    /// Whether secrets are kept, and those not taken yet.
    is_observed: bool,
    secrets: String,
}

/// The configuration of the end that opens the connection, and of the other.
struct Configs {
    client: ClientConfig,
    server: Arc<ServerConfig>,
}

impl Connection {
    pub(crate) fn new(setup: &StackSetup<'_>) -> Connection {
        // Only differences from this moment matter.
        #[expect(clippy::disallowed_methods, reason = "the stack's times have no other origin")]
        let epoch = StdInstant::now();
        let (name, params) = setup.control;
        let catalogue = setup.controllers.clone();
        let kit = Kit::with(catalogue, name, params.clone(), setup.seed);
        let kit = kit.expect("the scenario was validated");
        let (client_kit, client_link) = kit.linked(epoch);
        let (server_kit, server_link) = kit.linked(epoch);
        [&client_link, &server_link].into_iter().for_each(Link::count_retransmissions);
        let transport = |kit: &Kit| Arc::new(transport(setup, kit));
        let random = Random::new(setup.seed);
        let crypto = crypto::cryptography(setup.params.choice("crypto"), None);
        let mut client = ClientConfig::new(client_kit.client(crypto.client));
        client.transport_config(transport(&client_kit));
        let ids = random.clone();
        client.initial_dst_cid_provider(Arc::new(move || ids.connection_id()));
        let mut server =
            ServerConfig::new(server_kit.server(crypto.server), Arc::new(dialect::NoTokens));
        server.transport_config(transport(&server_kit)).migration(false);
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        server.validation_token_config(tokens);
        let server = Arc::new(server);
        let client_end = End::new(endpoint(setup, &random, None), client_link, epoch);
        let other = Some(Arc::clone(&server));
        let server_end = End::new(endpoint(setup, &random, other), server_link, epoch);
        let ends = match setup.opening {
            Direction::Forward => [client_end, server_end],
            Direction::Backward => [server_end, client_end],
        };
        Connection {
            ends,
            configs: Configs { client, server },
            opening: setup.opening,
            is_open: false,
            codepoint: kit.codepoint(),
            payloads: Payloads::default(),
            leaving: Vec::new(),
            acted_at: Instant::ZERO,
            is_observed: false,
            secrets: String::new(),
        }
    }

    fn open(&mut self, now: Instant) {
        let end = &mut self.ends[self.opening.index()];
        let time = end.time(now);
        let config = self.configs.client.clone();
        let server = address(other(self.opening));
        let connection = end.endpoint.connect(time, config, server, SERVER_NAME);
        end.set(connection.expect("the configuration is constant"));
    }

    /// Lets one end act and send.
    fn drive(&mut self, now: Instant, direction: Direction) {
        let Connection { ends, payloads, leaving, codepoint, .. } = self;
        ends[direction.index()].drive(now, &mut |datagram: Leaving| {
            let size = datagram.bytes.len() as u32 + HEADERS as u32;
            let ecn = if datagram.is_ecn_capable { *codepoint } else { Ecn::NotEct };
            let handle = payloads.add(datagram.bytes);
            leaving.push(StackDatagram { direction, handle, size, ecn });
        });
    }

    fn deliver(&mut self, now: Instant, direction: Direction, bytes: BytesMut, ecn: Ecn) {
        let to = other(direction);
        let end = &mut self.ends[to.index()];
        match end.receive(now, address(direction), bytes, ecn) {
            Some(DatagramEvent::NewConnection(incoming)) if end.connection.is_none() => {
                let (time, config) = (end.time(now), Some(Arc::clone(&self.configs.server)));
                match end.endpoint.accept(incoming, time, &mut Vec::new(), config) {
                    Ok(connection) => end.set(connection),
                    Err(refused) => end.closed = Some(refused.cause.to_string()),
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => end.endpoint.ignore(incoming),
            // Only datagrams of other connections have an answer without a connection.
            Some(DatagramEvent::Response(_) | DatagramEvent::ConnectionEvent(..)) | None => {}
        }
        self.drive(now, to);
    }
}

/// The address of the end that sends in this direction.
fn address(of: Direction) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1 + of.index() as u8), 443))
}

fn endpoint(
    setup: &StackSetup<'_>,
    random: &Random,
    server: Option<Arc<ServerConfig>>,
) -> Endpoint {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(setup.seed)));
    config.rng_seed(Some(random.bytes()));
    dialect::draw_ids_from(&mut config, random.clone());
    let payload = setup.params.data("mtu").0 - HEADERS;
    config.max_udp_payload_size(payload as u16).expect("the scenario was validated");
    dialect::endpoint(config, server)
}

fn transport(setup: &StackSetup<'_>, kit: &Kit) -> TransportConfig {
    let mut config = TransportConfig::default();
    kit.apply_to(&mut config);
    let ack_every = setup.params.integer("ack_every");
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ack_every as u32 - 1));
    config
        .initial_mtu((setup.params.data("mtu").0 - HEADERS) as u16)
        .ack_frequency_config(Some(acks))
        .enable_segmentation_offload(false)
        // A simulated path may be silent for longer than real connections live.
        .max_idle_timeout(None)
        .stream_receive_window(WINDOW.into())
        .receive_window(WINDOW.into())
        .send_window(u64::from(WINDOW));
    config
}

impl Exposed for Connection {
    fn inject(&mut self, now: Instant, direction: Direction, bytes: &[u8], ecn: Ecn) {
        self.deliver(now, direction, BytesMut::from(bytes), ecn);
    }
}

#[cfg(test)]
impl crate::endpoint::audit::Audited for Connection {
    fn ledger(&self, direction: Direction) -> Option<&std::sync::Mutex<crate::ledger::Ledger>> {
        self.ends[direction.index()].ledger()
    }
}

impl Stack for Connection {
    fn write(&mut self, now: Instant, direction: Direction, bytes: u64) {
        self.ends[direction.index()].write(bytes);
        if !std::mem::replace(&mut self.is_open, true) {
            self.open(now);
            self.drive(now, self.opening);
        }
        self.drive(now, direction);
    }

    fn delivered(&self, direction: Direction) -> u64 {
        self.ends[other(direction).index()].read
    }

    fn next_at(&self) -> Instant {
        let next = self.ends.iter().map(End::next_at).min().unwrap_or(Instant::MAX);
        if next == Instant::MAX { next } else { next.max(self.acted_at + TICK) }
    }

    fn act(&mut self, now: Instant) {
        self.acted_at = now;
        for direction in [Direction::Forward, Direction::Backward] {
            if self.ends[direction.index()].next_at() <= now {
                self.ends[direction.index()].on_timer(now);
                self.drive(now, direction);
            }
        }
    }

    fn receive(&mut self, now: Instant, direction: Direction, handle: u32, ecn: Ecn) {
        let bytes = self.payloads.take(handle);
        if !self.is_observed {
            return self.deliver(now, direction, bytes, ecn);
        }
        keylog::begin();
        self.deliver(now, direction, bytes, ecn);
        self.secrets += &keylog::end();
    }

    fn on_gone(&mut self, handle: u32) {
        self.payloads.take(handle);
    }

    fn on_copied(&mut self, handle: u32) {
        self.payloads.copy(handle);
    }

    fn take_datagrams(&mut self, out: &mut Vec<StackDatagram>) {
        out.append(&mut self.leaving);
    }

    fn stop(&mut self) {
        self.ends.iter_mut().for_each(End::stop);
    }

    fn state(&self) -> StackState {
        let closed = self.ends.iter().find_map(|end| end.closed.clone());
        let Some(ledger) = self.ends[Direction::Forward.index()].ledger() else {
            return StackState { closed, ..StackState::default() };
        };
        StackState { closed, ..lock(ledger).state() }
    }

    fn observe(&mut self) {
        self.is_observed = true;
        self.ends.iter().for_each(|end| end.link.observe());
    }

    fn take_events(&mut self, take: &mut dyn FnMut(Direction, StackEvent)) {
        for direction in [Direction::Forward, Direction::Backward] {
            let link = &self.ends[direction.index()].link;
            link.take_events(&mut |event| take(direction, event));
        }
    }

    fn take_secrets(&mut self) -> String {
        std::mem::take(&mut self.secrets)
    }

    fn bytes(&self, handle: u32) -> &[u8] {
        self.payloads.bytes(handle)
    }

    fn take_rtts(&mut self, take: &mut dyn FnMut(Duration)) {
        if let Some(ledger) = self.ends[Direction::Forward.index()].ledger() {
            lock(ledger).take_rtts(take);
        }
    }
}
