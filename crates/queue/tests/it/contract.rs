//! The contract of every queue, of any discipline and with any inner queues, under random
//! sequences of packets, pauses and dequeues.

mod trees;

use std::collections::BTreeMap;

use crate::common::{Rig, TestPacket, discipline, needed};
use proptest::prelude::*;
use sojourn_queue::{Backlog, Discipline, DropReason, Info, Limit, Queue, infos};
use sojourn_units::params::{Kind, Value};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

/// One step of a sequence; `pause` separates consecutive packets.
#[derive(Clone, Debug)]
enum Step {
    Put { pause: Duration, packets: u64, flow: u64, size: u64, ecn: Ecn },
    Take { pause: Duration, packets: u64 },
}

/// A queue in one test, and properties that follow from its parameters.
#[derive(Clone, Debug)]
struct Config {
    discipline: Discipline,
    /// Whether it marks instead of dropping.
    ecn: bool,
    /// Whether it marks at all.
    marks: bool,
    /// Whether L4S packets have a separate queue (RFC 9332).
    is_dual: bool,
}

impl Config {
    /// The order of packets is kept within each of these.
    fn lane(&self, packet: &TestPacket) -> (u64, bool) {
        (packet.flow, self.is_dual && matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce))
    }
}

/// Test configurations: defaults, ECN off and on, and a threshold beside it, as far as the
/// queue declares them.
fn configs(info: &Info) -> Vec<Config> {
    match info.name {
        "dualpi2" | "dualpi2_linux" => return dual_configs(info),
        "step" => return vec![config(info, &[], true, true)],
        "pie_linux" => return pie_linux_configs(info),
        "cake" => return cake_configs(info),
        _ => {}
    }
    let default_ecn = info.params.iter().find(|p| p.name == "ecn").map(|p| p.kind);
    let Some(Kind::Switch(on)) = default_ecn else { return vec![config(info, &[], false, false)] };
    let switch = |on| config(info, &[("ecn", Value::Switch(on))], on, on);
    let mut all = vec![config(info, &[], on, on), switch(true), switch(false)];
    if info.name == "pie" {
        return [None, Some(true), Some(false)]
            .into_iter()
            .flat_map(|e| pie(info, e, on))
            .collect();
    }
    if info.params.iter().any(|p| p.name == "ce_threshold") {
        let threshold = ("ce_threshold", Value::Time(Duration::from_millis(1)));
        all.push(config(info, &[("ecn", Value::Switch(false)), threshold], false, true));
    }
    all
}

