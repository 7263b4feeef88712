//! Sources over the kernel's TCP.

use sojourn_live::{IpVersion, Options, Stack};
use sojourn_sim::RunSummary;

use crate::common::{assert_conserved, judged, judged_of, live_with, one_flow};

/// Files, one after the other, take at least their bytes at the link's rate, and a handshake.
#[test]
fn files_are_transferred_and_counted() {
    let files = "source = { kind = \"files\", size = \"250kB\", count = 3, think = \"100ms\" }";
    let text = one_flow(3, "cubic", "rate = \"20Mbit\"", files);
    let is_done = |summary: &RunSummary| {
        let flow = &summary.flows[0];
        flow.completed_transfers == 3 && flow.completion_s.is_some_and(|time| time < 2.5)
    };
    let Some(report) = judged(&text, IpVersion::V4, is_done) else { return };
    let completion = report.outcome.summary.flows[0].completion_s;
    assert!(completion.is_none_or(|time| time >= 0.5), "{completion:?}");
    assert_conserved(&report);
}

/// A source with pauses writes at its rate, and the ping beside it measures the path.
#[test]
fn a_paced_source_writes_at_its_rate() {
    let source = "source = { kind = \"on-off\", rate = \"5Mbit\", on = \"10s\", off = \"1s\" }\n\
        [flow.ping]\npath = [\"bottleneck\"]\nback = [\"back\"]\ncontrol = \"none\"\nsource = \"ping\"\n";
    let text = one_flow(2, "cubic", "rate = \"20Mbit\"", source);
    let report = judged(&text, IpVersion::V4, |summary| {
        let [paced, ping] = &summary.flows[..] else { panic!("there are two flows") };
        let is_near = |rtt: Option<f64>| rtt.is_some_and(|rtt| rtt < 0.025);
        paced.goodput_bps > 4.5e6 && is_near(ping.rtt_p50_s) && is_near(paced.rtt_p50_s)
    });
    let Some(report) = report else { return };
    let [paced, ping] = &report.outcome.summary.flows[..] else { panic!("there are two flows") };
    assert!(paced.goodput_bps <= 5.1e6, "{}", paced.goodput_bps);
    assert!(ping.rtt_min_s.is_some_and(|rtt| rtt >= 0.020), "{:?}", ping.rtt_min_s);
    assert!(paced.rtt_min_s.is_some_and(|rtt| rtt >= 0.020), "{:?}", paced.rtt_min_s);
}

/// The kernel answers echo requests, one for each interval, after the delay of both links.
#[test]
fn pings_are_answered_by_the_kernel() {
    let text = "duration = \"1s\"\n[link.there]\ndelay = \"10ms\"\n[link.back]\ndelay = \"20ms\"\n\
        [flow.ping]\npath = [\"there\"]\nback = [\"back\"]\ncontrol = \"none\"\n\
        source = { kind = \"ping\", interval = \"100ms\", size = \"200B\" }\n";
    for version in [IpVersion::V4, IpVersion::V6] {
        let is_soon =
            |summary: &RunSummary| summary.flows[0].rtt_min_s.is_some_and(|rtt| rtt < 0.032);
        let Some(report) = judged(text, version, is_soon) else { return };
        let ping = &report.outcome.summary.flows[0];
        assert!((1..=10).contains(&ping.sent_packets), "{}", ping.sent_packets);
        assert!((1..=ping.sent_packets).contains(&ping.completed_transfers));
        let bytes = ping.goodput_bps / 8.0;
        assert!((bytes - 200.0 * ping.completed_transfers as f64).abs() < 1.0, "{bytes}");
        let least = ping.rtt_min_s.expect("pings were answered");
        assert!(least >= 0.030, "{version:?}: {least}");
        // Request and reply pass one link each.
        let passed = report.outcome.summary.links.iter().map(|link| link.arrived_packets);
        assert!(passed.eq([ping.sent_packets, ping.completed_transfers]));
        assert_conserved(&report);
    }
}

/// Each response follows its request, and the first one of a connection that is not open at the
/// start also its handshake.
#[test]
fn requests_are_answered_and_timed() {
    // A connection that is open at the start opens 2 s before it.
    assert_responses(Stack::Kernel, 2);
}

/// Over UDP, requests have a connection of their own, as in a simulation.
#[test]
fn requests_over_udp_are_answered_and_timed() {
    assert_responses(Stack::Udp, 0);
}

fn assert_responses(stack: Stack, start: u32) {
    for (handshake, round_trips) in [("none", 1.0), ("1-rtt", 2.0)] {
        let source = format!(
            "start = \"{start}s\"\nhost = {{ handshake = \"{handshake}\", ack_every = 1 }}\n\
             source = {{ kind = \"request\", request = \"100B\", response = \"3kB\", count = 5, \
             interval = \"100ms\" }}"
        );
        let text = one_flow(start + 2, "cubic", "rate = \"20Mbit\"", &source);
        let is_soon = |summary: &RunSummary| {
            let flow = &summary.flows[0];
            let is_below = |time: Option<f64>, limit| time.is_some_and(|time| time < limit);
            flow.completed_transfers == 5
                && is_below(flow.response_p50_s, 0.024)
                && is_below(flow.response_p99_s, 0.020 * round_trips + 0.004)
        };
        let options = Options { stack, ..Options::default() };
        let Some(report) = judged_of(|| live_with(&text, &options), is_soon) else { return };
        let flow = &report.outcome.summary.flows[0];
        assert!(flow.completed_transfers <= 5);
        assert!(flow.goodput_bps > 0.0);
        let (median, longest) = (flow.response_p50_s, flow.response_p99_s);
        let (median, longest) = median.zip(longest).expect("requests were answered");
        // The link needs 1.2 ms more for the response.
        assert!(median >= 0.0212 && longest >= 0.020 * round_trips, "{median}, {longest}");
        assert_conserved(&report);
    }
}
