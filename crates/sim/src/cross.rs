//! Announcements of traffic without control, for flows that get signals of the bottleneck's
//! capacity. These flows learn the available bandwidth: the capacity C less the rate of the cross
//! traffic (Lovewell and Kaur, TR11-007).

use std::collections::BTreeMap;

use sojourn_scenario::{Flow, Scenario, Source};
use sojourn_units::{Instant, Rate};

use crate::engine::Simulation;
use crate::events::Kind;
use crate::meter::Metering;
use crate::setup::Carrier;
use crate::signal::signal_delay;

/// Index of announcements among the events of the kind [`Kind::Signal`].
pub(crate) const NEWS: usize = 1;

/// A source without control begins or stops to send.
#[derive(Clone, Copy, Debug)]
struct News {
    source: usize,
    on: bool,
    reaches: Place,
}

/// Destination of an announcement.
#[derive(Clone, Copy, Debug)]
enum Place {
    Link(usize),
    Listener { flow: usize, ear: usize },
}

/// Announcements in flight, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    news: BTreeMap<(Instant, u64), News>,
    count: u64,
}

impl UnderWay {
    fn add(&mut self, at: Instant, news: News) {
        self.news.insert((at, self.count), news);
        self.count += 1;
    }
}

/// Whether a flow may need announcements of flow `source`: `source` has no control and shares a
/// link with a flow that gets signals.
pub(crate) fn is_heard(source: &Flow, listeners: &[Vec<usize>]) -> bool {
    source.path.iter().any(|link| !listeners[*link].is_empty())
}

/// The rate of a source on a link while it is on, with the link's overhead.
fn rate_on(scenario: &Scenario, source: usize, link: usize) -> Rate {
    let flow = &scenario.flows[source];
    let Source::OnOff { rate, .. } = flow.source else { return Rate::ZERO };
    let payload = u128::from(flow.transport.mss.0);
    let headers = flow.transport.header.0 + scenario.links[link].overhead.0;
    Rate((u128::from(rate.0) * (payload + u128::from(headers)) / payload.max(1)) as u64)
}

impl<M: Metering> Simulation<M> {
    /// Announces the on and off times that the source of flow `index` has decided. An announcement
    /// travels with the packets: it reaches a link after the propagation delays before it.
    pub(crate) fn spread_news(&mut self, index: usize) {
        let mut turns = std::mem::take(&mut self.flows[index].application.turns);
        for (at, on) in turns.drain(..) {
            self.announce(index, at, on);
        }
        self.flows[index].application.turns = turns;
    }

    /// Announces that the source of flow `index` begins or stops to send at `at`.
    pub(crate) fn announce(&mut self, index: usize, at: Instant, on: bool) {
        if !matches!(self.flows[index].carrier, Carrier::Datagrams) {
            return;
        }
        let mut reached = at;
        for place in 0..self.scenario.flows[index].path.len() {
            let link = self.scenario.flows[index].path[place];
            if !self.listeners[link].is_empty() {
                self.send_news(reached, News { source: index, on, reaches: Place::Link(link) });
            }
            let written = reached.saturating_sub(self.timeline.shift);
            reached += self.loops.delays.at(link, written);
        }
    }

    fn send_news(&mut self, at: Instant, news: News) {
        self.under_way.add(at, news);
        self.events.push(at, Kind::Signal, NEWS);
    }

    pub(crate) fn on_news(&mut self) {
        let Some((_, news)) = self.under_way.news.pop_first() else { return };
        // A flow that has stopped ignores its planned times.
        let on = news.on && !self.flows[news.source].stopped;
        match news.reaches {
            Place::Link(link) => self.pass_on(link, News { on, ..news }),
            Place::Listener { flow, ear } => {
                let heard = &mut self.flows[flow].ears[ear];
                let rate = rate_on(&self.scenario, news.source, heard.link);
                heard.cross.insert(news.source, if on { rate } else { Rate::ZERO });
                self.tell(flow);
            }
        }
    }

    /// Passes an announcement from a link to its listeners. It takes as long as a packet that
    /// arrives there now and waits behind the queue (TR11-007 section IV: RTT + D). A direct signal
    /// does not wait.
    fn pass_on(&mut self, link: usize, news: News) {
        self.catch_up(link);
        let now = self.clock.now;
        let wait = self.links[link].wait(now);
        for place in 0..self.listeners[link].len() {
            let flow = self.listeners[link][place];
            let Some(ear) = self.flows[flow].ears.iter().position(|ear| ear.link == link) else {
                continue;
            };
            let direct = self.flows[flow].direct;
            let written = now.saturating_sub(self.timeline.shift);
            let spec = &self.scenario.flows[flow];
            let way = signal_delay(&self.loops.delays, spec, link, written, direct);
            let at = if direct { now + way } else { now + wait + way };
            self.send_news(at, News { reaches: Place::Listener { flow, ear }, ..news });
        }
    }
}
