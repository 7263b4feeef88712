//! Invariants of every scenario: packet counts balance, only sent packets arrive, no link exceeds
//! its capacity, and the simulator does not panic.

use crate::common::{as_written, scenario_with_trace, simulate};
use proptest::prelude::*;
use sojourn_queue::Info;
use sojourn_scenario::Scenario;
use sojourn_sim::{FlowSummary, LinkSummary, RunSummary};

/// The keys of a link.
fn link() -> impl Strategy<Value = String> {
    let rates = (rate(), bits());
    let wire = (disorder(), slots(), damage()).prop_map(|(disorder, slots, damage)| {
        let may_overtake = disorder.contains("reorder");
        disorder + if may_overtake { "" } else { &slots } + &damage
    });
    (rates, delay(), queue(OUTERMOST), buffer(), loss(), wire, 0_u64..100).prop_map(
        |((rate, constant), delay, queue, buffer, loss, disorder, overhead)| {
            // A shaper requires a link with a constant rate.
            let rate = if has_shaper(&queue) { format!("\"{constant}bit\"") } else { rate };
            format!(
                "rate = {rate}\ndelay = {delay}\nqueue = {queue}\n{buffer}\nloss = {loss}\n\
                 {disorder}overhead = \"{overhead}B\"\n"
            )
        },
    )
}

/// Jitter of up to 10 ms in two links of three; reordering and duplication in some.
fn disorder() -> impl Strategy<Value = String> {
    let overtakes = prop_oneof![3 => Just(false), 1 => Just(true)];
    let distribution = prop::sample::select(vec!["uniform", "normal"]);
    let jitter = (0_u64..3, overtakes, distribution).prop_map(|(step, overtakes, distribution)| {
        let reorder = if overtakes { ", reorder = true" } else { "" };
        let us = step * 5_000;
        format!("jitter = {{ span = \"{us}us\", distribution = \"{distribution}\"{reorder} }}\n")
    });
    let late = (0.0..1.0_f64, 0.0..1.0_f64, 1_u64..50_000).prop_map(|(p, rho, us)| {
        format!("reorder = {{ probability = {p:.4}, correlation = {rho:.4}, late = \"{us}us\" }}\n")
    });
    // The scenario refuses early packets on a link without a delay.
    let early = (0.0..1.0_f64, 1_u64..10).prop_map(|(p, gap)| {
        format!(
            "reorder = {{ probability = {p:.4}, gap = {gap} }}\n\
             jitter = {{ span = \"1ms\", reorder = true }}\n"
        )
    });
    let wire = prop_oneof![4 => jitter, 1 => late, 1 => early];
    let copies = prop_oneof![
        3 => Just(String::new()),
        1 => (0.0..0.3_f64).prop_map(|p| format!("duplicate = {p:.4}\n")),
        1 => (0.0..0.3_f64, 0.0..1.0_f64).prop_map(|(p, rho)| format!(
            "duplicate = {{ probability = {p:.4}, correlation = {rho:.4} }}\n"
        )),
    ];
    (wire, copies).prop_map(|(wire, copies)| wire + &copies)
}

/// Slots of up to 20 ms in one link of four.
fn slots() -> impl Strategy<Value = String> {
    let limits = (1_u64..100, 1_u64..100_000, any::<bool>());
    let slots = (1_u64..10_000, 0_u64..10_000, limits).prop_map(
        |(least, more, (packets, bytes, filters))| {
            format!(
                "slots = {{ least = \"{least}us\", most = \"{}us\", packets = {packets}, \
                 bytes = \"{bytes}B\", filter_acks = {filters} }}\n",
                least + more
            )
        },
    );
    prop_oneof![3 => Just(String::new()), 1 => slots]
}

/// Damage to ECN and thinned acknowledgements in some links.
fn damage() -> impl Strategy<Value = String> {
    let kinds = vec!["bleach", "ect1-to-ect0", "mark", "drop", "drop-syn"];
    let ecn = (prop::sample::select(kinds), 0.0..=1.0_f64)
        .prop_map(|(kind, p)| format!("ecn = {{ kind = \"{kind}\", probability = {p:.4} }}\n"));
    let ecn = prop_oneof![2 => Just(String::new()), 1 => ecn];
    let thinning = prop_oneof![3 => Just(1_u64), 1 => 1_u64..20];
    (ecn, thinning).prop_map(|(ecn, every)| format!("{ecn}ack_thinning = {every}\n"))
}

