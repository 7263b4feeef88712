//! Records every call of LoLa in a simulation.

use std::sync::Mutex;

use sojourn_cc::{
    AnyController, Catalogue, Controller, Feedback, Info, Limits, Probe, Sent, Setup,
};
use sojourn_scenario::Document;
use sojourn_sim::Simulation;
use sojourn_units::{Bytes, Duration, Instant};

/// Flags of an event (`LOLA_*` in `bpf/lola.h`).
const FLAGS: [fn(&Feedback<'_>) -> bool; 6] = [
    |f| f.loss_event,
    |f| f.ecn_event,
    |f| f.spurious,
    |f| f.in_recovery,
    |f| f.cwnd_limited,
    |f| f.acked_packets > 0,
];
const RETRANSMISSION: u64 = 1 << 6;

/// The calls of a connection.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    pub(crate) mss: u64,
    pub(crate) initial_window: u64,
    /// In the layout of `struct lola_event`.
    pub(crate) events: Vec<[u64; 6]>,
}

static TRACES: Mutex<Vec<Trace>> = Mutex::new(Vec::new());

/// Simulates a scenario, whose controller is `recorded`, and returns the calls of its connections.
pub(crate) fn record(scenario: &str) -> Vec<Trace> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let lola = sojourn_cc::find("lola").expect("a controller").info;
    let info = Info { name: "recorded", ..*lola };
    let catalogue = Catalogue::shipped().with(info, Recorder::boxed).expect("a new name");
    let document = Document::from_toml("recorded.toml", scenario).expect("a document");
    let read = |file: &str| std::fs::read_to_string(file);
    let scenario = document.resolve_with(&catalogue, &read).expect("a scenario");
    drop(Simulation::new(&scenario, None, 1).finish());
    std::mem::take(&mut *TRACES.lock().expect("no panic"))
}

/// LoLa, and its record.
struct Recorder {
    lola: AnyController,
    trace: Trace,
}

impl Recorder {
    fn boxed(setup: &Setup) -> Box<dyn Controller> {
        let lola = (sojourn_cc::find("lola").expect("a controller").build)(setup);
        let (mss, initial_window) = (setup.mss.0, setup.initial_window.0);
        Box::new(Recorder { lola, trace: Trace { mss, initial_window, ..Trace::default() } })
    }
}

impl Controller for Recorder {
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.lola.on_handshake(now, rtt);
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.lola.on_sent(now, sent);
        if sent.idle > sent.rto {
            let flags = if sent.retransmission { RETRANSMISSION } else { 0 };
            self.trace.events.push([now.0, 2, flags, u64::MAX, 0, 0]);
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.lola.on_feedback(now, feedback);
        let flags =
            FLAGS.iter().enumerate().map(|(bit, is_set)| u64::from(is_set(feedback)) << bit);
        let rtt = feedback.rtt.map_or(u64::MAX, |rtt| rtt.0);
        self.trace.events.push([now.0, 0, flags.sum(), rtt, feedback.acked.0, 0]);
    }

    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.lola.on_timeout(now, in_flight);
        self.trace.events.push([now.0, 1, 0, u64::MAX, 0, in_flight.0]);
    }

    fn limits(&self) -> Limits {
        self.lola.limits()
    }

    fn probe(&self) -> Probe {
        self.lola.probe()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Ok(mut traces) = TRACES.lock() {
            traces.push(std::mem::take(&mut self.trace));
        }
    }
}
