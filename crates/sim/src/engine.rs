//! The engine: takes events in order and moves packets between hosts and links.

use sojourn_cc::Signal;
use sojourn_scenario::{Control, Scenario};
use sojourn_transport::Poll;
use sojourn_units::{Duration, Instant};

use crate::bounds::History;
use crate::capacity::CHECK_EVERY;
use crate::connection::{AckSlab, Connection};
use crate::cross::{NEWS, UnderWay};
use crate::events::{Clock, EventQueue, Kind};
use crate::link::Link;
use crate::loops::Loops;
use crate::measure::Loads;
use crate::meter::{Metering, Off, On, Part};
use crate::outcome::Outcome;
use crate::overrun::{InFlight, Overrun};
use crate::packet::{Packet, PacketKind};
use crate::record::Recorder;
use crate::route::Routes;
use crate::setup::{self, Carrier, FlowState};
use crate::signal::{Ear, Pending};
use crate::source::Action;
use crate::tap::{Passage, Tap};
use crate::timeline::{Timeline, What};

/// A packet at its destination.
struct Delivered(Packet);

/// A simulation run in virtual time.
pub struct Simulation<M: Metering = Off> {
    pub(crate) scenario: Scenario,
    pub(crate) control: String,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) end: Instant,
    pub(crate) events: EventQueue,
    pub(crate) links: Vec<Link<M>>,
    pub(crate) connections: Vec<Connection<M>>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) acks: AckSlab,
    pub(crate) timeline: Timeline,
    /// Index of the next entry of the timeline.
    changed: usize,
    signals: Vec<Pending>,
    /// Index of the next signal.
    signalled: usize,
    /// Announcements of traffic without control.
    pub(crate) under_way: UnderWay,
    routes: Routes,
    pub(crate) loops: Loops,
    /// The capacity of each link over time.
    pub(crate) capacities: Vec<History>,
    /// Loads around each change of capacity.
    pub(crate) loads: Vec<Loads>,
    /// The flows that get signals of each link, in their order.
    pub(crate) listeners: Vec<Vec<usize>>,
    pub(crate) recorder: Recorder,
    pub(crate) in_flight: InFlight,
    pub(crate) overrun: Option<Box<Overrun>>,
    pub(crate) tap: M::Tap,
}

impl Simulation {
    /// Sets up a run of a validated scenario. `control` is for the flows that name no controller.
    pub fn new(scenario: &Scenario, control: Option<&Control>, seed: u64) -> Simulation {
        Simulation::build(scenario, control, seed, ())
    }
}

impl Simulation<On> {
    /// The same run with the same outcome, which also marks the part of the simulation at work: see
    /// [`crate::at_work`].
    pub fn metered(scenario: &Scenario, control: Option<&Control>, seed: u64) -> Simulation<On> {
        Simulation::build(scenario, control, seed, ())
    }
}

impl<M: Metering> Simulation<M> {
    pub(crate) fn build(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        tap: M::Tap,
    ) -> Simulation<M> {
        let mut timeline = Timeline::new(scenario, seed);
        let built = setup::build(scenario, control, seed, &timeline);
        let shift = timeline.shift;
        let loops = built.loops;
        let capacities = History::of_links(&timeline, scenario.links.len());
        timeline.note_loops(|change| loops.greatest(change.link, change.at.saturating_sub(shift)));
        let changes = timeline.capacity_changes.len();
        let mut simulation = Simulation {
            control: built.control,
            seed,
            clock: Clock::START,
            end: Instant::ZERO + scenario.duration,
            events: EventQueue::new(
                Instant::ZERO + scenario.duration,
                scenario.links.len(),
                scenario.things(),
            ),
            changed: 0,
            signalled: 0,
            under_way: UnderWay::default(),
            routes: built.routes,
            links: built.links,
            connections: built.connections,
            acks: AckSlab::default(),
            signals: built.signals,
            loops,
            capacities,
            loads: (0..changes).map(|_| Loads::default()).collect(),
            listeners: built.listeners,
            recorder: Recorder::new(
                scenario.record.interval,
                built.flows.iter().map(|flow| flow.name.clone()).collect(),
                scenario.links.iter().map(|link| link.name.clone()).collect(),
            ),
            flows: built.flows,
            timeline,
            scenario: scenario.clone(),
            in_flight: built.in_flight,
            overrun: None,
            tap,
        };
        simulation.schedule_first();
        simulation
    }

