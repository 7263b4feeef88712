//! A candidate that gets the feedback of the sender's controller. Its limits are compared with the
//! sender's use of them.

use sojourn_cc::{AnyController, Controller, EcnUse, Feedback, Limits, Needs, Pacing, Sent, Setup};
use sojourn_transport::Host;
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant};

/// The sender's use of a step, whatever its controller.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deed {
    /// The greatest data in flight, in bytes.
    pub(crate) flight: f64,
    /// Data sent, in bytes.
    pub(crate) sent: f64,
    /// Whether something else than the controller limited the sender.
    pub(crate) is_other: bool,
    /// Whether it repaired a loss, in which time the transport spreads the reduction (RFC 9937).
    pub(crate) is_repair: bool,
}

/// A candidate.
pub(crate) struct Shadow {
    pub(crate) name: &'static str,
    controller: AnyController,
    needs: Needs,
    limits: Limits,
    mss: f64,
    /// Since when the limits hold.
    since: Instant,
    /// Since when the data in flight exceed the window.
    over_since: Option<Instant>,
    /// The window at the greatest flight of the step, in bytes.
    window: f64,
    /// Bytes that pacing permitted in the step, and the time for which there was pacing, in s.
    paced: f64,
    paced_s: f64,
    /// Logarithms of the sender's use of the limits, one a step.
    pub(crate) uses: Vec<f64>,
}

/// The host whose parameters the controllers have.
const HOST: &str = "linux-6.18";
/// RFC 6928: packets of the first window.
const FIRST_WINDOW: u64 = 10;

impl Shadow {
    /// A candidate by its name in scenarios; `None` for an unknown one.
    pub(crate) fn new(name: &'static str, mss: u64, seed: u64) -> Option<Shadow> {
        let algorithm = sojourn_cc::find(name)?;
        let mut params = Params::defaults(algorithm.info.params);
        let host = Host::named(HOST)?;
        for own in host.parameters.iter().filter(|own| own.controller == name) {
            let value = Value::Choice(own.value.to_owned());
            params.set(algorithm.info.params, own.name, value).ok()?;
        }
        let (mss, needs) = (Bytes(mss), (algorithm.needs)(&params));
        let setup = Setup {
            mss,
            initial_window: mss * FIRST_WINDOW,
            paced: false,
            round_recovery: false,
            seed,
            params,
        };
        let controller = (algorithm.build)(&setup);
        Some(Shadow {
            name,
            limits: controller.limits(),
            controller,
            needs,
            mss: mss.as_f64(),
            since: Instant::ZERO,
            over_since: None,
            window: 0.0,
            paced: 0.0,
            paced_s: 0.0,
            uses: Vec::new(),
        })
    }

    fn refresh(&mut self, now: Instant) {
        self.pass(now);
        self.limits = self.controller.limits();
    }

    /// Time passes under the current limits.
    fn pass(&mut self, now: Instant) {
        let span = now.since(self.since).as_secs_f64();
        self.since = self.since.max(now);
        let bps = match self.limits.pacing {
            Pacing::Unpaced => return,
            Pacing::Rate(rate) => rate.as_f64(),
            Pacing::Gap(gap) => 8.0 * self.mss / gap.as_secs_f64().max(1e-9),
        };
        self.paced += span * bps / 8.0;
        self.paced_s += span;
    }

    pub(crate) fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.controller.on_handshake(now, rtt);
        self.refresh(now);
    }

    pub(crate) fn on_sent(&mut self, now: Instant, sent: &Sent) {
        if self.needs.every_packet || sent.idle > Duration::ZERO {
            self.controller.on_sent(now, sent);
            self.refresh(now);
        }
    }

    pub(crate) fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let (needs, cwnd) = (self.needs, self.limits.cwnd);
        // A sender whose window alone limits it fills the window. LEDBAT's follows the data in flight
        // (RFC 6817 section 2.4.2), so that it would fit any flow.
        let is_filled = feedback.cwnd_limited && matches!(self.limits.pacing, Pacing::Unpaced);
        let flight = feedback.in_flight_before;
        let is_over = self.is_over(now, feedback);
        let in_flight = if is_over { feedback.in_flight.min(cwnd) } else { feedback.in_flight };
        let ce_packets = match needs.ecn {
            EcnUse::Counts | EcnUse::L4s => feedback.ce_packets,
            EcnUse::None | EcnUse::Classic => 0,
        };
        let own = Feedback {
            in_flight,
            in_flight_before: if is_filled { flight.max(cwnd) } else { flight },
            cwnd_filled: flight.as_f64() + self.mss > cwnd.as_f64(),
            ce_packets,
            ecn_event: feedback.ecn_event && needs.ecn != EcnUse::None,
            ack_delay: if needs.ack_delay { feedback.ack_delay } else { Duration::ZERO },
            rate: feedback.rate.filter(|_| needs.rate_samples),
            ..*feedback
        };
        self.controller.on_feedback(now, &own);
        self.refresh(now);
    }

    /// Whether the data in flight have exceeded the window for a round trip. The candidate would have sent
    /// less by then: BBR would wait for it until its ProbeRTT ends.
    fn is_over(&mut self, now: Instant, feedback: &Feedback<'_>) -> bool {
        if feedback.in_flight.as_f64() <= self.limits.cwnd.as_f64() + self.mss {
            self.over_since = None;
            return false;
        }
        let since = *self.over_since.get_or_insert(now);
        now.since(since) > feedback.srtt
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, in_flight: u64) {
        self.controller.on_timeout(now, Bytes(in_flight));
        self.refresh(now);
    }

    /// The flight reaches its greatest value of the step.
    pub(crate) fn on_peak(&mut self) {
        self.window = self.limits.cwnd.as_f64();
    }

    /// A step ends that took `span` s.
    pub(crate) fn end_step(&mut self, now: Instant, deed: &Deed, span: f64) {
        self.pass(now);
        if !(deed.is_other || deed.is_repair && self.needs.prr) {
            let by_window = use_of(deed.flight, self.window, self.mss);
            let is_paced = self.paced_s > 0.5 * span;
            let by_pacing = is_paced.then(|| use_of(deed.sent, self.paced, self.mss));
            self.uses.push(by_pacing.map_or(by_window, |rate| rate.max(by_window)));
        } else {
            self.uses.push(f64::NAN);
        }
        (self.window, self.paced, self.paced_s) = (0.0, 0.0, 0.0);
    }
}

/// Logarithm of the used part of a limit; zero within a packet, which limits leave unused.
fn use_of(used: f64, limit: f64, packet: f64) -> f64 {
    let (low, high) = ((used - packet).max(1.0), used + packet);
    let limit = limit.max(1.0);
    match () {
        () if limit < low => libm::log(low / limit),
        () if limit > high => libm::log(high / limit),
        () => 0.0,
    }
}
