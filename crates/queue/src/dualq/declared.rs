//! Parameters of both DualPI2 variants; each has its own defaults.

use sojourn_units::Duration;
use sojourn_units::params::{Key, Kind, keys};

keys! {
    /// Target queueing delay of Classic traffic
    pub(crate) const TARGET =
        target: Kind::Time(Duration::from_millis(15), Duration::ZERO, Duration::MAX),
            "RFC 9332 appendix A.1; dualpi2_reset_default in Linux";
    /// Coupling factor: the L queue's coupled probability over the base probability
    pub(crate) const K = k: Kind::Number(2.0, 1.0, 255.0),
        "RFC 9332 section 2.1 and appendix A.1; range of tc-dualpi2(8), coupling_factor";
    /// Drops from both queues once all L packets are marked; otherwise ECN-capable packets are
    /// never dropped, and overload fills the buffer
    pub(crate) const DROP_ON_OVERLOAD = drop_on_overload: Kind::Switch(true),
        "RFC 9332 section 4.2.3 and appendix A.2; tc-dualpi2(8), drop_on_overload and overflow";
    /// Weighted round robin, or a time-shifted FIFO
    pub(crate) const SCHEDULER = scheduler: Kind::Choice("wrr", &["wrr", "ts-fifo"]),
        "RFC 9332 appendix A.1; dequeue_packet in Linux";
    /// Extra waiting time after which a Classic packet leaves before one of the L queue, with
    /// scheduler = "ts-fifo"
    pub(crate) const TSHIFT =
        tshift: Kind::Time(Duration::from_millis(40), Duration::ZERO, Duration::MAX),
            "the L4S team's first dualq qdisc (sch_pi2.c, tshift)";
}

/// Time between two updates of the base probability.
pub(crate) const fn tupdate(default: Duration, source: &'static str) -> Key {
    // Linux counts in microseconds and cannot be set lower.
    let kind = Kind::Time(default, Duration::from_micros(1), Duration::MAX);
    Key::new("tupdate", kind, "Time between two updates of the base probability").from(source)
}

/// Integral gain.
pub(crate) const fn alpha(default: f64, source: &'static str) -> Key {
    // Linux's minimum and maximum: 1/256 and (2^31 - 1)/256.
    let kind = Kind::Number(default, 0.003_906_25, 8_388_607.996_093_75);
    Key::new("alpha", kind, "Integral gain in Hz, for the delay above target").from(source)
}

/// Proportional gain.
pub(crate) const fn beta(default: f64, source: &'static str) -> Key {
    let kind = Kind::Number(default, 0.003_906_25, 8_388_607.996_093_75);
    let doc = "Proportional gain in Hz, for the delay's change since the last update";
    Key::new("beta", kind, doc).from(source)
}

/// The C queue's share of the link under WRR, while both queues are backlogged.
pub(crate) const fn classic_protection(default: f64, source: &'static str) -> Key {
    let kind = Kind::Number(default, 0.0, 1.0);
    let doc = "Share of the link for the C queue while both queues have packets, with scheduler = \
               \"wrr\"";
    Key::new("classic_protection", kind, doc).from(source)
}