fn config(info: &Info, values: &[(&'static str, Value)], ecn: bool, marks: bool) -> Config {
    let values = [needed(info), values.to_vec()].concat();
    Config { discipline: discipline(info.name, &values), ecn, marks, is_dual: false }
}

/// With ECN (its default is `on`), PIE drops ECN-capable packets above `mark_ecnth`: one
/// configuration has a limit, the other does not (RFC 8033 section 5.1).
fn pie(info: &Info, ecn: Option<bool>, on: bool) -> [Config; 2] {
    [0.1, 1.0].map(|at| {
        let mut values =
            vec![("mark_ecnth", Value::Number(at)), ("dq_rate_estimator", Value::Switch(at < 1.0))];
        values.extend(ecn.map(|ecn| ("ecn", Value::Switch(ecn))));
        let ecn = ecn.unwrap_or(on);
        config(info, &values, ecn && at >= 1.0, ecn)
    })
}

/// Linux's PIE drops ECN-capable packets above a probability of 10 %.
fn pie_linux_configs(info: &Info) -> Vec<Config> {
    let switches = |ecn, names: [&'static str; 2]| {
        let on = names.map(|name| (name, Value::Switch(true)));
        config(info, &[&on[..], &[("ecn", Value::Switch(ecn))]].concat(), false, ecn)
    };
    vec![
        config(info, &[], false, false),
        switches(true, ["bytemode", "bytemode"]),
        switches(true, ["dq_rate_estimator", "bytemode"]),
    ]
}

/// The dual queue with each scheduler and both overload responses, only one of which drops
/// ECN-capable packets.
fn dual_configs(info: &Info) -> Vec<Config> {
    let dual = |scheduler: &str, drops| {
        let values = [
            ("scheduler", Value::Choice(scheduler.to_owned())),
            ("drop_on_overload", Value::Switch(drops)),
        ];
        Config { is_dual: true, ..config(info, &values, !drops, true) }
    };
    ["wrr", "ts-fifo"].into_iter().flat_map(|s| [dual(s, true), dual(s, false)]).collect()
}

/// CAKE marks, but BLUE drops ECN-capable packets too. Shaped, with every mode that changes the
/// scheduler, and unshaped.
fn cake_configs(info: &Info) -> Vec<Config> {
    let choice = |name, value: &str| (name, Value::Choice(value.to_owned()));
    let shaped = [
        ("bandwidth", Value::Rate(Rate::from_mbit(10))),
        choice("diffserv", "diffserv8"),
        choice("ack_filter", "ack-filter"),
        choice("overhead", "pppoe-vcmux"),
        ("ingress", Value::Switch(true)),
    ];
    let blind = [choice("isolation", "flowblind"), choice("ack_filter", "ack-filter-aggressive")];
    [&[][..], &shaped, &blind].map(|values| config(info, values, false, true)).to_vec()
}

/// Whether L4S packets overtake others at any level.
fn holds_dual(discipline: &Discipline) -> bool {
    discipline.kind.starts_with("dualpi2") || discipline.inner.iter().any(holds_dual)
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Delivered(TestPacket),
    Dropped(TestPacket, DropReason),
}

/// A queue with independent bookkeeping for comparison.
struct Checked {
    rig: Rig,
    limit: Limit,
    config: Config,
    now: Instant,
    /// Every enqueued packet, with the time, by id.
    put: Vec<TestPacket>,
    /// Whether it has left, by id.
    out: Vec<bool>,
    backlog: Backlog,
    last_delivered: BTreeMap<(u64, bool), u64>,
    fates: Vec<Fate>,
}

impl Checked {
    fn new(config: &Config, limit: Limit, seed: u64) -> Checked {
        Checked {
            rig: Rig::of(&config.discipline, limit, seed),
            limit,
            config: config.clone(),
            now: Instant::ZERO,
            put: Vec::new(),
            out: Vec::new(),
            backlog: Backlog::default(),
            last_delivered: BTreeMap::new(),
            fates: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Put { pause, packets, flow, size, ecn } => {
                for _ in 0..packets {
                    self.now += pause;
                    self.put(flow, size, ecn);
                }
            }
            Step::Take { pause, packets } => {
                for _ in 0..packets {
                    self.now += pause;
                    self.take();
                }
            }
        }
    }

    fn put(&mut self, flow: u64, size: u64, ecn: Ecn) {
        let packet = self.rig.put(self.now, flow, size, ecn);
        self.put.push(TestPacket { enqueued_at: self.now, ..packet });
        self.out.push(false);
        self.backlog.packets += 1;
        self.backlog.bytes += Bytes(size);
        self.settle_drops();
        assert!(self.backlog.packets <= self.limit.packets, "more packets than the limit wait");
        assert!(self.backlog.bytes <= self.limit.bytes, "more bytes than the limit wait");
    }

    fn take(&mut self) {
        let may_leave = self.rig.queue.ready_at().is_none_or(|at| at <= self.now);
        let packet = self.rig.take(self.now);
        // The packets that could leave may have been dropped, and a shaper may delay the
        // rest.
        let waiting = self.rig.queue.backlog().packets;
        let may_leave = may_leave && self.rig.dropped.is_empty();
        assert!(packet.is_some() || waiting == 0 || !may_leave, "idle while {waiting} wait");
        if let Some(packet) = packet {
            self.settle_delivery(packet);
        }
        self.settle_drops();
        let ready_at = self.rig.queue.ready_at();
        let waits = packet.is_none() && self.backlog.packets > 0;
        assert!(!waits || ready_at > Some(self.now), "{ready_at:?}: when to ask again?");
    }

    fn settle_delivery(&mut self, packet: TestPacket) {
        self.settle_out(packet);
        let before = self.put[packet.id as usize];
        assert_eq!(packet, TestPacket { ecn: packet.ecn, ..before }, "only ECN may change");
        if packet.ecn != before.ecn {
            assert!(self.config.marks, "marked although nothing is to mark");
            assert!(before.ecn.is_capable() && packet.ecn == Ecn::Ce, "{before:?} -> {packet:?}");
        }
        if let Some(last) = self.last_delivered.insert(self.config.lane(&before), packet.id) {
            assert!(last < packet.id, "{last} overtook {} of the same flow", packet.id);
        }
        self.fates.push(Fate::Delivered(packet));
    }

    fn settle_drops(&mut self) {
        for (packet, why) in std::mem::take(&mut self.rig.dropped) {
            self.settle_out(packet);
            let capable = self.put[packet.id as usize].ecn.is_capable();
            match why {
                DropReason::Full => assert_ne!(self.limit, Limit::NONE, "there is no limit"),
                DropReason::Aqm => assert!(!(capable && self.config.ecn), "could be marked"),
            }
            self.fates.push(Fate::Dropped(packet, why));
        }
        assert_eq!(self.rig.queue.backlog(), self.backlog);
    }

    /// A packet left the queue, delivered or dropped: it must have been enqueued, and leave
    /// only once.
    fn settle_out(&mut self, packet: TestPacket) {
        let out = &mut self.out[packet.id as usize];
        assert!(!std::mem::replace(out, true), "{packet:?} came out twice");
        self.backlog.packets -= 1;
        self.backlog.bytes -= Bytes(self.put[packet.id as usize].size);
    }

    /// Drains the queue: all enqueued packets must then have left.
    fn finish(mut self) -> Vec<Fate> {
        while self.backlog.packets > 0 {
            self.now = self.now.max(self.rig.queue.ready_at().unwrap_or_default());
            self.take();
        }
        assert!(self.out.iter().all(|out| *out), "a packet was lost silently");
        assert!(self.rig.take(self.now).is_none(), "a packet came from nowhere");
        self.fates
    }
}

fn run(config: &Config, limit: Limit, seed: u64, steps: &[Step]) -> Vec<Fate> {
    let mut checked = Checked::new(config, limit, seed);
    for step in steps {
        checked.step(step);
    }
    checked.finish()
}

/// Pauses from zero to a clock jump beyond all of CoDel's intervals.
fn pause() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => Just(Duration::ZERO),
        6 => (0_u64..2_000_000).prop_map(Duration),
        2 => (0_u64..200_000_000).prop_map(Duration),
        1 => (0_u64..100).prop_map(Duration::from_secs),
    ]
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)]
}

