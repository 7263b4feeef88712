//! Controllers under watch: their windows and pacing rates beside the flight that they have used.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use sojourn_cc::{
    AnyController, Catalogue, Controller, Feedback, Frame, Info, Limits, Pacing, Probe, Sent, Setup,
};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// The bottleneck's rate in bit/s, of which only RAPID can know.
const RATE: f64 = 200e6;
/// The encoder's greatest rate in bit/s.
const ENCODER: f64 = 2e6;
/// Vegas with Linux's arithmetic and slow start.
pub(crate) const VEGAS_OF_LINUX: &str = "vegas-linux";

/// The greatest that a controller may have.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The window in bytes.
    window: f64,
    /// The pacing rate, as bytes in a minimum round trip.
    pacing: f64,
}

/// The use of a connection so far.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// The greatest flight, the initial window and a full packet in bytes.
    flight: f64,
    initial: f64,
    mss: f64,
    /// The greatest number of bytes that left within a smoothed round-trip time.
    burst: f64,
    /// All bytes delivered.
    delivered: f64,
    /// The greatest mean rate of RAPID's streams, in bytes a second.
    stream: f64,
    /// The minimum and the smoothed round-trip time in seconds.
    min_rtt: f64,
    srtt: f64,
}

impl Used {
    /// The bounds of the controller `name`: twice the flight (Linux, `tcp_is_cwnd_limited`), or its
    /// published gains.
    fn bounds(&self, name: &str) -> Bounds {
        let &Used { flight, initial, mss, burst, delivered, stream, min_rtt, srtt } = self;
        // Excess of aggregated acknowledgements: at most 100 ms of the bandwidth
        // (`bbr_extra_acked_max_us`).
        let aggregated = flight * 0.1 / min_rtt;
        let (window, pacing) = match name {
            // Linux `bbr_high_gain`, 2885 / 1000 + 1, for both. Before ten packets are delivered, the
            // window grows by each (`bbr_set_cwnd`).
            "bbr" => (2.886 * flight + aggregated + 2.0 * initial, 2.886 * (flight + initial)),
            // draft-ietf-ccwg-bbr-06 section 5.6.1: cwnd gain of ProbeBW_UP; section 2.5: pacing gain of
            // Startup. The window grows as BBR's at the beginning (section 5.6.4.6).
            "bbr3" => (2.25 * flight + aggregated + 2.0 * initial, 2.78 * (flight + initial)),
            // Dong et al. 2018: an interval of a round trip measures the rate in use (section 4), the
            // start doubles it (section 4.1), and epsilon is 5 % (section 4.2). The window is two
            // smoothed round trips of the rate.
            "vivace" => {
                let rate = 1.05 * 2.0 * (flight.max(burst) + initial);
                (2.0 * rate * srtt / min_rtt, rate)
            }
            // Konda and Kaur 2009: the rate is the available bandwidth, which the bottleneck bounds. The
            // window is a second and two round trips of the greatest rate.
            "rapid" => (stream * (1.0 + 2.0 * srtt), RATE / 8.0 * min_rtt),
            // The exception: Linux's `tcp_vegas_cong_avoid` grows without being limited, in slow start by
            // each byte (`tcp_slow_start`), and later by a packet in a round trip.
            VEGAS_OF_LINUX => (delivered + initial, 0.0),
            // A rate alone limits the sender. draft-ietf-rmcat-gcc-02 section 4 paces faster than the
            // media, libwebrtc by 2.5; RFC 8698 equation 14: at most the encoder's rate.
            "gcc" => (f64::INFINITY, 2.5 * ENCODER / 8.0 * min_rtt),
            "nada" => (f64::INFINITY, ENCODER / 8.0 * min_rtt),
            // draft-ietf-ccwg-rfc8298bis-screamv2 section 4: BYTES_IN_FLIGHT_HEAD_ROOM 1.5,
            // REF_WND_OVERHEAD_MAX 3, PACKET_PACING_HEADROOM 1.5, MAX_RELAXED_PACING_FACTOR 4.
            "scream" => (3.0 * (1.5 * flight + initial), 1.5 * 4.0 * ENCODER / 8.0 * min_rtt),
            // Two windows a round trip: Arun and Balakrishnan 2018, section 2.1 (Copa);
            // draft-briscoe-iccrg-prague-congestion-control-04 section 2.5.1; Linux
            // `tcp_update_pacing_rate` for LoLa.
            "copa" | "prague" | "lola" => (2.0 * flight + initial, 2.0 * (2.0 * flight + initial)),
            _ => (2.0 * flight + initial, 0.0),
        };
        // The least window: four packets (`bbr_cwnd_min_target`).
        Bounds { window: window + 4.0 * mss, pacing: pacing + 4.0 * mss }
    }
}