    fn schedule_first(&mut self) {
        if let Some(entry) = self.timeline.entries.first() {
            self.events.push(entry.at, Kind::Change, 0);
        }
        if let Some(signal) = self.signals.first() {
            self.events.push(signal.at, Kind::Signal, 0);
        }
        for (index, flow) in self.flows.iter().enumerate() {
            self.events.push(flow.start, Kind::Source, index);
            self.events.push(flow.stop.unwrap_or(Instant::MAX), Kind::Source, index);
        }
        if self.recorder.interval > Duration::ZERO {
            self.events.push(self.clock.now + self.recorder.interval, Kind::Sample, 0);
        }
    }

    /// Sets the controller's name in the run's summary and series.
    pub fn labelled(mut self, label: &str) -> Simulation<M> {
        self.control = label.to_owned();
        self
    }

    /// The current simulated time.
    pub fn now(&self) -> Instant {
        self.clock.now
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Runs up to `until`, or to the end if that is earlier.
    pub fn advance(&mut self, until: Instant) {
        while !self.advance_by(until, u32::MAX) {}
    }

    /// As [`Simulation::advance`], but for at most `events` events, since a second of simulated
    /// time may take microseconds or minutes. Returns true if it reached `until`. The results are
    /// the same.
    pub fn advance_by(&mut self, until: Instant, events: u32) -> bool {
        M::enter(Part::Engine);
        let until = until.min(self.end);
        for _ in 0..events {
            let Some(event) = self.events.pop(until) else {
                self.clock.now = self.clock.now.max(until);
                return true;
            };
            self.clock = self.clock.at(event);
            let index = event.index;
            match event.kind {
                Kind::Arrival => self.on_arrival(index),
                Kind::Departure => self.catch_up(index),
                Kind::Timer => self.on_timer(index),
                Kind::Pace => self.on_pace(index),
                Kind::Source => self.on_source(index),
                Kind::Change => self.on_change(),
                Kind::Signal if index == NEWS => self.on_news(),
                Kind::Signal => self.on_signal(),
                Kind::Sample => self.on_sample(),
            }
        }
        false
    }

    /// Runs to the end and returns the outcome.
    ///
    /// # Panics
    /// If the run ended early ([`Simulation::overrun`]): it has no outcome.
    pub fn finish(mut self) -> Outcome {
        self.advance(self.end);
        if let Some(overrun) = self.overrun() {
            panic!("{overrun}");
        }
        self.clock = Clock::after(self.end);
        self.catch_up_all();
        debug_assert!(
            self.links.iter().all(Link::is_conserving),
            "a link has lost count of a packet"
        );
        crate::summary::outcome(self)
    }

    fn on_arrival(&mut self, link: usize) {
        if !self.links[link].is_plain() {
            return self.on_arrival_in_disorder(link);
        }
        let packet = self.links[link].take_arrival(self.clock, &mut self.events);
        self.collect_notices(link);
        let Some(packet) = packet else { return };
        match self.routes.link(packet.next()) {
            Some(link) => self.enter(link, packet),
            None => self.deliver(&packet),
        }
    }

    /// Processes all departures of a link up to now.
    pub(crate) fn catch_up(&mut self, link: usize) {
        self.links[link].catch_up(self.clock, &mut self.events);
        self.collect_notices(link);
    }

    /// Processes all departures of all links up to now, before an observer reads them.
    fn catch_up_all(&mut self) {
        for link in 0..self.links.len() {
            self.catch_up(link);
        }
    }

    /// Sends a packet onto its next link, or delivers it to its host.
    #[inline(always)]
    pub(crate) fn forward(&mut self, packet: Packet) {
        match self.routes.link(packet.next()) {
            Some(link) => self.enter(link, packet),
            // Out of line: see `sojourn_queue`'s `apart.rs`.
            None => self.deliver_apart(&Delivered(packet)),
        }
    }

    #[inline(always)]
    fn enter(&mut self, link: usize, packet: Packet) {
        self.links[link].arrive(self.clock, packet, &mut self.events);
        self.collect_notices(link);
    }

    /// Accounts for packets that a link dropped, lost or copied.
    #[inline]
    pub(crate) fn collect_notices(&mut self, link: usize) {
        if !self.links[link].notices.is_empty() {
            self.account_for_notices(link);
        }
    }

    /// Delivers a packet of a route without links.
    #[inline(never)]
    fn deliver_apart(&mut self, Delivered(packet): &Delivered) {
        self.deliver(packet);
    }

    /// Inlined into the event loop together with the handling of data and acknowledgements, so that
    /// the packet stays in registers.
    #[inline(always)]
    fn deliver(&mut self, packet: &Packet) {
        let owner = packet.connection as usize;
        match packet.kind() {
            PacketKind::Data => self.on_data(owner, packet),
            PacketKind::Ack => self.on_ack(owner, packet.number as usize),
            PacketKind::Datagram => self.on_datagram(owner, packet),
            PacketKind::Reply => self.on_reply(owner, packet),
            PacketKind::Opening | PacketKind::Answer => self.on_handshake(packet),
        }
    }

    #[inline(always)]
    fn on_data(&mut self, id: usize, packet: &Packet) {
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        let data = packet.as_data(connection.header, connection.receiver.expects());
        if M::Tap::LISTENS {
            self.tap.data(self.clock.now, id, Passage::Received, &data);
        }
        if let Some(seen) = &mut connection.seen
            && !seen.is_new(packet.number.wrapping_add(1))
        {
            return;
        }
        connection.receiver.on_data(self.clock.now, &data);
        self.answer(id);
    }

    /// Sends the receiver's acknowledgement, if one is due.
    #[inline(always)]
    pub(crate) fn answer(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        let is_delivered = connection.receiver.in_order_bytes() >= connection.watch;
        let ack_due = connection.receiver.ack_due(self.clock.now);
        M::enter(Part::Engine);
        if !ack_due {
            connection.schedule_timer(id, connection.receiver.timer(), &mut self.events);
        }
        if is_delivered {
            self.on_delivered(id);
        }
        if ack_due {
            self.send_ack(id);
        }
    }

    #[inline(always)]
    pub(crate) fn send_ack(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        let place = self.acks.take();
        M::enter(Part::Transport);
        connection.receiver.take_ack(self.clock.now, self.acks.get(place));
        M::enter(Part::Engine);
        let (route, size) = (connection.back, connection.ack_size);
        if M::Tap::LISTENS {
            let held = connection.receiver.held();
            self.tell_of_ack(id, Passage::Sent, place, held);
        }
        let mut packet = Packet::plain(id, route, PacketKind::Ack, size);
        packet.number = place as u32;
        self.forward(packet);
    }

    #[inline(always)]
    pub(crate) fn on_ack(&mut self, id: usize, place: usize) {
        if M::Tap::LISTENS {
            self.tell_of_ack(id, Passage::Received, place, 0);
        }
        let connection = &mut self.connections[id];
        M::enter(Part::Transport);
        if let Some(rtt) = connection.sender.on_ack(self.clock.now, self.acks.get(place)) {
            M::enter(Part::Recording);
            connection.rtts.record(rtt.0);
            connection.longest_rtt.note(rtt);
        }
        M::enter(Part::Engine);
        self.acks.free(place);
        if M::Tap::LISTENS {
            self.tell_of_losses(id);
        }
        self.transmit(id);
    }

    /// Sends all packets that the sender may send now.
    pub(crate) fn transmit(&mut self, id: usize) {
        loop {
            let mut connection = &mut self.connections[id];
            M::enter(Part::Transport);
            let poll = connection.sender.poll_transmit(self.clock.now);
            M::enter(Part::Engine);
            match poll {
                Poll::Packet(data) => {
                    // Checked only now and then, since thousands may leave at one moment.
                    if data.number % CHECK_EVERY == CHECK_EVERY - 1 {
                        if self.has_overrun(id) {
                            break;
                        }
                        connection = &mut self.connections[id];
                    }
                    if M::Tap::LISTENS {
                        self.tap.data(self.clock.now, id, Passage::Sent, &data);
                    }
                    let packet = Packet::data(id, connection.out, &data, connection.header);
                    self.forward(packet);
                }
                Poll::Wait(at) => {
                    if connection.pace_at != at {
                        connection.pace_at = at;
                        self.events.push(at, Kind::Pace, id);
                    }
                    break;
                }
                Poll::Blocked => break,
            }
        }
        if M::Tap::LISTENS {
            self.tell_of_vitals(id);
        }
        let connection = &mut self.connections[id];
        let due = M::of(Part::Transport, || connection.sender.timer());
        connection.schedule_timer(id, due, &mut self.events);
    }

    fn on_timer(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        if connection.timer_at != self.clock.now {
            return;
        }
        connection.timer_at = Instant::MAX;
        if connection.receiver.timer() <= self.clock.now {
            M::of(Part::Transport, || connection.receiver.on_timer(self.clock.now));
            self.answer(id);
        }
        let connection = &mut self.connections[id];
        if connection.sender.timer() <= self.clock.now {
            M::of(Part::Transport, || connection.sender.on_timer(self.clock.now));
            if M::Tap::LISTENS {
                self.tell_of_losses(id);
            }
            self.transmit(id);
        }
        if self.connections[id].opening_due <= self.clock.now {
            self.on_handshake_timer(id);
        }
        let connection = &mut self.connections[id];
        let due = M::of(Part::Transport, || connection.deadline());
        connection.schedule_timer(id, due, &mut self.events);
    }

    fn on_pace(&mut self, id: usize) {
        if self.connections[id].pace_at == self.clock.now {
            self.connections[id].pace_at = Instant::MAX;
            self.transmit(id);
        }
    }

    fn on_source(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.stop.is_some_and(|stop| stop <= self.clock.now) {
            return self.stop_flow(index);
        }
        let begins = !std::mem::replace(&mut flow.started, true);
        if flow.application.next_at != self.clock.now {
            return;
        }
        let action = flow.application.act(self.clock.now);
        let target = flow.application.target();
        self.schedule_source(index);
        if !self.flows[index].application.turns.is_empty() {
            self.spread_news(index);
        }
        match (action, self.flows[index].carrier) {
            (Action::Write(bytes), Carrier::Datagrams) => self.send_datagram(index, bytes),
            (Action::Write(bytes), Carrier::Connection { data, .. }) => {
                self.connections[data].watch = target.unwrap_or(u64::MAX);
                self.write(data, bytes);
            }
            (Action::Request(bytes), Carrier::Connection { data, requests: Some(requests) }) => {
                self.connections[data].watch = target.unwrap_or(u64::MAX);
                self.connections[requests].watch = self.flows[index].next_request_target();
                self.write(requests, bytes);
            }
            (Action::Ping(bytes), _) => self.send_ping(index, bytes),
            (Action::Request(_), _) => unreachable!("a flow that asks has a connection for it"),
        }
        if begins {
            self.open(index);
        }
    }

    fn schedule_source(&mut self, index: usize) {
        let at = self.flows[index].application.next_at;
        self.events.push(at, Kind::Source, index);
    }

    fn write(&mut self, id: usize, bytes: u64) {
        M::of(Part::Transport, || self.connections[id].sender.write(bytes));
        self.transmit(id);
    }

    fn stop_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if std::mem::replace(&mut flow.stopped, true) {
            return;
        }
        flow.application.next_at = Instant::MAX;
        self.flows[index].received_at_stop = Some(self.received_bytes(index));
        if self.flows[index].application.is_heard {
            self.announce(index, self.clock.now, false);
        }
        let flow = &self.flows[index];
        if let Carrier::Connection { data, requests } = flow.carrier {
            self.connections[data].sender.stop();
            if let Some(requests) = requests {
                self.connections[requests].sender.stop();
            }
        }
    }