/// Whether a queue of a scenario shapes: HTB, and CAKE with a bandwidth.
fn has_shaper(text: &str) -> bool {
    text.contains("htb") || text.contains("bandwidth")
}

/// 100 kbit/s to 1 Gbit/s, log-uniform.
fn bits() -> impl Strategy<Value = u64> {
    (5.0..9.0_f64).prop_map(|magnitude| 10_f64.powf(magnitude) as u64)
}

/// Two opportunities at the same time, and gaps of up to 77 ms.
const TRACE: &str = "3\n3\n7\n20\n97\n";

fn rate() -> impl Strategy<Value = String> {
    let trace = |spacing| Just(format!("{{ trace = \"t\", spacing = \"{spacing}\" }}"));
    prop_oneof![10 => schedule(), 1 => trace("even"), 1 => trace("burst")]
}

/// A rate with up to three changes, one in four of them an outage.
fn schedule() -> impl Strategy<Value = String> {
    let value = prop_oneof![3 => bits(), 1 => Just(0)];
    let step = (1_u64..700, value, any::<bool>());
    (bits(), prop::collection::vec(step, 0..4)).prop_map(|(start, changes)| {
        let (mut at, mut steps, mut ramps) = (0, Vec::new(), Vec::new());
        for (gap, rate, ramp) in changes {
            at += gap;
            if ramp {
                let to = at + 1 + gap / 2;
                ramps.push(format!(
                    "{{ from = \"{at}ms\", to = \"{to}ms\", rate = \"{rate}bit\" }}"
                ));
                at = to;
            } else {
                steps.push(format!("{{ at = \"{at}ms\", rate = \"{rate}bit\" }}"));
                at += 1;
            }
        }
        let (steps, ramps) = (steps.join(", "), ramps.join(", "));
        format!("{{ start = \"{start}bit\", steps = [{steps}], ramps = [{ramps}] }}")
    })
}

fn delay() -> impl Strategy<Value = String> {
    (0_u64..60_000, prop::option::of((1_u64..1500, 0_u64..60_000))).prop_map(
        |(us, step)| match step {
            None => format!("\"{us}us\""),
            Some((at, after)) => format!(
                "{{ start = \"{us}us\", steps = [{{ at = \"{at}ms\", delay = \"{after}us\" }}] }}"
            ),
        },
    )
}

/// Depth of the outermost queue.
const OUTERMOST: usize = 3;

/// Any shipped queue, with any queue inside it, with ECN if it supports ECN.
fn queue(depth: usize) -> BoxedStrategy<String> {
    let fits = |info: &&&Info| depth > 1 || info.inner.is_empty();
    let infos: Vec<_> = sojourn_queue::infos().iter().filter(fits).copied().collect();
    let table = move |info: &'static Info| {
        let inner = prop::collection::vec(queue(depth - 1), info.inner.len());
        (any::<bool>(), bits(), inner).prop_map(move |(ecn, bits, inner)| {
            let mut text = format!("kind = \"{}\"", info.name);
            for param in info.params {
                text += &match param.name {
                    "ecn" => format!(", ecn = {ecn}"),
                    "flows" => ", flows = 16".to_owned(),
                    "rate" if depth == OUTERMOST && info.name == "htb" => {
                        let (later, step) = (32_000 + bits / 3, 1 + bits % 3000);
                        format!(
                            ", rate = {{ start = \"{bits}bit\", steps = [{{ at = \"{step}ms\", \
                             rate = \"{later}bit\" }}] }}"
                        )
                    }
                    "rate" => format!(", rate = \"{bits}bit\""),
                    "burst" => ", burst = \"20kB\"".to_owned(),
                    "bandwidth" if ecn && info.name == "cake" => {
                        format!(", bandwidth = \"{bits}bit\"")
                    }
                    _ => String::new(),
                };
            }
            for (declared, inner) in info.inner.iter().zip(inner) {
                text += &format!(", {} = {inner}", declared.name);
            }
            format!("{{ {text} }}")
        })
    };
    if depth == 0 {
        return Just("\"droptail\"".to_owned()).boxed();
    }
    prop::sample::select(infos).prop_flat_map(table).boxed()
}