/// The greatest of all connections of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peaks {
    /// The window and the pacing rate as shares of their bounds.
    pub(crate) window: f64,
    pub(crate) pacing: f64,
    /// The greatest flight in bytes.
    pub(crate) flight: u64,
}

/// A built-in controller under watch.
struct Watched {
    name: &'static str,
    inner: AnyController,
    peaks: Arc<Mutex<Peaks>>,
    initial: Bytes,
    mss: Bytes,
    flight: u64,
    min_rtt: Duration,
    srtt: Duration,
    /// The packets of the last smoothed round-trip time: departure and bytes.
    recent: VecDeque<(Instant, u64)>,
    in_recent: u64,
    burst: u64,
    delivered: u64,
    stream: f64,
}

impl Watched {
    fn note_sent(&mut self, now: Instant, bytes: u64) {
        self.recent.push_back((now, bytes));
        self.in_recent += bytes;
        while let Some((at, bytes)) = self.recent.front().copied()
            && now.since(at) > self.srtt
        {
            self.recent.pop_front();
            self.in_recent -= bytes;
        }
        self.burst = self.burst.max(self.in_recent);
    }

    fn check(&mut self) {
        if self.flight == 0 || self.min_rtt == Duration::MAX {
            return;
        }
        let limits = self.inner.limits();
        let stream = match limits.pacing {
            Pacing::Gap(_) => self.inner.probe().rate.unwrap_or(Rate::ZERO),
            Pacing::Rate(_) | Pacing::Unpaced => Rate::ZERO,
        };
        self.stream = self.stream.max(stream.as_f64() / 8.0);
        let used = Used {
            flight: self.flight as f64,
            initial: self.initial.as_f64(),
            mss: self.mss.as_f64(),
            burst: self.burst as f64,
            delivered: self.delivered as f64,
            stream: self.stream,
            min_rtt: self.min_rtt.as_secs_f64(),
            srtt: self.srtt.as_secs_f64(),
        };
        let bounds = used.bounds(self.name);
        let rate = match limits.pacing {
            Pacing::Rate(rate) => rate,
            Pacing::Gap(_) => stream,
            Pacing::Unpaced => Rate::ZERO,
        };
        let paced = rate.as_f64() / 8.0 * used.min_rtt;
        let mut peaks = self.peaks.lock().unwrap();
        peaks.window = peaks.window.max(limits.cwnd.as_f64() / bounds.window);
        peaks.pacing = peaks.pacing.max(paced / bounds.pacing);
        peaks.flight = peaks.flight.max(self.flight);
    }
}

impl Controller for Watched {
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.inner.on_handshake(now, rtt);
    }

    fn paces_initial_window(&self) -> bool {
        self.inner.paces_initial_window()
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.flight = self.flight.max((sent.in_flight_before + sent.bytes).0);
        self.note_sent(now, sent.bytes.0);
        self.inner.on_sent(now, sent);
        self.check();
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.flight = self.flight.max(feedback.in_flight_before.0);
        self.min_rtt = self.min_rtt.min(feedback.min_rtt);
        self.srtt = feedback.srtt;
        self.delivered = feedback.delivered.0;
        self.inner.on_feedback(now, feedback);
        self.check();
    }

    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.inner.on_timeout(now, in_flight);
        self.check();
    }

    fn on_validation(&mut self, now: Instant, cwnd: Bytes, ends_recovery: bool) {
        self.inner.on_validation(now, cwnd, ends_recovery);
    }

    fn reduces_at_once(&self) -> bool {
        self.inner.reduces_at_once()
    }

    fn on_frame(&mut self, now: Instant, frame: &Frame) {
        self.inner.on_frame(now, frame);
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn target(&self) -> Option<Rate> {
        self.inner.target()
    }

    fn probe(&self) -> Probe {
        self.inner.probe()
    }
}

/// The name in scenarios of the built-in controller `name` under watch.
pub(crate) fn watched_name(name: &str) -> String {
    format!("watched-{}", name.replace('+', "-plus"))
}