    /// Payload of a flow delivered so far, each byte once.
    pub(crate) fn received_bytes(&self, index: usize) -> u64 {
        match self.flows[index].carrier {
            Carrier::Datagrams => self.flows[index].datagrams.received_bytes,
            Carrier::Connection { data, .. } => self.connections[data].receiver.received_bytes(),
        }
    }

    /// The bytes that a connection's source waited for were delivered.
    fn on_delivered(&mut self, id: usize) {
        let (flow, is_request) = (self.connections[id].flow, self.connections[id].is_request);
        if is_request {
            return self.on_request(id, flow);
        }
        let state = &mut self.flows[flow];
        state.application.on_delivered(self.clock.now);
        self.connections[id].watch = u64::MAX;
        self.schedule_source(flow);
    }

    /// A request has arrived at the responding host.
    fn on_request(&mut self, id: usize, flow: usize) {
        let state = &mut self.flows[flow];
        state.answered += 1;
        let response = state.application.response();
        self.connections[id].watch = state.next_request_target();
        if let Carrier::Connection { data, .. } = state.carrier {
            self.hear_request(flow);
            self.write(data, response);
        }
    }

    fn on_change(&mut self) {
        let entry = self.timeline.entries[self.changed];
        self.changed += 1;
        self.catch_up(entry.link);
        let link = &mut self.links[entry.link];
        match entry.what {
            What::Rate(rate) => link.set_rate(self.clock.now, rate, &mut self.events),
            What::Delay(delay) => link.set_delay(delay),
            What::Before(change) => self.loads[change].before = Some(self.load(entry.link)),
            What::LoopBefore(change) => self.on_loop_before(change, entry.link),
            What::LoopAfter(change) => self.loads[change].loop_after = Some(self.load(entry.link)),
            What::Capacity(change) => self.on_capacity_change(change),
        }
        if let Some(next) = self.timeline.entries.get(self.changed) {
            self.events.push(next.at, Kind::Change, 0);
        }
    }