fn buffer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("buffer = \"unlimited\"".to_owned()),
        (1_u64..200_000).prop_map(|n| format!("buffer = \"{n}B\"")),
        (1_u64..500).prop_map(|n| format!("buffer = \"{n}packets\"")),
        (1_u64..200).prop_map(|n| format!("buffer = \"{n}ms\"")),
    ]
}

fn loss() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just("0".to_owned()),
        1 => (0.0..0.2_f64).prop_map(|p| format!("{p:.4}")),
        1 => (0.0..1.0_f64, 1..3000, 0.0..0.1_f64).prop_map(|(p, at, then)| format!(
            "{{ start = {p:.4}, steps = [{{ at = \"{at}ms\", loss = {then:.4} }}] }}"
        )),
        1 => (0.0..0.1_f64, 0.01..1.0_f64).prop_map(|(p, r)| format!("{{ p = {p:.4}, r = {r:.4} }}")),
    ]
}

/// Any shipped controller.
fn control() -> impl Strategy<Value = String> {
    let all: Vec<&str> =
        sojourn_cc::all().iter().filter(|a| !a.info.needs.media).map(|a| a.info.name).collect();
    (0..all.len()).prop_map(move |place| all[place].to_owned())
}

/// Media with any shipped controller, or without one.
fn media() -> impl Strategy<Value = (String, String)> {
    let every = sojourn_cc::all().iter().filter(|a| a.info.needs.media).map(|a| a.info.name);
    let names: Vec<&str> = every.chain(["none"]).collect();
    let rates = (10_000_u64..2_000_000, 0_u64..20_000_000);
    let frames = (1_u64..200, 0.0..0.5_f64, 64_u64..3000, 1.0..5.0_f64);
    let playout = (
        prop::sample::select(vec!["conceal", "key-frame"]),
        prop::sample::select(vec!["video", "voice", "none"]),
        prop::option::of(0_u64..100),
    );
    let feedback = (1_u64..100, 1_u64..50, any::<bool>(), 0_u64..20);
    let pause = prop::option::of((1_u64..1500, 1_u64..1500));
    (prop::sample::select(names), rates, frames, playout, feedback, pause).prop_map(
        |(control, (least, more), frames, (repair, quality, delay), feedback, pause)| {
            let (frame_rate, variation, packet, key_size) = frames;
            let (interval, packets, on_frame, microburst) = feedback;
            let delay = delay.map_or(String::new(), |ms| format!(", playout_delay = \"{ms}ms\""));
            let pause = pause.map_or(String::new(), |(at, span)| {
                format!(", pause = \"{at}ms\", resume = \"{}ms\"", at + span)
            });
            let source = format!(
                "{{ kind = \"media\", min_rate = \"{least}bit\", max_rate = \"{}bit\", \
                 frame_rate = {frame_rate}, variation = {variation:.3}, packet = \"{packet}B\", \
                 key_interval = \"500ms\", key_size = {key_size:.2}, repair = \"{repair}\", \
                 quality = \"{quality}\", feedback_interval = \"{interval}ms\", \
                 feedback_packets = {packets}, feedback_on_frame = {on_frame}, \
                 microburst = \"{microburst}ms\"{delay}{pause} }}",
                least + more
            );
            (control.to_owned(), source)
        },
    )
}

fn on_off() -> impl Strategy<Value = String> {
    (10_000_u64..50_000_000, 1_u64..500, 0_u64..500, any::<bool>()).prop_map(
        |(rate, on, off, exponential)| {
            let distribution = if exponential { "exponential" } else { "periodic" };
            format!(
                "{{ kind = \"on-off\", rate = \"{rate}bit\", on = \"{on}ms\", off = \"{off}ms\", \
                 distribution = \"{distribution}\" }}"
            )
        },
    )
}

