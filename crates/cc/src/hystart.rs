//! Ends of slow start before packets are lost: HyStart as in Linux, HyStart++ (RFC 9406), and
//! SEARCH ([`crate::search`]).

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Feedback, Setup};
use crate::round::Round;
use crate::search::Search;
use crate::window::Window;

keys! {
    /// condition that ends HyStart's slow start: a long train of ACKs, an increased delay, or
    /// either
    pub(crate) const DETECT = hystart_detect: Kind::Choice("both", &["both", "train", "delay"]),
        "Linux hystart_detect";
    /// length of a train of ACKs that ends HyStart's slow start, in minimum round-trip times; Linux
    /// doubles it if packets are paced
    pub(crate) const TRAIN = hystart_train: Kind::Number(0.5, 0.1, 2.0), "Linux hystart_update";
}

/// The algorithm that ends slow start.
#[derive(Clone, Debug)]
pub(crate) enum SlowStart {
    /// Ends by loss or mark only (RFC 5681).
    Standard,
    /// Ends by an ACK train or by delay, as in Linux.
    Hystart(Hystart),
    /// Ends by delay, over rounds of conservative slow start (RFC 9406).
    HystartPlusPlus(HystartPlusPlus),
    /// Ends when deliveries stop doubling (draft-chung-ccwg-search).
    Search(Box<Search>),
}

impl SlowStart {
    /// The names that [`SlowStart::new`] accepts, the default first.
    pub(crate) const NAMES: &'static [&'static str] =
        &["hystart", "hystart++", "search", "standard"];

    /// Builds the algorithm that the controller's parameter `slow_start` selects, one of
    /// [`SlowStart::NAMES`].
    pub(crate) fn new(setup: &Setup) -> SlowStart {
        match setup.params.choice("slow_start") {
            "hystart" => SlowStart::Hystart(Hystart::new(Detection::new(setup))),
            "hystart++" => SlowStart::HystartPlusPlus(HystartPlusPlus::new(setup.paced)),
            "search" => SlowStart::Search(Box::new(Search::new(setup))),
            _ => SlowStart::Standard,
        }
    }

    /// Processes one feedback of slow start; at the end of slow start, sets `ssthresh` to
    /// the window.
    pub(crate) fn observe(&mut self, now: Instant, feedback: &Feedback<'_>, window: &mut Window) {
        match self {
            SlowStart::Standard => {}
            SlowStart::Hystart(h) => h.observe(now, feedback, window),
            SlowStart::HystartPlusPlus(h) => h.observe(feedback, window),
            SlowStart::Search(search) => search.observe(now, feedback, window),
        }
    }

    /// The part of `acked` that counts for the window's growth.
    pub(crate) fn counted(&self, acked: Bytes, mss: Bytes) -> Bytes {
        match self {
            SlowStart::HystartPlusPlus(h) => h.counted(acked, mss),
            SlowStart::Standard | SlowStart::Hystart(_) | SlowStart::Search(_) => acked,
        }
    }

    /// Restarts slow start. Linux restarts HyStart too (`bictcp_state`); RFC 9406 section
    /// 4.3 limits HyStart++ to the first slow start.
    pub(crate) fn on_timeout(&mut self) {
        match self {
            SlowStart::Hystart(h) => *h = Hystart::new(h.detection),
            SlowStart::Search(search) => search.restart(),
            SlowStart::Standard | SlowStart::HystartPlusPlus(_) => {}
        }
    }

    /// Name of the phase in recordings.
    pub(crate) fn phase(&self) -> &'static str {
        match self {
            SlowStart::HystartPlusPlus(HystartPlusPlus { css: Some(_), .. }) => {
                "conservative_slow_start"
            }
            _ => "slow_start",
        }
    }
}

/// `hystart_low_window`, packets.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u8 = 8;
/// `HYSTART_DELAY_MIN`.
const DELAY_MIN: Duration = Duration::from_millis(4);
/// `HYSTART_DELAY_MAX`.
const DELAY_MAX: Duration = Duration::from_millis(16);
/// Maximum allowance for aggregated packets (`hystart_ack_delay`).
const ACK_DELAY_MAX: Duration = Duration::from_millis(1);
/// Four of the largest aggregates (`GSO_MAX_SIZE`, 64 KiB).
const ACK_DELAY_BYTES: Bytes = Bytes(4 * 65_536);

/// The signals that HyStart uses.
#[derive(Clone, Copy, Debug)]
struct Detection {
    train: bool,
    delay: bool,
    /// Length of a train that ends slow start, in minimum RTTs.
    train_rtts: f64,
}

impl Detection {
    fn new(setup: &Setup) -> Detection {
        let detect = setup.params.choice("hystart_detect");
        let spread = if setup.paced { 2.0 } else { 1.0 };
        Detection {
            train: detect != "delay",
            delay: detect != "train",
            train_rtts: setup.params.number("hystart_train") * spread,
        }
    }
}

/// HyStart as in Linux since 6.14 (`hystart_update` in tcp_cubic.c), after Ha and Rhee, "Taming
/// the elephants", 2008.
///
/// Deviation (Linux `hystart_update`): `delay_min` is the connection's minimum round-trip time.
/// Linux forgets its own at a timeout, and ignores samples for a second after recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hystart {
    detection: Detection,
    round: Round,
    round_start: Instant,
    /// Last ACK of the train.
    last_ack: Instant,
    /// Minimum RTT of this round.
    curr_rtt: Duration,
    samples: u8,
    found: bool,
}