    fn on_signal(&mut self) {
        let Pending { flow, ear, rate, sharing, .. } = self.signals[self.signalled];
        self.signalled += 1;
        let heard = &mut self.flows[flow].ears[ear];
        (heard.rate, heard.sharing) = (rate, sharing);
        self.tell(flow);
        if let Some(next) = self.signals.get(self.signalled) {
            self.events.push(next.at, Kind::Signal, 0);
        }
    }

    /// Updates the rate signalled to flow `index`. Flows that get signals share each bottleneck
    /// evenly; a flow may send at its least share.
    pub(crate) fn tell(&mut self, index: usize) {
        let flow = &self.flows[index];
        let (true, Some(rate)) = (flow.listens(), flow.ears.iter().map(Ear::share).min()) else {
            return;
        };
        if let Carrier::Connection { data, .. } = flow.carrier {
            M::of(Part::Transport, || {
                self.connections[data].sender.on_signal(self.clock.now, Signal { rate });
            });
            self.transmit(data);
        }
    }

    fn on_sample(&mut self) {
        self.catch_up_all();
        M::enter(Part::Recording);
        let span = self.recorder.begin(self.clock.now);
        for (place, flow) in self.flows.iter_mut().enumerate() {
            match flow.carrier {
                Carrier::Datagrams => self.recorder.datagrams(span, place, flow),
                Carrier::Connection { data, .. } => {
                    let connection = &mut self.connections[data];
                    let response = flow.application.longest_response.take();
                    self.recorder.flow(span, place, connection, response);
                }
            }
        }
        for (place, link) in self.links.iter_mut().enumerate() {
            debug_assert!(link.is_conserving(), "link {} has lost count of a packet", link.name);
            self.recorder.link(self.clock.now, span, place, link);
        }
        M::enter(Part::Engine);
        self.events.push(self.clock.now + self.recorder.interval, Kind::Sample, 0);
    }
}
