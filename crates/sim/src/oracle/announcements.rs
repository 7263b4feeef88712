//! Announcements of traffic without control, for flows that get signals of the bottleneck's
//! capacity. These flows learn the available bandwidth: the capacity C less the rate of the cross
//! traffic (Lovewell and Kaur, TR11-007).

use std::collections::BTreeMap;

use sojourn_scenario::{Flow, Scenario};
use sojourn_units::{Instant, Rate};

use super::Oracle;
use super::signal::signal_delay;
use crate::endpoint::Endpoints;
use crate::events::Kind;
use crate::link::network::Network;
use crate::meter::Metering;
use crate::run::Run;
use crate::tap::Tap;

/// Index of announcements among the events of the kind [`Kind::Signal`].
pub(crate) const ANNOUNCEMENT: usize = 1;

/// A source without control begins or stops to send.
#[derive(Clone, Copy, Debug)]
struct Announcement {
    source: usize,
    on: bool,
    reaches: Place,
}

/// Destination of an announcement.
#[derive(Clone, Copy, Debug)]
enum Place {
    Link(usize),
    Flow { flow: usize, input: usize },
}

/// Announcements in flight, in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    in_flight: BTreeMap<(Instant, u64), Announcement>,
    count: u64,
}

impl Announcements {
    fn add(&mut self, at: Instant, announcement: Announcement) {
        self.in_flight.insert((at, self.count), announcement);
        self.count += 1;
    }
}

/// The rate of a source on a link while it is on, with the link's overhead.
fn rate_on(scenario: &Scenario, source: usize, link: usize) -> Rate {
    let flow = &scenario.flows[source];
    let payload = u128::from(flow.transport.mss.0);
    let headers = flow.transport.header.0 + scenario.links[link].overhead.0;
    let rate = u128::from(flow.source.rate().0);
    Rate((rate * (payload + u128::from(headers)) / payload.max(1)) as u64)
}

impl Oracle {
    /// Whether a flow that gets signals shares a link with the flow `source`.
    pub(crate) fn follows(&self, source: &Flow) -> bool {
        source.path.iter().any(|link| !self.listeners[*link].is_empty())
    }

    /// Announces that the flow `source` begins or stops to send at `at`. An announcement travels
    /// with the packets: it reaches a link after the propagation delays before it.
    pub(crate) fn announce<M: Metering>(
        &mut self,
        run: &Run,
        net: &mut Network<M>,
        source: usize,
        (at, on): (Instant, bool),
    ) {
        let mut reached = at;
        for &link in &run.scenario.flows[source].path {
            if !self.listeners[link].is_empty() {
                let reaches = Place::Link(link);
                self.send(net, reached, Announcement { source, on, reaches });
            }
            reached += run.loops.delays.at(link, run.written(reached));
        }
    }

    fn send<M: Metering>(&mut self, net: &mut Network<M>, at: Instant, announcement: Announcement) {
        self.announcements.add(at, announcement);
        net.events.push(at, Kind::Signal, ANNOUNCEMENT);
    }

    /// The next announcement arrives.
    pub(crate) fn on_announcement<M: Metering, T: Tap>(
        &mut self,
        run: &Run,
        endpoints: &mut Endpoints<M, T>,
    ) {
        let Some((_, announcement)) = self.announcements.in_flight.pop_first() else { return };
        // A flow that has stopped ignores its planned times.
        let on = announcement.on && !endpoints.flows[announcement.source].stopped;
        match announcement.reaches {
            Place::Link(link) => {
                endpoints.catch_up(link);
                self.pass_on(run, &mut endpoints.net, link, Announcement { on, ..announcement });
            }
            Place::Flow { flow, input } => {
                let known = &mut self.flows[flow].inputs[input];
                let rate = rate_on(&run.scenario, announcement.source, known.link);
                known.cross.insert(announcement.source, if on { rate } else { Rate::ZERO });
                self.signal(endpoints, flow);
            }
        }
    }

    /// Passes an announcement from a link to its listeners. It takes as long as a packet that
    /// arrives there now and waits behind the queue (TR11-007 section IV: RTT + D). A direct signal
    /// does not wait.
    ///
    /// Deviation (TR11-007 section IV): a signal about traffic without control waits as in a FIFO,
    /// with every kind of queue. On a trace with bursts it does not wait.
    fn pass_on<M: Metering>(
        &mut self,
        run: &Run,
        net: &mut Network<M>,
        link: usize,
        announcement: Announcement,
    ) {
        let now = net.clock.now;
        let wait = net.wait(link);
        for place in 0..self.listeners[link].len() {
            let flow = self.listeners[link][place];
            let known = &self.flows[flow];
            let Some(input) = known.inputs.iter().position(|input| input.link == link) else {
                continue;
            };
            let (direct, spec) = (known.is_direct, &run.scenario.flows[flow]);
            let way = signal_delay(&run.loops.delays, spec, link, run.written(now), direct);
            let at = if direct { now + way } else { now + wait + way };
            self.send(
                net,
                at,
                Announcement { reaches: Place::Flow { flow, input }, ..announcement },
            );
        }
    }
}
