//! A sender under manual control: the test acts as network and receiver, and the controller only
//! halves its window and records its calls.

use sojourn_cc::{Controller, EcnUse, Feedback, Limits, Needs, Pacing, Sent, Signal};
use sojourn_transport::{Ack, Config, Data, Poll, SegmentRange, Sender};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::MSS;

/// The parts of a feedback that tests check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) loss_event: bool,
    pub(crate) ecn_event: bool,
    pub(crate) in_recovery: bool,
    pub(crate) is_duplicate: bool,
    pub(crate) lost: u64,
    pub(crate) ce: u64,
    pub(crate) cwnd_limited: bool,
    pub(crate) app_limited: Option<bool>,
    pub(crate) ack_delay: Duration,
}

/// Halves its window at every event; a signal sets the window (as a "rate" of bytes).
pub(crate) struct Halving {
    pub(crate) cwnd: Bytes,
    pub(crate) pacing: Pacing,
    pub(crate) last: Heard,
    pub(crate) loss_events: u64,
    pub(crate) ecn_events: u64,
    /// Number of signals that losses were spurious.
    pub(crate) spurious: u64,
    /// Bytes in flight at each timeout.
    pub(crate) timeouts: Vec<u64>,
    pub(crate) idle: Duration,
    /// The timeout of the last report of an idle sender.
    pub(crate) rto: Duration,
    /// Whether a reduction takes effect at once.
    pub(crate) at_once: bool,
}

impl Halving {
    /// A controller with a window of `packets`.
    pub(crate) fn new(packets: u64, pacing: Pacing) -> Halving {
        Halving {
            cwnd: Bytes(packets * MSS),
            pacing,
            last: Heard::default(),
            loss_events: 0,
            ecn_events: 0,
            spurious: 0,
            timeouts: Vec::new(),
            idle: Duration::ZERO,
            rto: Duration::MAX,
            at_once: false,
        }
    }
}

impl Controller for Halving {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.idle = sent.idle;
        if sent.idle > Duration::ZERO {
            self.rto = sent.rto;
        }
    }

    fn on_feedback(&mut self, _now: Instant, f: &Feedback<'_>) {
        if f.loss_event || f.ecn_event {
            self.cwnd = self.cwnd / 2;
        }
        self.loss_events += u64::from(f.loss_event);
        self.ecn_events += u64::from(f.ecn_event);
        self.spurious += u64::from(f.spurious);
        self.last = Heard {
            loss_event: f.loss_event,
            ecn_event: f.ecn_event,
            in_recovery: f.in_recovery,
            is_duplicate: f.is_duplicate,
            lost: f.lost.0,
            ce: f.ce_packets,
            cwnd_limited: f.cwnd_limited,
            app_limited: f.rate.map(|r| r.app_limited),
            ack_delay: f.ack_delay,
        };
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.timeouts.push(in_flight.0);
        self.cwnd = Bytes(MSS);
    }

    fn reduces_at_once(&self) -> bool {
        self.at_once
    }

    fn on_validation(&mut self, _now: Instant, cwnd: Bytes, _ends_recovery: bool) {
        self.cwnd = cwnd;
    }

    fn on_signal(&mut self, _now: Instant, signal: Signal) {
        self.cwnd = Bytes(signal.rate.0);
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.cwnd, pacing: self.pacing, burst: Bytes(MSS) }
    }
}

/// Needs of most controllers: with these, a sender uses the fast path whenever possible.
pub(crate) fn needs(ecn: EcnUse) -> Needs {
    Needs {
        ecn,
        receive_times: false,
        rate_samples: false,
        ack_delay: false,
        every_packet: false,
        signal: false,
        media: false,
        prr: true,
        validation: true,
    }
}

/// A sender, and the acknowledgement to fill in.
pub(crate) struct Desk {
    pub(crate) sender: Sender<Halving>,
    pub(crate) ack: Ack,
}

impl Desk {
    /// A sender with a window of `packets`, without ECN.
    pub(crate) fn new(config: Config, packets: u64) -> Desk {
        Desk::with_needs(config, packets, needs(EcnUse::None))
    }

    pub(crate) fn with_needs(config: Config, packets: u64, needs: Needs) -> Desk {
        Desk::with_pacing(config, packets, needs, Pacing::Unpaced)
    }

    pub(crate) fn with_pacing(config: Config, packets: u64, needs: Needs, pacing: Pacing) -> Desk {
        Desk::with_controller(config, needs, Halving::new(packets, pacing))
    }

    pub(crate) fn with_controller(config: Config, needs: Needs, controller: Halving) -> Desk {
        Desk { sender: Sender::new(config, needs, controller), ack: Ack::default() }
    }

    /// Writes `packets` full packets.
    pub(crate) fn write(&mut self, packets: u64) {
        self.sender.write(packets * MSS);
    }

    /// All packets that may leave now.
    pub(crate) fn send(&mut self, now: Instant) -> Vec<Data> {
        std::iter::from_fn(|| match self.sender.poll_transmit(now) {
            Poll::Packet(data) => Some(data),
            Poll::Wait(_) | Poll::Blocked => None,
        })
        .collect()
    }

    /// The segments of all packets that may leave now.
    pub(crate) fn segments(&mut self, now: Instant) -> Vec<u64> {
        self.send(now).iter().map(|data| data.segment).collect()
    }

    /// Delivers an acknowledgement of all segments below `cumulative` and of `ranges`; `newest` is
    /// the number of the newest packet received.
    pub(crate) fn ack(
        &mut self,
        now: Instant,
        cumulative: u64,
        ranges: &[(u64, u64)],
        newest: u64,
    ) {
        self.ack.cumulative = cumulative;
        let ranges = ranges.iter().map(|&(start, end)| SegmentRange { start, end });
        self.ack.add_details().ranges.extend(ranges);
        self.ack.newest = newest;
        self.sender.on_ack(now, &self.ack);
        self.ack.duplicate = false;
    }

    pub(crate) fn cc(&self) -> &Halving {
        self.sender.controller()
    }

    /// Time of the next timer.
    pub(crate) fn timer(&self) -> Instant {
        self.sender.timer()
    }

    /// Runs the timer when it is due; returns the time and the packets sent.
    pub(crate) fn fire(&mut self) -> (Instant, Vec<Data>) {
        let now = self.timer();
        self.sender.on_timer(now);
        (now, self.send(now))
    }

    pub(crate) fn set_window(&mut self, now: Instant, bytes: u64) {
        self.sender.on_signal(now, Signal { rate: Rate(bytes) });
    }
}
