//! Records every call of a controller in a simulation.

use std::sync::Mutex;

use sojourn_cc::{
    AnyController, Catalogue, Controller, Feedback, Info, Limits, Probe, Sent, Setup,
};
use sojourn_scenario::Document;
use sojourn_sim::Simulation;
use sojourn_units::{Bytes, Duration, Instant};

/// Flags of an event (`bpf/event.h`).
pub(crate) const FLAGS: [fn(&Feedback<'_>) -> bool; 6] = [
    |f| f.loss_event,
    |f| f.ecn_event,
    |f| f.spurious,
    |f| f.in_recovery,
    |f| f.cwnd_limited,
    // Of packets that leave after an idle period.
    |_| false,
];
pub(crate) const RETRANSMISSION: u64 = 1 << 5;
/// The flag of marks.
pub(crate) const NEEDED: u64 = 1 << 1;

/// The calls of a connection.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    pub(crate) mss: u64,
    pub(crate) initial_window: u64,
    /// In the layout of `struct event`.
    pub(crate) events: Vec<[u64; 13]>,
    /// Window, threshold, and alpha or phase of the simulator's controller after each event.
    pub(crate) results: Vec<[u64; 3]>,
}

/// The phases of LoLa and of Copa, in the order of `enum lola_phase` and `enum copa_phase` (`bpf`).
const PHASES: [&[&str]; 2] = [
    &["slow_start", "cubic_increase", "fair_flow_balancing", "cwnd_hold"],
    &["slow_start", "default", "competitive"],
];

/// Alpha in units of 2^-20, or the phase.
fn detail(probe: &Probe) -> u64 {
    let place = |phases: &&[&str]| phases.iter().position(|one| *one == probe.phase);
    let phase = || PHASES.iter().find_map(place).expect("a phase") as u64;
    probe.alpha.map_or_else(phase, |alpha| (alpha * 1_048_576.0) as u64)
}

static TRACES: Mutex<Vec<Trace>> = Mutex::new(Vec::new());
/// The controller that is recorded.
static NAME: Mutex<&str> = Mutex::new("");

/// Simulates a scenario, whose controller is `recorded`, with the controller of this name, and
/// returns the calls of its connections.
pub(crate) fn record(name: &'static str, scenario: &str) -> Vec<Trace> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *NAME.lock().expect("no panic") = name;
    let info = Info { name: "recorded", ..*sojourn_cc::find(name).expect("a controller").info };
    let catalogue = Catalogue::shipped().with(info, Recorder::boxed).expect("a new name");
    let document = Document::from_toml("recorded.toml", scenario).expect("a document");
    let read = |file: &str| std::fs::read_to_string(file);
    let scenario = document.resolve_with(&catalogue, &read).expect("a scenario");
    drop(Simulation::new(&scenario, None, 1).finish());
    std::mem::take(&mut *TRACES.lock().expect("no panic"))
}

/// A controller, and its record.
pub(crate) struct Recorder {
    inner: AnyController,
    trace: Trace,
}

impl Recorder {
    fn boxed(setup: &Setup) -> Box<dyn Controller> {
        Box::new(Recorder::new(*NAME.lock().expect("no panic"), setup))
    }

    pub(crate) fn new(name: &str, setup: &Setup) -> Recorder {
        let inner = (sojourn_cc::find(name).expect("a controller").build)(setup);
        let (mss, initial_window) = (setup.mss.0, setup.initial_window.0);
        Recorder { inner, trace: Trace { mss, initial_window, ..Trace::default() } }
    }

    /// The record until now.
    pub(crate) fn take(&mut self) -> Trace {
        std::mem::take(&mut self.trace)
    }

    /// Records a call that has been made.
    fn push(&mut self, event: [u64; 13]) {
        let probe = self.inner.probe();
        let ssthresh = probe.ssthresh.map_or(u64::MAX, |bytes| bytes.0);
        self.trace.events.push(event);
        self.trace.results.push([self.inner.limits().cwnd.0, ssthresh, detail(&probe)]);
    }
}

impl Controller for Recorder {
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.inner.on_handshake(now, rtt);
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.inner.on_sent(now, sent);
        if sent.idle > sent.rto {
            let flags = if sent.retransmission { RETRANSMISSION } else { 0 };
            self.push([now.0, 2, flags, u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        // The flag of the kernel includes the growth of slow start (`tcp_is_cwnd_limited`).
        let cwnd = self.inner.limits().cwnd;
        let ssthresh = self.inner.probe().ssthresh.unwrap_or(Bytes::MAX);
        let leads = cwnd < ssthresh && cwnd < feedback.slow_start_to;
        let cwnd_limited = feedback.cwnd_limited || leads;
        let feedback = &Feedback { cwnd_limited, slow_start_to: Bytes::ZERO, ..*feedback };
        self.inner.on_feedback(now, feedback);
        let flags =
            FLAGS.iter().enumerate().map(|(bit, is_set)| u64::from(is_set(feedback)) << bit);
        let rtt = feedback.rtt.map_or(u64::MAX, |rtt| rtt.0);
        self.push([
            now.0,
            0,
            flags.sum(),
            rtt,
            feedback.acked.0,
            feedback.acked_packets,
            feedback.ce_packets,
            feedback.lost_packets,
            feedback.largest_acked,
            feedback.next_number,
            feedback.srtt.0,
            feedback.in_flight_before.0,
            feedback.ack_delay.0,
        ]);
    }

    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.inner.on_timeout(now, in_flight);
        self.push([now.0, 1, 0, u64::MAX, 0, 0, 0, 0, 0, 0, 0, in_flight.0, 0]);
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn probe(&self) -> Probe {
        self.inner.probe()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let trace = self.take();
        if let Ok(mut traces) = TRACES.lock()
            && !trace.events.is_empty()
        {
            traces.push(trace);
        }
    }
}
