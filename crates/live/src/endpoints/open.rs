//! Opens the flows of a run, each on its stack.

use sojourn_cc::EcnUse;
use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Flow, Handshake};
use sojourn_sim::Remote;
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::{Config, Profile};
use sojourn_units::params::Params;

use crate::endpoints::controllers::KernelControllers;
use crate::endpoints::echo::EchoFlow;
use crate::endpoints::live_flow::LiveFlow;
use crate::endpoints::quic::{self, QuicFlow};
use crate::endpoints::shared::View;
use crate::endpoints::tcp::{Plan, TcpFlow};
use crate::endpoints::transfers::TransferFlow;
use crate::endpoints::udp::{Setup, UdpFlow};
use crate::error::Error;
use crate::machine::{Namespace, Side};
use crate::observers::all::Files;
use crate::observers::logs::{About, RunLogs};
use crate::order::{Order, Stack};

/// The flows of a run, in the order of the scenario; `None` for one whose hosts are simulated.
pub(crate) type Flows = Vec<Option<Box<dyn LiveFlow>>>;

/// Opens the two ends of each flow.
pub(crate) fn open(
    order: &Order<'_>,
    kernel: &KernelControllers,
    sides: [&Namespace; 2],
    files: &Files<'_>,
) -> Result<Flows, Error> {
    let mut flows = Flows::new();
    for (index, (flow, control)) in order.flows().enumerate() {
        let opening = Opening { order, index, flow, sides, files };
        flows.push(match control {
            Some((kind, params)) => Some(opening.with_controller(kernel, kind, params)?),
            None if flow.source.carrier() == Carrier::Echo => Some(opening.echo()?),
            None => None,
        });
        order.options.set_up.add_flow();
    }
    Ok(flows)
}

/// The views of the flows' states for the record.
pub(crate) fn reports(flows: &Flows) -> Vec<Option<Box<dyn Remote>>> {
    let report = |flow: &dyn LiveFlow| Box::new(View::new(flow.shared())) as Box<dyn Remote>;
    flows.iter().map(|flow| flow.as_deref().map(report)).collect()
}

/// A flow that opens.
struct Opening<'a> {
    order: &'a Order<'a>,
    /// Place of the flow in the scenario.
    index: usize,
    flow: &'a Flow,
    sides: [&'a Namespace; 2],
    files: &'a Files<'a>,
}

impl Opening<'_> {
    /// A flow with a congestion controller.
    fn with_controller(
        &self,
        kernel: &KernelControllers,
        kind: &str,
        params: &Params,
    ) -> Result<Box<dyn LiveFlow>, Error> {
        match (&self.flow.stack, self.order.options.stack) {
            (Some(_), _) => self.quic(kind, params),
            (None, Stack::Kernel) => self.tcp(kernel.name(kind)),
            (None, Stack::Udp) => self.udp(kind, params),
        }
    }

    /// Echo requests, whose other end is the kernel.
    fn echo(&self) -> Result<Box<dyn LiveFlow>, Error> {
        let (order, name) = (self.order, self.flow.name.as_str());
        let (source, end) = (order.source(self.index), order.end_of(self.flow));
        let version = order.options.version;
        let flow = EchoFlow::open(name, self.index, version, source, end, self.sides[0])?;
        Ok(Box::new(flow))
    }

    fn tcp(&self, controller: &str) -> Result<Box<dyn LiveFlow>, Error> {
        let flow = self.flow;
        let plan = Plan {
            name: &flow.name,
            index: self.index,
            version: self.order.options.version,
            controller,
            mss: flow.transport.mss,
            has_quick_acks: flow.transport.ack_every == 1,
            is_open_at_start: flow.transport.handshake == Handshake::None,
            has_requests: flow.source.carrier() == Carrier::Requests,
            log: self.files.logs.map(|logs| {
                // Whatever its simulated host is.
                let transport = Config { profile: Profile::Tcp, ..flow.transport.clone() };
                let description = "the kernel's TCP, by TCP_INFO";
                let about = About { ecn: EcnUse::None, description };
                logs.sender(self.index, flow, &transport, false, about)
            }),
            source: self.order.source(self.index),
        };
        Ok(Box::new(TcpFlow::open(plan, self.sides)?))
    }

    fn quic(&self, kind: &str, params: &Params) -> Result<Box<dyn LiveFlow>, Error> {
        let carrier = self.flow.source.carrier();
        let opening = quic::opening(carrier);
        let end = |side| {
            let vantage = if side == opening { Vantage::Client } else { Vantage::Server };
            let host = if side == Side::Senders { "sender" } else { "receiver" };
            self.files.logs.map(|logs| logs.stack(self.index, self.flow, vantage, host))
        };
        let observed = ([end(Side::Senders), end(Side::Receivers)], self.files.secrets.clone());
        let (setup, source) = (self.setup(kind, params), self.order.source(self.index));
        let choice = self.flow.stack.as_ref().expect("the flow has a stack");
        Ok(Box::new(QuicFlow::open(&setup, choice, source, carrier, self.sides, observed)?))
    }

    fn udp(&self, kind: &str, params: &Params) -> Result<Box<dyn LiveFlow>, Error> {
        let setup = self.setup(kind, params);
        let needs = self.order.scenario.controllers.needs(kind, params);
        let ecn = needs.map_or(EcnUse::None, |needs| needs.ecn);
        let log = |transport, is_request| {
            let description = "Sojourn's transport over UDP; without the handshake, and one stream";
            let about = About { ecn, description };
            let file =
                |logs: &RunLogs| logs.sender(self.index, self.flow, transport, is_request, about);
            self.files.logs.map(file)
        };
        let data = log(&setup.config, false);
        let source = self.order.source(self.index);
        if source.target().is_none() {
            return Ok(Box::new(UdpFlow::open(&setup, source, self.sides, data)?));
        }
        let (carrier, logs) = (self.flow.source.carrier(), [data, log(&setup.reverse, true)]);
        Ok(Box::new(TransferFlow::open(&setup, source, carrier, self.sides, logs)?))
    }

    fn setup(&self, kind: &str, params: &Params) -> Setup {
        let Opening { order, index, flow, .. } = *self;
        Setup {
            name: flow.name.clone(),
            index,
            version: order.options.version,
            control: (kind.to_owned(), params.clone()),
            catalogue: order.scenario.controllers.clone(),
            config: flow.transport.clone(),
            reverse: flow.reverse.as_deref().unwrap_or(&flow.transport).clone(),
            end: order.end_of(flow),
            seed: order.seed,
            departures: order.options.departures,
        }
    }
}