fn source() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("\"bulk\"".to_owned()),
        (1_u64..500_000).prop_map(|n| format!("{{ kind = \"file\", size = \"{n}B\" }}")),
        (1_u64..50_000, 1_u64..6, 0_u64..300).prop_map(|(n, count, think)| format!(
            "{{ kind = \"files\", size = \"{n}B\", count = {count}, think = \"{think}ms\" }}"
        )),
        (1_u64..3000, 1_u64..50_000, 1_u64..300).prop_map(|(ask, answer, ms)| format!(
            "{{ kind = \"request\", request = \"{ask}B\", response = \"{answer}B\", interval = \"{ms}ms\" }}"
        )),
        on_off(),
    ]
}

/// A receive window: unlimited, fixed, or raised by the receiver, with or without a maximum.
fn receive_window() -> impl Strategy<Value = String> {
    let windows = (0_u8..4, 3_000_u64..100_000, 1_u64..3_000_000);
    windows.prop_map(|(kind, first, more)| {
        let most = format!(", receive_window = \"{}B\"", first + more);
        let first = format!(", initial_receive_window = \"{first}B\"");
        match kind {
            0 => String::new(),
            1 => most,
            2 => first,
            _ => first + &most,
        }
    })
}

/// The rules of one profile.
fn rules(quic: bool) -> BoxedStrategy<String> {
    let queue = prop::option::of(1_u64..100_000).prop_map(|most| {
        most.map_or(String::new(), |most| format!(", small_queues = \"{most}B\""))
    });
    let tcp = (any::<bool>(), any::<bool>(), 0_u64..3, queue).prop_map(
        |(ticks, stamps, slack, queue)| {
            let (slack, tick) = (4 * slack, if ticks { 4 } else { 0 });
            format!(
                ", timestamps = {stamps}, timer_slack = \"{slack}ms\", timer_tick = \"{tick}ms\"\
                 , sack_compression = \"{slack}ms\"{queue}"
            )
        },
    );
    let acks = (prop_oneof![2 => Just(0_u64), 1 => 1_u64..10], any::<bool>());
    let quic_rules = acks.prop_map(|(acks, immediate)| {
        format!(", ack_frequency = {acks}, immediate_ack = {immediate}")
    });
    if quic { quic_rules.boxed() } else { tcp.boxed() }
}

/// The validation of an unused window, for the controllers that have it.
fn with_validation(control: &str, transport: &str, rule: &str) -> String {
    let has_window = ["reno", "cubic", "dctcp", "vegas"].contains(&control);
    if !has_window {
        return transport.to_owned();
    }
    transport.replacen(" }", &format!(", cwnd_validation = \"{rule}\" }}"), 1)
}

fn transport() -> impl Strategy<Value = String> {
    any::<bool>().prop_flat_map(transport_of)
}

fn transport_of(quic: bool) -> impl Strategy<Value = String> {
    let window = receive_window();
    let offload = (prop_oneof![Just(0), 2896_u64..65_536], prop_oneof![Just(0), 1_u64..10_000]);
    (1_u64..5, window, offload, rules(quic)).prop_map(
        move |(ack_every, window, (tso, gro), rules)| {
            let profile = if quic { "quic" } else { "rfc" };
            format!(
                "{{ like = \"{profile}\", receive_times = true, ack_every = {ack_every}{window}, \
                 tso = \"{tso}B\", gro = \"{gro}us\"{rules} }}"
            )
        },
    )
}

/// A flow from link `first` on; its return path is a delay, or the first link.
fn flow() -> impl Strategy<Value = (usize, bool, String)> {
    let datagrams = on_off().prop_map(|source| ("none".to_owned(), source));
    let what = prop_oneof![4 => (control(), source()), 1 => datagrams, 2 => media()];
    let stop = prop::option::of(600_u64..1500);
    let validation = prop::sample::select(vec!["rfc5681", "rfc7661", "linux"]);
    let transport = (transport(), validation);
    (0_usize..3, any::<bool>(), what, transport, 0_u64..500, stop).prop_map(
        |(first, back, (control, source), (transport, rule), start, stop)| {
            let is_media = source.contains("\"media\"");
            let transport = with_validation(&control, &transport, rule);
            let stop = stop.map_or(String::new(), |ms| format!("stop = \"{ms}ms\"\n"));
            // Media has no connection.
            let transport = if is_media { String::new() } else { format!("host = {transport}\n") };
            let text = format!(
                "control = \"{control}\"\nsource = {source}\n{transport}\
                 start = \"{start}ms\"\n{stop}"
            );
            (first, back, text)
        },
    )
}

