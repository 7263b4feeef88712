//! Checks for invalid figures in a summary.

use sojourn_sim::{FlowSummary, LinkSummary, RunSummary, SpikeSummary};

pub(crate) fn check(run: &RunSummary) {
    finite("run", &[run.duration_s]);
    run.flows.iter().for_each(flow);
    run.links.iter().for_each(link);
    run.spikes.iter().for_each(spike);
}

fn flow(flow: &FlowSummary) {
    let rtts = [flow.rtt_min_s, flow.rtt_p50_s, flow.rtt_p99_s, flow.rtt_max_s];
    finite(&flow.name, &[flow.start_s, flow.goodput_bps, flow.base_rtt_s]);
    ascending(&flow.name, &rtts);
    ascending(&flow.name, &[flow.response_p50_s, flow.response_p99_s]);
    known(&flow.name, &[flow.rtt_mean_s, flow.completion_s, flow.response_mean_s]);
    assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}");
}

fn link(link: &LinkSummary) {
    known(&link.name, &[link.utilisation, link.capacity_bps]);
    let delays = [link.queue_delay_p50_s, link.queue_delay_p99_s, link.queue_delay_max_s];
    ascending(&link.name, &delays);
    let came = link.arrived_packets + link.duplicated_packets;
    assert!(link.delivered_packets + link.dropped_packets <= came, "{link:?}");
}

fn spike(spike: &SpikeSummary) {
    let always = [spike.at_s, spike.from_bps, spike.to_bps, spike.bound_lost_fraction];
    finite(&spike.link, &always);
    finite(&spike.link, &[spike.peak_at_s, spike.carried_before_bps, spike.loop_s]);
    finite(&spike.link, &[spike.carried_loop_bps]);
    known(&spike.link, &[spike.spike_s, spike.bound_s]);
    known(&spike.link, &[spike.recovery_s, spike.offered_loop_bps]);
    known(&spike.link, &[spike.utilisation_before, spike.utilisation_after]);
    assert!(spike.excess_s.is_none_or(f64::is_finite), "{spike:?}");
}

/// Checks that values are finite and not negative, as all figures except differences are.
fn finite(of: &str, values: &[f64]) {
    assert!(values.iter().all(|value| value.is_finite() && *value >= 0.0), "{of}: {values:?}");
}

/// Checks the values that are present. JSON writes NaN as null, which would look like "no sample".
fn known(of: &str, values: &[Option<f64>]) {
    values.iter().flatten().for_each(|value| finite(of, &[*value]));
}

/// Checks percentiles of the same samples.
fn ascending(of: &str, values: &[Option<f64>]) {
    known(of, values);
    assert!(values.iter().flatten().is_sorted(), "{of}: {values:?}");
}