fn step() -> impl Strategy<Value = Step> {
    let packets = || prop_oneof![4 => Just(1_u64), 4 => 2_u64..200];
    let put = (pause(), packets(), 0_u64..8, 40_u64..=9000, ecn()).prop_map(
        |(pause, packets, flow, size, ecn)| Step::Put { pause, packets, flow, size, ecn },
    );
    let take = (pause(), packets()).prop_map(|(pause, packets)| Step::Take { pause, packets });
    prop_oneof![put, take]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::NONE),
        (0_u64..4).prop_map(|packets| Limit { packets, ..Limit::NONE }),
        (1_u64..300).prop_map(|packets| Limit { packets, ..Limit::NONE }),
        (0_u64..100_000).prop_map(|bytes| Limit { bytes: Bytes(bytes), ..Limit::NONE }),
        (1_u64..50, 0_u64..100_000)
            .prop_map(|(packets, bytes)| Limit { packets, bytes: Bytes(bytes) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_queue_keeps_the_contract(
        steps in proptest::collection::vec(step(), 1..60),
        limit in limit(),
        seed: u64,
    ) {
        for info in infos() {
            for config in configs(info) {
                let fates = run(&config, limit, seed, &steps);
                let again = run(&config, limit, seed, &steps);
                prop_assert_eq!(fates, again, "{} is not deterministic", info.name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn queues_inside_queues_keep_the_contract(
        discipline in trees::tree(3),
        steps in proptest::collection::vec(step(), 1..40),
        limit in limit(),
        seed: u64,
    ) {
        // Marking depends on a packet's path through the tree, so the test does not
        // check it.
        let is_dual = holds_dual(&discipline);
        let config = Config { discipline, ecn: false, marks: true, is_dual };
        let fates = run(&config, limit, seed, &steps);
        prop_assert_eq!(fates, run(&config, limit, seed, &steps), "not deterministic");
    }
}

/// Forty thousand packets at once, then a clock jump, on every queue.
#[test]
fn every_queue_keeps_the_contract_under_a_flood() {
    let burst = |flow, ecn| Step::Put {
        pause: Duration::ZERO,
        packets: 10_000,
        flow,
        size: 1500 - flow,
        ecn,
    };
    let take = |packets, pause| Step::Take { pause, packets };
    let steps = [
        burst(0, Ecn::NotEct),
        burst(1, Ecn::Ect0),
        burst(2, Ecn::Ect1),
        burst(3, Ecn::NotEct),
        take(8_000, Duration::from_micros(100)),
        take(10, Duration::from_secs(20)),
        take(8_000, Duration::from_micros(1)),
    ];
    for info in infos() {
        for config in configs(info) {
            for packets in [config.discipline.default_packets(), u64::MAX] {
                run(&config, Limit { packets, ..Limit::NONE }, 7, &steps);
            }
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    for info in infos() {
        let same = infos().iter().filter(|other| other.name == info.name).count();
        assert_eq!(same, 1, "{}", info.name);
        assert_eq!(sojourn_queue::find(info.name).map(|found| found.title), Some(info.title));
    }
    assert!(sojourn_queue::find("no such queue").is_none());
}