/// Whole scenarios of one to three links in a row and one to four flows.
fn scenarios() -> impl Strategy<Value = String> {
    let links = prop::collection::vec(link(), 1..4);
    let flows = prop::collection::vec(flow(), 1..5);
    (links, flows, 0_u64..20, 0_u64..1_000_000).prop_map(|(links, flows, interval, seed)| {
        // Long enough for every change in these ranges.
        let mut text = format!(
            "duration = \"3500ms\"\nseed = {seed}\nrecord = {{ interval = \"{interval}ms\" }}\n"
        );
        if flows.iter().any(|(_, shared, _)| !shared) {
            text += "[link.back]\ndelay = \"15ms\"\n";
        }
        for (place, link) in links.iter().enumerate() {
            text += &format!("[link.l{place}]\n{link}");
        }
        for (place, (first, shared, flow)) in flows.iter().enumerate() {
            // The first flow passes every link: the scenario refuses an unused link.
            let first = if place == 0 { 0 } else { first % links.len() };
            let path: Vec<_> = (first..links.len()).map(|l| format!("\"l{l}\"")).collect();
            let back = if *shared { "l0" } else { "back" };
            text += &format!(
                "[flow.f{place}]\npath = [{}]\nback = [\"{back}\"]\n{flow}",
                path.join(", ")
            );
        }
        // `ideal` requires links of its own, without a shaper.
        if flows.len() > 1 || has_shaper(&text) {
            text.replace("\"ideal\"", "\"reno\"")
        } else {
            text
        }
    })
}

fn assert_link(link: &LinkSummary) {
    let gone = link.delivered_packets + link.dropped_packets;
    // The remaining packets are in the queue or on the wire. The simulator asserts the exact count
    // at every sample and at the end.
    assert!(gone <= link.arrived_packets + link.duplicated_packets, "{link:?}");
    assert!(link.duplicated_packets <= link.arrived_packets, "{link:?}");
    assert!(link.reordered_packets < link.delivered_packets.max(1), "{link:?}");
    assert!(link.marked_packets <= link.arrived_packets, "{link:?}");
    // Times are rounded to whole nanoseconds, so that a bit may be early.
    assert!(link.utilisation.is_none_or(|u| (0.0..=1.0 + 1e-4).contains(&u)), "{link:?}");
    let waits = [link.queue_delay_p50_s, link.queue_delay_p99_s, link.queue_delay_max_s];
    assert!(waits.is_sorted(), "{link:?}");
}

fn assert_flow(flow: &FlowSummary, duration_s: f64) {
    let rtts = [flow.rtt_min_s, flow.rtt_p50_s, flow.rtt_p99_s];
    assert!(rtts.is_sorted(), "{flow:?}");
    assert!(flow.rtt_min_s.is_none_or(|rtt| rtt >= 0.0), "{flow:?}");
    // Three links may each duplicate a packet, and each copy counts.
    assert!(flow.dropped_packets + flow.marked_packets <= 8 * flow.sent_packets, "{flow:?}");
    assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}");
    assert!(flow.response_p50_s <= flow.response_p99_s, "{flow:?}");
    assert!(flow.completion_s.is_none_or(|at| (0.0..=duration_s).contains(&at)), "{flow:?}");
}

fn assert_sane(summary: &RunSummary) {
    summary.links.iter().for_each(assert_link);
    summary.flows.iter().for_each(|f| assert_flow(f, summary.duration_s));
    for spike in &summary.spikes {
        assert!(spike.bound_s.is_none_or(|b| b >= 0.0), "{spike:?}");
        // Only a permanent outage has no bound.
        let ends = summary.spikes.iter().any(|other| other.to_bps == 0.0);
        assert!(spike.bound_s.is_some() || ends, "{spike:?}");
        assert!(spike.carried_before_bps <= 1.01e9, "{spike:?}");
    }
    let numbers = format!("{summary:?}");
    assert!(!numbers.contains("NaN") && !numbers.contains("inf"), "{numbers}");
}

