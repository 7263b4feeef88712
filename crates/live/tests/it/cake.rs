//! Our CAKE against the kernel's, fed with the same packets. The commands are those that `sojourn
//! live` prints. A packet of full size leaves a slow shaper first, so that all others wait and the
//! time at which each arrives does not matter.

mod kernel;
mod model;
mod packet;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use sojourn_queue::{cake_tin, find};
use sojourn_units::params::Kind;

use kernel::Kernel;
use model::Both;
use packet::{ACK, ECE, Segment};

/// One test at a time: each empties the sockets.
static ONE: Mutex<()> = Mutex::new(());

/// Identifier of the packet that holds up all others.
const FIRST: u16 = 60_000;

/// CoDel does not signal within a test. The parameter's greatest value.
const PATIENT: &str = ", rtt = \"1000s\"";

/// The values of a parameter.
fn choices(name: &str) -> &'static [&'static str] {
    let info = find("cake").expect("a queue");
    let kind = info.params.iter().find(|param| param.name == name).map(|param| param.kind);
    match kind {
        Some(Kind::Choice(_, names)) => names,
        other => panic!("{name}: {other:?}"),
    }
}

/// Runs a test, if this machine has CAKE.
fn with_kernel(test: impl FnOnce(&Kernel)) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kernel) = Kernel::set_up() {
        test(&kernel);
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no integer: {value}"))
}

/// `tc` accepts the arguments of every setting, and reads the same settings back.
#[test]
fn every_setting_reads_back() {
    let mut cases: Vec<(String, &str, Value)> = Vec::new();
    for name in ["diffserv", "isolation"] {
        let key = if name == "diffserv" { "diffserv" } else { "flowmode" };
        let all = choices(name).iter();
        cases.extend(all.map(|value| (format!(", {name} = \"{value}\""), key, json!(value))));
    }
    for (value, said) in [
        ("no-ack-filter", "disabled"),
        ("ack-filter", "enabled"),
        ("ack-filter-aggressive", "aggressive"),
    ] {
        cases.push((format!(", ack_filter = \"{value}\""), "ack-filter", json!(said)));
    }
    cases.push((", ingress = true".to_owned(), "ingress", json!(true)));
    cases.push((String::new(), "ingress", json!(false)));
    cases.push((String::new(), "bandwidth", json!("unlimited")));
    cases.push((", bandwidth = \"19Mbit\"".to_owned(), "bandwidth", json!(19_000_000 / 8)));
    cases.push((", rtt = \"30ms\"".to_owned(), "rtt", json!(30_000)));
    cases.push((PATIENT.to_owned(), "rtt", json!(1_000_000_000)));
    with_kernel(|kernel| {
        for (keys, key, expected) in cases {
            kernel.replace(&Both::of(&keys).commands);
            let state = kernel.state();
            assert_eq!(state["options"][key], expected, "{keys}: {state}");
        }
    });
}

/// Every codepoint in every mode. Sizes name the codepoints within the tins' counters of bytes.
#[test]
fn every_codepoint_has_the_tin_of_the_kernel() {
    with_kernel(|kernel| {
        for mode in choices("diffserv") {
            for group in 0..8_u8 {
                kernel.replace(&Both::of(&format!(", diffserv = \"{mode}\"")).commands);
                let size = |dscp: u8| 100 + (1_usize << (dscp % 8));
                let packets = (group * 8..group * 8 + 8).map(|dscp| {
                    let flow = ((1, 1), u16::from(dscp));
                    Segment { dscp, ..Segment::data(1 + u16::from(dscp), flow, size(dscp)) }
                });
                let mut expected = BTreeMap::new();
                for dscp in group * 8..group * 8 + 8 {
                    let tin = cake_tin(mode, dscp).expect("a mode");
                    let sum = expected.entry(shown(mode, tin)).or_insert(0);
                    *sum += size(dscp) as u64;
                }
                kernel.send(&packets.collect::<Vec<_>>());
                let state = kernel.state();
                let tins = state["tins"].as_array().expect("tins").iter().enumerate();
                let found: BTreeMap<usize, u64> = tins
                    .map(|(place, tin)| (place, number(&tin["sent_bytes"])))
                    .filter(|(_, bytes)| *bytes > 0)
                    .collect();
                assert_eq!(found, expected, "{mode}, codepoints from {}", group * 8);
            }
        }
        kernel.empty();
    });
}

/// The place of a tin in the list of `tc`, which begins with bulk (`bulk_order`).
fn shown(mode: &str, tin: usize) -> usize {
    match tin {
        0 | 1 if ["diffserv3", "diffserv4"].contains(&mode) => 1 - tin,
        other => other,
    }
}

