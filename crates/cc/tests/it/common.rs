//! A sender that is always limited by its window, without a network: the test specifies
//! every acknowledgement.

use sojourn_cc::{AnyController, Controller, Feedback, Setup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant};

/// Payload of every packet.
pub(crate) const MSS: Bytes = Bytes(1448);

/// Builds the controller `name` with `initial` packets of window.
pub(crate) fn build(name: &str, initial: u64, params: &[(&str, Value)]) -> AnyController {
    build_over(false, name, initial, params)
}

/// The same, over a transport with or without pacing.
pub(crate) fn build_over(
    paced: bool,
    name: &str,
    initial: u64,
    params: &[(&str, Value)],
) -> AnyController {
    let algorithm = sojourn_cc::find(name).expect("a registered controller");
    let declared = algorithm.info.params;
    let mut values = Params::defaults(declared);
    for (param, value) in params {
        values.set(declared, param, value.clone()).expect("an admissible value");
    }
    let initial_window = MSS * initial;
    (algorithm.build)(&Setup {
        mss: MSS,
        initial_window,
        paced,
        round_recovery: false,
        seed: 1,
        params: values,
    })
}

/// A choice as a parameter value.
pub(crate) fn choice(name: &str) -> Value {
    Value::Choice(name.into())
}

/// A feedback without content, on a path with this round-trip time.
pub(crate) fn no_feedback(rtt: Duration) -> Feedback<'static> {
    Feedback { srtt: rtt, min_rtt: rtt, ..Feedback::default() }
}

/// Drives one controller, ACK by ACK.
pub(crate) struct Driver {
    pub(crate) cc: AnyController,
    pub(crate) now: Instant,
    pub(crate) rtt: Duration,
    /// Time between ACKs; `None` spreads a window over the round trip.
    pub(crate) spacing: Option<Duration>,
    /// Packets acknowledged so far.
    pub(crate) acked: u64,
    min_rtt: Duration,
}

impl Driver {
    pub(crate) fn new(cc: AnyController, rtt: Duration) -> Driver {
        Driver { cc, now: Instant::ZERO + rtt, rtt, spacing: None, acked: 0, min_rtt: rtt }
    }

    /// The window in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.cc.limits().cwnd.0
    }

    /// The window in whole packets.
    pub(crate) fn packets(&self) -> u64 {
        self.bytes() / MSS.0
    }

    /// One ACK of one packet, which `edit` may change.
    pub(crate) fn ack(&mut self, edit: impl FnOnce(&mut Feedback<'static>)) {
        let in_flight = MSS * self.packets();
        let spread = self.rtt.0 as f64 * MSS.as_f64() / self.bytes() as f64;
        self.now += self.spacing.unwrap_or(Duration((spread + 0.5) as u64));
        self.min_rtt = self.min_rtt.min(self.rtt);
        let mut feedback = Feedback {
            acked: MSS,
            acked_packets: 1,
            rtt: Some(self.rtt),
            min_rtt: self.min_rtt,
            delivered: MSS * (self.acked + 1),
            in_flight_before: in_flight,
            in_flight: in_flight.saturating_sub(MSS),
            cwnd_limited: true,
            cwnd_filled: true,
            largest_acked: self.acked,
            next_number: self.acked + self.packets(),
            ..no_feedback(self.rtt)
        };
        edit(&mut feedback);
        self.acked += 1;
        self.cc.on_feedback(self.now, &feedback);
    }

    /// An ACK that starts a loss episode.
    pub(crate) fn lose(&mut self) {
        self.ack(|f| {
            f.loss_event = true;
            f.in_recovery = true;
            f.lost = MSS;
            f.lost_packets = 1;
        });
    }

    /// ACKs for all packets in flight.
    pub(crate) fn round(&mut self) {
        for _ in 0..self.packets() {
            self.ack(|_| {});
        }
    }

    /// The window in packets now and after each of `n` round trips.
    pub(crate) fn trajectory(&mut self, n: usize) -> Vec<u64> {
        let mut windows = vec![self.packets()];
        for _ in 0..n {
            self.round();
            windows.push(self.packets());
        }
        windows
    }

    /// The average window in packets with one loss every `period` packets, over `cycles`
    /// losses. A first loss ends slow start, and as many cycles precede the measurement.
    pub(crate) fn average_window(&mut self, period: u64, cycles: u64) -> f64 {
        self.lose();
        let mut run = |cycles: u64| {
            let begin = self.now;
            for _ in 0..cycles {
                (1..period).for_each(|_| self.ack(|_| {}));
                self.lose();
            }
            self.now.since(begin)
        };
        run(cycles);
        let span = run(cycles);
        // Each window of packets took a round trip.
        (cycles * period) as f64 * self.rtt.0 as f64 / span.0 as f64
    }
}