/// All payload passed the last link, within that link's capacity.
fn assert_within_capacity(scenario: &Scenario, summary: &RunSummary) {
    for (flow, spec) in summary.flows.iter().zip(&scenario.flows) {
        let end = spec.stop.map_or(summary.duration_s, |stop| stop.as_secs_f64());
        let span = flow.completion_s.unwrap_or(end - flow.start_s);
        let last = *spec.path.last().unwrap();
        let could = summary.links[last].capacity_bps.unwrap() * summary.duration_s;
        // Goodput counts each byte once: at most one payload for each packet sent.
        let payload = flow.sent_packets as f64 * spec.transport.mss.as_f64();
        assert!(flow.goodput_bps * span / 8.0 <= payload + 1e-3, "{flow:?}");
        // One bit for each packet's rounding to nanoseconds.
        let bits = flow.goodput_bps * span;
        assert!(bits <= could + flow.sent_packets as f64 + 1.0, "{flow:?} {could}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_scenario_conserves_packets(text in scenarios()) {
        let scenario = scenario_with_trace(&text, TRACE);
        let summary = simulate(&scenario, scenario.seed).summary;
        assert_sane(&summary);
        assert_within_capacity(&scenario, &summary);
    }

    /// A transfer completes despite losses and an outage, with every controller: 200 kB at 1 Mbit/s
    /// or more take less than two minutes.
    #[test]
    fn transfers_complete(
        control in control(),
        quic in any::<bool>(),
        (mbit, delay_ms) in (1_u64..100, 0_u64..100),
        loss in 0.0..0.03_f64,
        outage in prop::option::of((1_u64..3000, 1_u64..3000)),
        disorder in disorder(),
    ) {
        let steps = outage.map_or(String::new(), |(at, len)| format!(
            "{{ at = \"{at}ms\", rate = \"0bit\" }}, {{ at = \"{}ms\", rate = \"{mbit}Mbit\" }}",
            at + len
        ));
        let profile = if quic { "quic" } else { "rfc" };
        // By default, Swift keeps the round trip at 1.25 times its minimum. A link that reorders
        // sends some packets without its delay, and so sets a target that no window can keep.
        let control = match control.as_str() {
            "swift" => r#"{ kind = "swift", base_target = "1s" }"#.to_owned(),
            name => format!("\"{name}\""),
        };
        let text = format!(r#"
duration = "120s"
record = {{ interval = "0s" }}
[link.a]
rate = {{ start = "{mbit}Mbit", steps = [{steps}] }}
delay = "{delay_ms}ms"
loss = {loss:.4}
{disorder}
[link.back]
delay = "5ms"
loss = {loss:.4}
{disorder}
[flow.file]
control = {control}
path = ["a"]
back = ["back"]
source = {{ kind = "file", size = "200kB" }}
host = {{ like = "{profile}", receive_times = true }}
"#);
        let scenario = as_written(&text);
        let summary = simulate(&scenario, 1).summary;
        assert_sane(&summary);
        prop_assert!(summary.flows[0].completion_s.is_some(), "{text}\n{summary:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// A drop-tail queue keeps its packets on the line if the wire is lossless, and in a separate
    /// queue if the wire may lose packets. Both give the same results as long as no packet is lost.
    #[test]
    fn drop_tail_is_the_same_wherever_packets_wait(text in scenarios()) {
        let outcome = |loss: &'static str| {
            let line = |line: &str| match line.split(' ').next() {
                Some("queue") => "queue = \"droptail\"\n".to_owned(),
                Some("loss") => format!("loss = {loss}\n"),
                _ => format!("{line}\n"),
            };
            let text = text.lines().map(line).collect::<String>();
            let scenario = scenario_with_trace(&text, TRACE);
            simulate(&scenario, scenario.seed)
        };
        let (on_line, apart) = (outcome("0"), outcome("{ every = 1000000000 }"));
        prop_assert_eq!(format!("{:?}", on_line.summary), format!("{:?}", apart.summary));
    }
}
