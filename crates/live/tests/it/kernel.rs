//! The kernel's queues as links.

use std::sync::atomic::AtomicBool;

use sojourn_live::{Departures, Error, IpVersion, Links, Options, Report, Stack};
use sojourn_sim::RunSummary;

use crate::common::{self, ONE, assert_marks_counted, judged_of, leave_out, one_flow, scenario};

/// Runs a scenario over the kernel's queues; `None` where this machine does not allow it.
fn live(text: &str, version: IpVersion) -> Option<Report> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let scenario = scenario(text);
    let options = Options { version, links: Links::Kernel, ..Options::default() };
    let stop = AtomicBool::new(false);
    match sojourn_live::run(&scenario, scenario.controls.first(), 1, &options, &stop) {
        Ok(report) => Some(report),
        Err(error) => leave_out(&error),
    }
}

/// The kernel holds the packets of a flow over UDP if it has `fq`; otherwise the run is refused.
#[test]
fn departure_times_need_fq() {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let scenario = scenario(&without_delay(2, "rate = \"10Mbit\"\nbuffer = \"50kB\""));
    for links in [Links::Sojourn, Links::Kernel] {
        let departures = Departures::Kernel;
        let options = Options { stack: Stack::Udp, links, departures, ..Options::default() };
        let stop = AtomicBool::new(false);
        match sojourn_live::run(&scenario, None, 1, &options, &stop) {
            Ok(report) => {
                let flow = &report.outcome.summary.flows[0];
                println!("{links:?}: {} bit/s", flow.goodput_bps);
                // Both ends account for each packet, in a run on any machine.
                assert!(0.0 < flow.goodput_bps && flow.goodput_bps <= 10e6, "{flow:?}");
                if links == Links::Kernel {
                    assert_conserved(&report)
                } else {
                    common::assert_conserved(&report);
                }
            }
            Err(error @ Error::NoFq) => {
                let said = error.to_string();
                assert!(said.ends_with("or let Sojourn pace (--departures timer)"), "{said}");
                eprintln!("not run here: {said}");
            }
            Err(error) => {
                leave_out::<()>(&error);
            }
        }
    }
}

/// The accounts of a run over the kernel's links, whatever its timing. Every packet that a host sent
/// arrived at a host, or a link dropped or lost it.
fn assert_conserved(report: &Report) {
    let (accounts, links) = (&report.accounts, &report.outcome.summary.links);
    let dropped: u64 = links.iter().map(|link| link.dropped_packets).sum();
    let copied: u64 = links.iter().map(|link| link.duplicated_packets).sum();
    if accounts.overflowed > 0 {
        eprintln!("packets not counted here: {}", accounts.overflowed);
        return;
    }
    let flows = &report.outcome.summary.flows;
    let of_flows: u64 = flows.iter().map(|flow| flow.dropped_packets).sum();
    assert_eq!(links[0].dropped_packets, of_flows, "{accounts:?}, {links:?}, {flows:?}");
    let arrived = accounts.delivered + dropped + accounts.inside;
    assert_eq!(accounts.entered + copied, arrived, "{accounts:?}, {links:?}");
    assert_marks_counted(report);
}

/// A bulk flow over one bottleneck without delay.
fn without_delay(seconds: u32, link: &str) -> String {
    format!(
        "duration = \"{seconds}s\"\n[link.bottleneck]\n{link}\n[flow.bulk]\n\
         path = [\"bottleneck\"]\ncontrol = \"cubic\"\n"
    )
}

/// HTB over drop-tail limited in bytes, which every kernel with HTB has.
#[test]
fn a_bottleneck_without_delay_drops_beyond_its_buffer() {
    for version in [IpVersion::V4, IpVersion::V6] {
        let text = without_delay(2, "rate = \"20Mbit\"\nbuffer = \"15kB\"");
        // The share of the payload in each packet, and the shaper's burst.
        let most = 20e6 * 1448.0 / 1500.0;
        let is_filled = |summary: &RunSummary| {
            let (flow, link) = (&summary.flows[0], &summary.links[0]);
            // CUBIC leaves 0.7 of the window, which the queue holds. TCP small queues would leave two
            // packets, 1.2 ms.
            let is_standing = link.queue_delay_p50_s.is_some_and(|median| median > 0.003);
            flow.goodput_bps > 0.8 * most && link.dropped_packets > 0 && is_standing
        };
        let Some(report) = judged_of(|| live(&text, version), is_filled) else { return };
        let summary = &report.outcome.summary;
        let (flow, link) = (&summary.flows[0], &summary.links[0]);
        assert!(flow.goodput_bps < 1.01 * most, "{version:?}: {flow:?}");
        // 15 kB take 6 ms.
        assert!(link.queue_delay_max_s.is_some_and(|longest| longest <= 0.006), "{link:?}");
        // The clock of the copies may be set while the run goes on, and no delay bounds the RTT.
        assert!(flow.rtt_min_s.is_some(), "{flow:?}");
        assert_conserved(&report);
    }
}