/// The catalogue with all built-in controllers under watch, and the peaks of those that a run builds.
pub(crate) fn watched() -> (Catalogue, Arc<Mutex<Peaks>>) {
    let all = Arc::<Mutex<Peaks>>::default();
    let mut catalogue = Catalogue::shipped();
    let defaults = sojourn_cc::all().iter().map(|algorithm| (algorithm, algorithm.info.name));
    let vegas = sojourn_cc::all().iter().filter(|algorithm| algorithm.info.name == "vegas");
    for (algorithm, name) in defaults.chain(vegas.map(|vegas| (vegas, VEGAS_OF_LINUX))) {
        let mut params = Params::defaults(algorithm.info.params);
        if name == VEGAS_OF_LINUX {
            for (param, choice) in [("arithmetic", "linux"), ("slow_start", "every")] {
                let value = Value::Choice(choice.into());
                params.set(algorithm.info.params, param, value).expect("a parameter of Vegas");
            }
        }
        let needs = (algorithm.needs)(&params);
        let info = Info {
            name: watched_name(name).leak(),
            params: &[],
            ordered: &[],
            needs,
            ..*algorithm.info
        };
        let (build, peaks) = (algorithm.build, Arc::clone(&all));
        let start = move |setup: &Setup| {
            let watched = Watched {
                name,
                inner: build(&Setup { params: params.clone(), ..setup.clone() }),
                peaks: Arc::clone(&peaks),
                initial: setup.initial_window,
                mss: setup.mss,
                flight: 0,
                min_rtt: Duration::MAX,
                srtt: Duration::ZERO,
                recent: VecDeque::new(),
                in_recent: 0,
                burst: 0,
                delivered: 0,
                stream: 0.0,
            };
            Box::new(watched) as Box<dyn Controller>
        };
        catalogue = catalogue.with(info, start).expect("a new name");
    }
    (catalogue, all)
}

/// Senders that their windows and pacing do not limit, as keys of a flow. CARRIER and KEYS: its host or
/// stack.
const LIMITS: [(&str, &str); 4] = [
    ("the receive window", r#"CARRIER = { KEYS, receive_window = "64KiB" }"#),
    (
        "small requests",
        r#"CARRIER = { KEYS }
source = { kind = "request", request = "100B", response = "3kB", interval = "50ms" }"#,
    ),
    (
        "large requests",
        r#"CARRIER = { KEYS }
source = { kind = "request", request = "100B", response = "60kB", interval = "50ms" }"#,
    ),
    (
        "a paced source",
        r#"CARRIER = { KEYS }
source = { kind = "on-off", rate = "4Mbit", on = "1s", off = "0s" }"#,
    ),
];

/// Rates of the bottleneck: it limits the flow never, or only at first.
const RATES: [(&str, &str); 2] = [
    ("from birth", r#""200Mbit""#),
    ("later", r#"{ start = "1Mbit", steps = [{ at = "5s", rate = "200Mbit" }] }"#),
];

/// A scenario with a limited flow.
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Every limit, for the controller `name` over a carrier (`host` or `stack`) with these keys. The stacks'
/// receive windows are not a key.
pub(crate) fn cases(name: &str, (carrier, own): (&str, &str), seconds: u64) -> Vec<Case> {
    let has_key = |keys: &str| !(carrier == "stack" && keys.contains("receive_window"));
    let limits = LIMITS.iter().filter(move |(_, keys)| has_key(keys));
    let all = limits.flat_map(|limit| RATES.map(|rate| (limit, rate)));
    all.map(|((limit, keys), (since, rate))| Case {
        title: format!("{name}, {own}: limited by {limit}, {since}"),
        text: format!(
            "duration = \"{seconds}s\"\n\
             [link.out]\nrate = {rate}\ndelay = \"20ms\"\nbuffer = \"100ms\"\n\
             [link.back]\ndelay = \"20ms\"\n\
             [flow.f]\npath = [\"out\"]\nback = [\"back\"]\ncontrol = \"{}\"\n{}\n",
            watched_name(name),
            keys.replace("CARRIER", carrier).replace("KEYS", own),
        ),
    })
    .collect()
}

/// An encoder, whose greatest rate is below the bottleneck's from birth or later, for the media
/// controller `name`.
pub(crate) fn media_cases(name: &str, seconds: u64) -> Vec<Case> {
    let case = |(since, rate)| Case {
        title: format!("{name}: limited by an encoder, {since}"),
        text: format!(
            "duration = \"{seconds}s\"\n\
             [link.out]\nrate = {rate}\ndelay = \"20ms\"\nbuffer = \"100ms\"\n\
             [link.back]\ndelay = \"20ms\"\n\
             [flow.f]\npath = [\"out\"]\nback = [\"back\"]\ncontrol = \"{}\"\n\
             source = {{ kind = \"media\", max_rate = \"{ENCODER}bit\" }}\n",
            watched_name(name),
        ),
    };
    RATES.into_iter().map(case).collect()
}