impl Hystart {
    fn new(detection: Detection) -> Hystart {
        Hystart {
            detection,
            round: Round::default(),
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            curr_rtt: Duration::MAX,
            samples: 0,
            found: false,
        }
    }

    fn observe(&mut self, now: Instant, feedback: &Feedback<'_>, window: &mut Window) {
        // Without a sample, Linux does not call `hystart_update` (`cubictcp_acked`).
        let Some(rtt) = feedback.rtt else { return };
        // Rounds follow each other from the first packet on (Linux 6.14, commit 25c1a9ca53db). From 5.16
        // to 6.13 the first one began with the window of 16 packets, often in the middle of a train.
        // Begin the round before the check: the ACK that ends a round is the first of the next
        // one (Linux 5.16, commit 4e1fddc98d25). Before, it ended a train of a whole round trip.
        if self.round.ended(feedback) {
            self.round_start = now;
            self.last_ack = now;
            self.curr_rtt = Duration::MAX;
            self.samples = 0;
        }
        if !self.found && window.cwnd >= window.mss * LOW_WINDOW {
            self.found = self.exit_found(now, rtt, feedback, window.cwnd);
            if self.found {
                window.ssthresh = window.cwnd;
            }
        }
    }

    fn exit_found(
        &mut self,
        now: Instant,
        rtt: Duration,
        feedback: &Feedback<'_>,
        cwnd: Bytes,
    ) -> bool {
        let train = self.train_is_long(now, feedback, cwnd);
        let delay = self.delay_has_grown(rtt, feedback.min_rtt);
        (train && self.detection.train) || (delay && self.detection.delay)
    }

    /// Whether closely spaced ACKs have arrived for half the minimum RTT, or the fraction
    /// set by the parameter: the window then fills the path. The time doubles with pacing,
    /// which spreads the packets.
    fn train_is_long(&mut self, now: Instant, feedback: &Feedback<'_>, cwnd: Bytes) -> bool {
        if now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = now;
        let whole = feedback.min_rtt + ack_delay(cwnd, feedback.srtt);
        now.since(self.round_start) > Duration((whole.0 as f64 * self.detection.train_rtts) as u64)
    }

    /// Checks from the ninth sample of a round on, as Linux does.
    fn delay_has_grown(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        self.curr_rtt = self.curr_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.curr_rtt > min_rtt + (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX)
    }
}

/// Allowance for segmentation offload (`hystart_ack_delay`): the time of four aggregates at
/// slow start's pacing rate of two windows per round trip.
fn ack_delay(cwnd: Bytes, srtt: Duration) -> Duration {
    Rate::from_transfer(cwnd * 2, srtt).time_for(ACK_DELAY_BYTES).min(ACK_DELAY_MAX)
}

// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// `L` in packets for a sender without pacing; infinite with pacing.
const L: u64 = 8;

/// HyStart++ (RFC 9406 section 4.2), with the RFC's names of variables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HystartPlusPlus {
    paced: bool,
    round: Round,
    last_round_min_rtt: Duration,
    current_round_min_rtt: Duration,
    rtt_sample_count: u32,
    css: Option<Css>,
    /// The first slow start is over: later ones are standard.
    over: bool,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    baseline_min_rtt: Duration,
    /// Rounds ended since it began, including the one in which it began.
    rounds: u32,
}

impl HystartPlusPlus {
    fn new(paced: bool) -> HystartPlusPlus {
        HystartPlusPlus {
            paced,
            round: Round::default(),
            last_round_min_rtt: Duration::MAX,
            current_round_min_rtt: Duration::MAX,
            rtt_sample_count: 0,
            css: None,
            over: false,
        }
    }

    fn observe(&mut self, feedback: &Feedback<'_>, window: &mut Window) {
        if self.over || window.known_ssthresh().is_some() {
            self.finish();
            return;
        }
        if self.round.ended(feedback) && self.css_is_over() {
            window.ssthresh = window.cwnd;
            self.finish();
            return;
        }
        if let Some(rtt) = feedback.rtt {
            self.sample(rtt);
        }
    }

    fn finish(&mut self) {
        self.over = true;
        self.css = None;
    }

    /// Begins a round. Returns whether conservative slow start has had all its rounds.
    fn css_is_over(&mut self) -> bool {
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Duration::MAX;
        self.rtt_sample_count = 0;
        let Some(css) = &mut self.css else {
            return false;
        };
        css.rounds += 1;
        css.rounds >= CSS_ROUNDS
    }

    fn sample(&mut self, rtt: Duration) {
        self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match self.css {
            None if self.delay_has_grown() => {
                let baseline_min_rtt = self.current_round_min_rtt;
                self.css = Some(Css { baseline_min_rtt, rounds: 0 });
            }
            // The exit was spurious: return to slow start.
            Some(css) if self.current_round_min_rtt < css.baseline_min_rtt => self.css = None,
            _ => {}
        }
    }

    fn delay_has_grown(&self) -> bool {
        let last = self.last_round_min_rtt;
        let thresh = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
        last != Duration::MAX && self.current_round_min_rtt >= last + thresh
    }

    fn counted(&self, acked: Bytes, mss: Bytes) -> Bytes {
        if self.over {
            return acked;
        }
        let limited = if self.paced { acked } else { acked.min(mss * L) };
        if self.css.is_some() { limited / CSS_GROWTH_DIVISOR } else { limited }
    }
}