/// The size of packets on the wire, by every keyword, in the steps of ATM's cells and PTM's blocks.
#[test]
fn every_overhead_counts_the_bytes_of_the_kernel() {
    with_kernel(|kernel| {
        for keyword in choices("overhead") {
            for (small, large) in [(40, 1500), (64, 577), (88, 104)] {
                let keys = format!(", overhead = \"{keyword}\", bandwidth = \"1Gbit\"");
                let segment = |id, size| Segment::data(id, ((1, 1), 7), size);
                let both = Both::of(&keys);
                kernel.replace(&both.commands);
                kernel.send(&[segment(1, small), segment(2, large)]);
                let state = kernel.state();
                let found = ["min_adj_size", "max_adj_size"].map(|key| number(&state[key]));
                let own = [small, large]
                    .map(|size| Both::of(&keys).model.charged(segment(1, size), 1_000_000_000));
                assert_eq!(found, own, "{keyword}, {small} and {large}: {state}");
            }
        }
        kernel.empty();
    });
}

/// The packets that left a queue first, and the number of acknowledgements that it dropped.
type Outcome = (Vec<u16>, u64);

/// Sends the same packets to both queues behind a packet that holds them up. Returns the results of the
/// kernel and of ours.
fn compare(kernel: &Kernel, keys: &str, segments: &[Segment], most: usize) -> [Outcome; 2] {
    let first = Segment::data(FIRST, ((99, 99), 99), 1500);
    let Both { commands, mut model, rate } = Both::of(keys);
    // Its time, from which the packets wait.
    let held = Duration::from_nanos(1500 * 8_000_000_000 / rate);
    let mut found = None;
    for _ in 0..5 {
        kernel.replace(&commands);
        let began = now();
        kernel.send(&[first]);
        kernel.send(segments);
        let took = now() - began;
        let state = kernel.state();
        let tins = state["tins"].as_array().expect("tins");
        let drops: u64 = tins.iter().map(|tin| number(&tin["ack_drops"])).sum();
        let arrived = kernel.arrivals(1 + most.min(segments.len() - drops as usize));
        kernel.empty();
        if took < held {
            found = Some((arrived, drops));
            break;
        }
        eprintln!("the packets took {took:?} of {held:?}: another try");
    }
    let (found, drops) = found.expect("the machine is too slow");
    model.send(&[first]);
    let mut own = model.departures(1);
    model.send(segments);
    let own_drops = model.dropped.len() as u64;
    own.extend(model.departures(most));
    for all in [&found, &own] {
        assert_eq!(all.first(), Some(&FIRST), "{keys}");
    }
    [(found[1..].to_vec(), drops), (own[1..].to_vec(), own_drops)]
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has the clock").into()
}

/// Sequences of acknowledgements, with data, echoes of ECN, selective ranges and another flow among
/// them.
#[test]
fn the_filter_keeps_the_acknowledgements_of_the_kernel() {
    let run = |numbers: &[u32]| -> Vec<Segment> {
        (1..).zip(numbers).map(|(id, number)| Segment::ack(id, *number)).collect()
    };
    let with = |at: usize, change: fn(&mut Segment)| {
        let mut all = run(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|n| n * 1000));
        all[at..].iter_mut().take(1).for_each(change);
        all
    };
    let echo: fn(&mut Segment) = |one| one.flags = ACK | ECE;
    let all_echo = |from: usize| {
        let mut all = with(0, |_| {});
        all[from..].iter_mut().for_each(echo);
        all
    };
    let cases = [
        ("increasing", with(0, |_| {})),
        ("one", run(&[1000])),
        ("two", run(&[1000, 2000])),
        ("duplicates", run(&[1000, 1000, 1000, 1000])),
        ("duplicates, then a new one", run(&[1000, 1000, 1000, 2000])),
        ("reordered", run(&[3000, 1000, 2000, 4000])),
        ("across the end of the numbers", run(&[u32::MAX - 500, 400, 900, 2000])),
        ("data first", with(0, |one| one.payload = 100)),
        ("data in the middle", with(4, |one| one.payload = 100)),
        ("data last", with(9, |one| one.payload = 100)),
        ("another flow between", with(4, |one| one.port = 8)),
        ("an echo of ECN", with(4, echo)),
        ("echoes of ECN from the fifth on", all_echo(4)),
        ("echoes of ECN in all", all_echo(0)),
        ("a selective range", with(4, |one| one.sack = Some((20_000, 21_000)))),
        ("a push", with(4, |one| one.flags = ACK | 0x08)),
    ];
    with_kernel(|kernel| {
        for mode in choices("ack_filter").iter().filter(|mode| **mode != "no-ack-filter") {
            let keys = format!(", ack_filter = \"{mode}\", bandwidth = \"100kbit\"{PATIENT}");
            for (name, segments) in &cases {
                let [found, own] = compare(kernel, &keys, segments, segments.len());
                assert_eq!(found, own, "{mode}, {name}");
            }
        }
    });
}