/// Every queue that the kernel may have, with delay on both sides. Round-trip times include both
/// delays.
#[test]
fn each_queue_carries_a_flow() {
    let red = "queue = { kind = \"red\", unit = \"bytes\", ecn = true, bandwidth = \"20Mbit\" }\n\
               buffer = \"150kB\"";
    let queues = [
        "buffer = \"50ms\"",
        "buffer = \"100packets\"",
        "queue = \"head_drop\"\nbuffer = \"50packets\"",
        "queue = { kind = \"codel\", ecn = true }",
        "queue = \"fq_codel\"",
        "queue = { kind = \"pie\", ecn = true }",
        red,
        "queue = \"dualpi2_linux\"",
        "queue = \"cake\"",
        "queue = { kind = \"cake\", bandwidth = \"15Mbit\", overhead = \"docsis\" }",
    ];
    for queue in queues {
        let link = format!("rate = \"20Mbit\"\n{queue}");
        let run = || live(&one_flow(3, "cubic", &link, ""), IpVersion::V4);
        let holds = |summary: &RunSummary| {
            let (flow, link) = (&summary.flows[0], &summary.links[0]);
            let reacts = link.dropped_packets + link.marked_packets > 0;
            let is_delayed = flow.rtt_min_s.is_some_and(|rtt| rtt >= 0.020);
            reacts && is_delayed && flow.sent_packets > 100
        };
        let Some(report) = judged_of(run, holds) else {
            // Without netem, no link has a delay.
            if queue == queues[0] {
                return;
            }
            continue;
        };
        assert_conserved(&report);
    }
}

/// Loss, duplication, jitter and early packets are netem's. Each packet is accounted for.
#[test]
fn a_wire_loses_copies_and_reorders() {
    let wire = "rate = \"20Mbit\"\nbuffer = \"50ms\"\nloss = 0.01\nduplicate = 0.01\n\
                reorder = 0.01\njitter = { span = \"1ms\", reorder = true }";
    let run = || live(&one_flow(3, "cubic", wire, ""), IpVersion::V6);
    // The wire may lose the first packets of a connection, which leaves few.
    let is_lossy = |summary: &RunSummary| {
        let link = &summary.links[0];
        link.dropped_packets > 0 && link.duplicated_packets > 0
    };
    let Some(report) = judged_of(run, is_lossy) else { return };
    // All copies are of one flow.
    assert!(!report.timing.estimates_flow_drops);
    assert_conserved(&report);
}

/// netem counts the copies of both flows together, so that the drops of each flow are estimates: each
/// is off by the copies at most.
#[test]
fn drops_of_several_flows_over_a_wire_with_copies_are_estimated() {
    let other = "[flow.other]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"reno\"\n";
    let run = |wire: &str| {
        let link = format!("rate = \"20Mbit\"\nbuffer = \"50ms\"\nloss = 0.01\n{wire}");
        let is_shared = |summary: &RunSummary| summary.flows.iter().all(|f| f.sent_packets > 100);
        let run = || live(&one_flow(3, "cubic", &link, other), IpVersion::V4);
        judged_of(run, is_shared)
    };
    let Some(report) = run("duplicate = 0.05") else { return };
    let (link, flows) = (&report.outcome.summary.links[0], &report.outcome.summary.flows);
    let of_flows: u64 = flows.iter().map(|flow| flow.dropped_packets).sum();
    assert!(report.timing.estimates_flow_drops, "{link:?}");
    assert!(
        of_flows.abs_diff(link.dropped_packets) <= link.duplicated_packets,
        "{link:?} {flows:?}"
    );
    let Some(report) = run("") else { return };
    assert!(!report.timing.estimates_flow_drops);
    assert_conserved(&report);
}

/// Steps of rate and delay are applied at their times: afterwards a round trip takes 60 ms more.
#[test]
fn rate_and_delay_change_during_the_run() {
    let text = "duration = \"3s\"\n[link.bottleneck]\nbuffer = \"50ms\"\n\
                rate = { start = \"20Mbit\", steps = [{ at = \"1s\", rate = \"10Mbit\" }] }\n\
                [link.back]\ndelay = { start = \"20ms\", steps = [{ at = \"2s\", delay = \"80ms\" }] }\n\
                [flow.bulk]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"cubic\"\n";
    let Some(report) = live(text, IpVersion::V4) else { return };
    let summary = &report.outcome.summary;
    assert_eq!(summary.spikes.len(), 1);
    assert!(summary.spikes[0].spike_s.is_some(), "{:?}", summary.spikes);
    assert!(summary.flows[0].rtt_max_s.is_some_and(|rtt| rtt >= 0.080), "{:?}", summary.flows);
    assert_conserved(&report);
}