/// Flows of several lengths: all leave in the order of the kernel's rounds, the short ones first.
#[test]
fn flows_take_turns_as_in_the_kernel() {
    // In rounds of 300 bytes, the deficits of packets of 170 bytes stay 9 bytes or more from zero, so
    // that the random rounding of the rounds, a byte at most, does not change the order.
    let packets = |hosts: u8| -> Vec<Segment> {
        let flow_of = |(flow, count): (u16, u16)| {
            let host = hosts + flow as u8;
            (0..count)
                .map(move |place| Segment::data(100 * flow + place, ((host, host), flow), 170))
        };
        [(1, 20), (2, 12), (3, 4), (4, 1), (5, 9)].into_iter().flat_map(flow_of).collect()
    };
    with_kernel(|kernel| {
        for mode in ["flows", "triple-isolate", "flowblind", "hosts"] {
            let keys = format!(", isolation = \"{mode}\", bandwidth = \"200kbit\"{PATIENT}");
            let agree = |hosts: u8| {
                let packets = packets(hosts);
                let [(found, _), (own, _)] = compare(kernel, &keys, &packets, packets.len());
                if found != own {
                    eprintln!(
                        "{mode}, hosts from {hosts} on: {found:?} in the kernel, {own:?} here"
                    );
                }
                found == own
            };
            // Two hosts in one of the kernel's 1,024 places share as one. Its hash is another one after
            // each start, and other addresses have other places.
            assert!([0, 50, 100].into_iter().any(agree), "{mode}");
        }
    });
}

/// A host with two flows and one with eight, in both directions: the packets of each flow among the
/// first 120.
#[test]
fn hosts_share_as_in_the_kernel() {
    let packets = |is_reply: bool| -> Vec<Segment> {
        let one = move |flow: u16, turn: u16| {
            let host = if flow < 2 { 1 } else { 2 };
            // Each flow has another peer.
            let peer = 10 + flow as u8;
            let hosts = if is_reply { (peer, host) } else { (host, peer) };
            Segment::data(1 + flow * 100 + turn, (hosts, flow), 170)
        };
        let turns = |flow: u16| if flow < 2 { 35 } else { 16 };
        (0..35)
            .flat_map(|turn| {
                (0..10).filter(move |flow| turn < turns(*flow)).map(move |flow| one(flow, turn))
            })
            .collect()
    };
    let shares = |all: &[u16]| {
        let mut counts = [0_i64; 10];
        all.iter().for_each(|id| counts[usize::from((id - 1) / 100)] += 1);
        counts
    };
    with_kernel(|kernel| {
        for mode in choices("isolation") {
            for is_reply in [false, true] {
                let keys = format!(", isolation = \"{mode}\", bandwidth = \"150kbit\"{PATIENT}");
                let [(found, _), (own, _)] = compare(kernel, &keys, &packets(is_reply), 120);
                let (found, own) = (shares(&found), shares(&own));
                // A round's share is rounded at random, by a byte at most.
                let is_near = found.iter().zip(own).all(|(one, other)| one.abs_diff(other) <= 1);
                assert!(is_near, "{mode} {is_reply}: {found:?} {own:?}");
            }
        }
    });
}

/// Four tins with packets: each tin's packets among the first 64 are its share of the rate.
#[test]
fn tins_share_as_in_the_kernel() {
    let dscp = [0, 8, 34, 46];
    let packets: Vec<Segment> = (0..4_u16)
        .flat_map(|tin| {
            (0..40).map(move |place| {
                let dscp = dscp[usize::from(tin)];
                let flow = ((tin as u8, 1), tin);
                Segment { dscp, ..Segment::data(1 + 100 * tin + place, flow, 500) }
            })
        })
        .collect();
    let shares = |all: &[u16]| {
        let mut counts = [0_i64; 4];
        all.iter().for_each(|id| counts[usize::from((id - 1) / 100)] += 1);
        counts
    };
    with_kernel(|kernel| {
        let keys = format!(", diffserv = \"diffserv4\", bandwidth = \"400kbit\"{PATIENT}");
        let [(found, _), (own, _)] = compare(kernel, &keys, &packets, 64);
        let (found, own) = (shares(&found), shares(&own));
        println!("{found:?} {own:?}");
        // A late timer lets a tin with a share in time pass one packet of another.
        let is_near = found.iter().zip(own).all(|(one, other)| one.abs_diff(other) <= 2);
        assert!(is_near, "{found:?} {own:?}");
    });
}
