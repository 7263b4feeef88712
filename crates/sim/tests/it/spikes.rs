//! The summary's records of capacity changes.

use crate::common::{assert_near, flow, link, run_exact, scenario_with_trace, simulate};
use sojourn_sim::{RunSummary, SpikeSummary};

/// A source of 30 Mbit/s with headers over 60 Mbit/s, then these changes.
fn half_used(changes: &str) -> Vec<SpikeSummary> {
    run_exact(
        "8s",
        &format!(
            r#"
[link.a]
rate = {{ start = "60Mbit", {changes} }}
delay = "20ms"
buffer = "unlimited"
[link.back]
delay = "30ms"
[flow.video]
control = "ideal"
path = ["a"]
back = ["back"]
source = {{ kind = "on-off", rate = "28960kbit", on = "1s", off = "0s" }}
"#
        ),
    )
    .spikes
}

/// An `ideal` flow over the link `a` with these keys, alone and without a link back.
fn ideal_over(duration: &str, link: &str) -> Vec<SpikeSummary> {
    let flow = "[flow.f]\ncontrol = \"ideal\"\npath = [\"a\"]\n";
    run_exact(duration, &format!("[link.a]\n{link}\n{flow}")).spikes
}

/// One packet of 2500 in the second before the change.
const ONE_IN_A_SECOND: f64 = 1.0 / 2500.0;

#[test]
fn a_link_that_carried_half_has_a_lower_bound() {
    let found = half_used(r#"steps = [{ at = "3s", rate = "20Mbit" }]"#).remove(0);
    assert_eq!((found.at_s, found.from_bps, found.to_bps), (3.0, 60e6, 20e6));
    assert_near(found.carried_before_bps, 30e6, 30e6 * ONE_IN_A_SECOND, "carried");
    assert_near(found.utilisation_before.unwrap(), 0.5, ONE_IN_A_SECOND, "used before");
    // In the loop before the change and in the loop after it, give or take a packet.
    assert_eq!(found.loop_s, 0.050);
    assert_near(found.carried_loop_bps, 30e6, 12e3 / 0.050, "carried in a loop");
    assert_near(found.offered_loop_bps.unwrap(), 30e6, 12e3 / 0.050, "offered in a loop");
    assert_eq!(found.dropped_to_peak_packets, 0);
    // r = 1.5 for the carried traffic; d = 50 ms.
    let bound = found.bound_s.unwrap();
    assert_near(bound, 0.025, 12e3 / 20e6, "bound");
    let spike = found.spike_s.unwrap();
    // An excess of 10 Mbit/s for 50 ms. The ideal sender then has its own backlog and fills the
    // link, so that the queue stays.
    assert_near(spike, 0.025, 12e3 / 20e6, "spike");
    assert_near(found.excess_s.unwrap(), spike - bound, 1e-12, "excess");
}

/// The carried rate is that of one loop delay before the change, not of a second: a flow that starts 200 ms
/// before the change, with a loop of 50 ms, counts like a permanent one.
#[test]
fn the_bound_looks_back_one_loop() {
    let found = run_exact(
        "5s",
        r#"
[link.a]
rate = { start = "60Mbit", steps = [{ at = "3s", rate = "20Mbit" }] }
delay = "20ms"
buffer = "unlimited"
[link.back]
delay = "30ms"
[flow.video]
control = "none"
path = ["a"]
back = ["back"]
start = "2800ms"
stop = "3050ms"
source = { kind = "on-off", rate = "28960kbit", on = "1s", off = "0s" }
[flow.idle]
control = "cubic"
path = ["a"]
back = ["back"]
start = "4s"
source = { kind = "file", size = "1B" }
"#,
    )
    .spikes
    .remove(0);
    assert_near(found.carried_before_bps, 6e6, 12e3, "in the second before");
    assert_near(found.carried_loop_bps, 30e6, 12e3 / 0.050, "in the loop before");
}

/// A queue that drops has a peak below the bound, and the summary counts the packets dropped.
#[test]
fn drops_before_the_peak_are_counted() {
    let of = |buffer: &str| {
        let tables = format!(
            r#"
[link.a]
rate = {{ start = "60Mbit", steps = [{{ at = "2s", rate = "20Mbit" }}] }}
delay = "50ms"
queue = "codel"
buffer = "{buffer}"
[flow.f]
control = "none"
path = ["a"]
stop = "2500ms"
source = {{ kind = "on-off", rate = "57Mbit", on = "1s", off = "0s" }}
"#
        );
        run_exact("3s", &tables)
    };
    let deep = of("unlimited").spikes.remove(0);
    assert!(deep.dropped_to_peak_packets > 0, "{deep:?}");
    // Two packets wait for 1.2 ms, below CoDel's target. Most drops come after the peak, and are
    // not counted.
    let shallow = of("2packets");
    let spike = &shallow.spikes[0];
    assert!(spike.dropped_to_peak_packets < shallow.links[0].dropped_packets, "{shallow:?}");
}

#[test]
fn what_the_new_capacity_still_carries_has_no_bound_to_speak_of() {
    let found = half_used(r#"steps = [{ at = "3s", rate = "40Mbit" }]"#).remove(0);
    assert_eq!(found.bound_s, Some(0.0));
    assert_eq!(found.spike_s, Some(0.0));
}

#[test]
fn every_change_has_an_entry_of_its_own() {
    let all = half_used(
        r#"steps = [{ at = "2s", rate = "20Mbit" }, { at = "4s", rate = "80Mbit" }, { at = "6s", rate = "40Mbit" }]"#,
    );
    let changes: Vec<_> = all.iter().map(|s| (s.at_s, s.from_bps, s.to_bps)).collect();
    assert_eq!(changes, [(2.0, 60e6, 20e6), (4.0, 20e6, 80e6), (6.0, 80e6, 40e6)]);
    // Datagrams of 30 Mbit/s before the first and, with their queue, before the second drop.
    let [fall, rise, again] = [0, 1, 2].map(|place: usize| all[place].bound_s.unwrap());
    assert_near(fall, 0.025, 12e3 / 20e6, "30 to 20 Mbit/s");
    assert_eq!((rise, again), (0.0, 0.0), "a rise, and a drop to more than was carried");
    // Utilisation between the changes: full after the drop.
    assert_near(all[0].utilisation_after.unwrap(), 1.0, 1e-3, "after the drop");
    assert_eq!(all[0].utilisation_after, all[1].utilisation_before);
}

/// The packet that arrives first waits for the whole second, which is unavoidable.
#[test]
fn an_outage_is_all_bound() {
    let all =
        half_used(r#"steps = [{ at = "3s", rate = "0bit" }, { at = "4s", rate = "60Mbit" }]"#);
    assert_eq!(all[0].bound_s, Some(1.0));
    // The first packet after the start meets at most one packet less than that.
    assert_near(all[0].spike_s.unwrap(), 1.0, 2.0 / 2500.0, "spike");
    assert_near(all[0].excess_s.unwrap(), 0.0, 2.0 / 2500.0, "excess");
    assert_eq!(all[1].excess_s, None, "a rise");
    assert_eq!(all[1].carried_before_bps, 0.0);
    assert_eq!((all[0].utilisation_after, all[1].utilisation_before), (None, None));
}

/// A buffer in time keeps its size in bytes during an outage, and so the delay of its packets.
#[test]
fn a_buffer_in_time_is_one_in_bytes_through_an_outage() {
    let of = |buffer: &str| {
        let tables = format!(
            r#"
[link.a]
rate = {{ start = "50Mbit", steps = [{{ at = "3s", rate = "0bit" }}, {{ at = "3600ms", rate = "50Mbit" }}] }}
delay = "20ms"
buffer = "{buffer}"
[link.b]
delay = "20ms"
[flow.f]
control = "ideal"
path = ["a"]
back = ["b"]
"#
        );
        run_exact("6s", &tables).spikes.remove(0)
    };
    let (time, bytes) = (of("50ms"), of("312500B"));
    assert_eq!((time.bound_s, time.spike_s), (bytes.bound_s, bytes.spike_s));
    assert_eq!(time.bound_s, Some(0.6));
}

/// A ramp to zero, too: a packet that arrives at its end waits for the second until the next ramp,
/// and for the first steps of that ramp. A packet that arrives in the last steps waits a little
/// longer.
#[test]
fn a_ramp_to_zero_is_an_outage() {
    let all = half_used(
        r#"ramps = [{ from = "3s", to = "4s", rate = "0bit" }, { from = "5s", to = "6s", rate = "60Mbit" }]"#,
    );
    let bound = all[0].bound_s.unwrap();
    assert!(bound > 1.0 && bound < 1.25, "{bound}");
    let last = half_used(r#"steps = [{ at = "3s", rate = "0bit" }]"#).remove(0);
    assert_eq!((last.bound_s, last.excess_s), (None, None), "it never ends");
}

/// Steps closer together than the loop delay: the second step adds to the queue of the first.
/// Between them the excess is 30 Mbit/s for 20 ms, afterwards 40 Mbit/s for 30 ms: 1.8 Mbit, which
/// wait 90 ms at 20 Mbit/s.
#[test]
fn steps_close_together_add_up() {
    let all = ideal_over(
        "3s",
        r#"
rate = { start = "60Mbit", steps = [{ at = "1s", rate = "30Mbit" }, { at = "1020ms", rate = "20Mbit" }] }
delay = "50ms"
buffer = "unlimited"
"#,
    );
    // A packet that arrives at 1020 ms has 0.6 Mbit before it: 30 ms at 20 Mbit/s.
    assert_near(all[0].bound_s.unwrap(), 0.030, 1e-6, "first");
    assert_near(all[1].bound_s.unwrap(), 0.090, 1e-6, "second");
    for spike in &all {
        assert!(spike.excess_s.unwrap() > -12e3 / 20e6, "{spike:?}");
    }
}

/// A stopped flow has no share in the bound, however much it sent earlier.
#[test]
fn who_has_stopped_has_no_share() {
    let found = run_exact(
        "3s",
        r#"
[link.a]
rate = { start = "60Mbit", steps = [{ at = "2s", rate = "20Mbit" }] }
buffer = "unlimited"
[link.near]
delay = "10ms"
[link.far]
delay = "200ms"
[flow.near]
control = "ideal"
path = ["a"]
back = ["near"]
[flow.far]
control = "ideal"
path = ["a"]
back = ["far"]
stop = "1500ms"
"#,
    )
    .spikes
    .remove(0);
    assert_eq!(found.bound_s, Some(0.020));
    assert_near(found.spike_s.unwrap(), 0.020, 2.0 * 12e3 / 20e6, "spike");
}

/// Packets beyond the buffer's capacity do not wait: equation 3 of "A Lower Bound on Latency
/// Spikes".
#[test]
fn a_buffer_caps_the_bound() {
    let found = ideal_over(
        "3s",
        r#"
rate = { start = "60Mbit", steps = [{ at = "2s", rate = "20Mbit" }] }
delay = "50ms"
buffer = "40ms"
"#,
    )
    .remove(0);
    assert_eq!((found.bound_s, found.bound_lost_fraction), (Some(0.040), 0.6));
    assert_near(found.excess_s.unwrap(), 0.0, 12e3 / 20e6, "excess");
}

/// The window for the peak is never shorter than the loop.
#[test]
fn a_long_loop_has_its_peak() {
    let found = ideal_over(
        "40s",
        r#"
rate = { start = "10Mbit", steps = [{ at = "15s", rate = "5Mbit" }] }
delay = "7s"
buffer = "unlimited"
"#,
    )
    .remove(0);
    assert_near(found.spike_s.unwrap(), 7.0, 12e3 / 5e6, "spike");
}

/// Adjacent changes: the traffic carried before the second is still a rate.
#[test]
fn a_change_right_after_a_ramp_knows_what_was_carried() {
    let all = half_used(
        r#"ramps = [{ from = "2s", to = "3s", rate = "40Mbit" }, { from = "3s", to = "4s", rate = "20Mbit" }]"#,
    );
    for found in &all {
        assert_near(found.carried_before_bps, 30e6, 2.0 * 30e6 * ONE_IN_A_SECOND, "carried");
    }
    let first = half_used(r#"steps = [{ at = "0s", rate = "40Mbit" }]"#).remove(0);
    assert_eq!((first.carried_before_bps, first.bound_s), (0.0, Some(0.0)));
}

/// Datagrams arrive at 30 Mbit/s for two seconds. The link falls to 20 Mbit/s half-way, which leaves
/// 10 Mbit waiting in the end.
#[test]
fn a_spike_lasts_until_the_queue_is_empty() {
    let found = run_exact(
        "5s",
        r#"
record = { spike_window = "1500ms" }
[link.a]
rate = { start = "60Mbit", steps = [{ at = "1s", rate = "20Mbit" }] }
buffer = "unlimited"
[flow.video]
control = "none"
path = ["a"]
stop = "2s"
source = { kind = "on-off", rate = "28960kbit", on = "2s", off = "1s" }
"#,
    )
    .spikes
    .remove(0);
    assert_near(found.spike_s.unwrap(), 0.500, 12e3 / 20e6, "spike");
    assert_near(found.peak_at_s, 2.500, 12e3 / 20e6, "peak");
    assert_near(found.recovery_s.unwrap(), 1.5, 12e3 / 20e6, "recovery");
}

/// Datagrams fill 200 ms of 20 Mbit/s, which take 400 ms at half of the rate. The buffer has half of
/// its bytes from then on, so that what arrives waits 200 ms at most: the peak is that of the packets
/// that waited at the change.
#[test]
fn packets_that_waited_at_the_change_count() {
    let found = run_exact(
        "3s",
        r#"
[link.a]
rate = { start = "20Mbit", steps = [{ at = "1s", rate = "10Mbit" }] }
buffer = "200ms"
[flow.video]
control = "none"
path = ["a"]
source = { kind = "on-off", rate = "28960kbit", on = "3s", off = "1s" }
"#,
    )
    .spikes
    .remove(0);
    // The buffer holds whole packets, and one more is on its way.
    let two_packets = 2.0 * 12e3 / 10e6;
    assert_near(found.spike_s.unwrap(), 0.400, two_packets, "spike");
    assert_near(found.peak_at_s, 1.400, two_packets, "peak");
}

/// A drop that delays no packet needs no time to recover.
#[test]
fn no_spike_no_recovery() {
    let found = half_used(r#"steps = [{ at = "3s", rate = "40Mbit" }]"#).remove(0);
    assert_eq!(found.recovery_s, Some(0.0));
}

/// Bursts of datagrams fill the queue each second, of which the first lies before the fall: the delay is
/// back for good only after the last burst at the lower rate, and never if one ends the run.
#[test]
fn recovery_is_for_good() {
    let of = |stop: &str| {
        let tables = format!(
            r#"
[link.a]
rate = {{ start = "60Mbit", steps = [{{ at = "2s", rate = "20Mbit" }}] }}
buffer = "unlimited"
[flow.video]
control = "none"
path = ["a"]
start = "500ms"
stop = "{stop}"
source = {{ kind = "on-off", rate = "28960kbit", on = "400ms", off = "600ms" }}
"#
        );
        run_exact("6s", &tables).spikes.remove(0).recovery_s
    };
    // A burst of 12 Mbit (with headers) takes 0.6 s, and its last packet waits 0.2 s. The bound is zero
    // without a loop. The burst that begins after 4.5 s is the last one, and over after 5.1 s.
    assert_near(of("4950ms").unwrap(), 5.1 - 2.0, 2.0 * 12e3 / 20e6, "the last burst");
    assert_eq!(of("6s"), None, "a burst from 5.5 s on waits at the end");
}

/// Connections weigh by the traffic that they sent on the link. Datagrams have no loop, and do not
/// count towards another flow's share.
#[test]
fn shares_are_those_of_connections() {
    let found = run_exact(
        "4s",
        r#"
[link.a]
rate = { start = "60Mbit", steps = [{ at = "2s", rate = "20Mbit" }] }
buffer = "unlimited"
[link.near]
delay = "10ms"
[link.far]
delay = "90ms"
[flow.noise]
control = "none"
path = ["a"]
source = { kind = "on-off", rate = "14480kbit", on = "1s", off = "0s" }
[flow.near]
control = "reno"
path = ["a"]
back = ["near"]
source = { kind = "on-off", rate = "14480kbit", on = "1s", off = "0s" }
[flow.far]
control = "reno"
path = ["a"]
back = ["far"]
source = { kind = "on-off", rate = "14480kbit", on = "1s", off = "0s" }
"#,
    )
    .spikes
    .remove(0);
    // Both connections sent the same amount: d = 50 ms. Three sources of 15 Mbit/s: r = 45 / 20.
    assert_near(found.bound_s.unwrap(), 1.25 * 0.050, 2.0 * 12e3 / 20e6, "bound");
}

/// `spread` shifts changes of capacity and of delay together.
#[test]
fn a_spread_moves_all_changes_alike() {
    let spikes = |seed: u64| {
        run_exact(
            "20s",
            &format!(
                r#"
seed = {seed}
spread = "5s"
[link.a]
rate = {{ start = "60Mbit", steps = [{{ at = "5s", rate = "20Mbit" }}] }}
delay = {{ start = "10ms", steps = [{{ at = "7s", delay = "60ms" }}] }}
[flow.f]
control = "ideal"
path = ["a"]
"#
            ),
        )
        .spikes
    };
    let mut moments = Vec::new();
    for seed in 1..=8 {
        let found = spikes(seed).remove(0);
        assert!((5.0..10.0).contains(&found.at_s), "{}", found.at_s);
        // The delay changes two seconds later, for every seed.
        assert_eq!(found.bound_s, Some(0.020), "seed {seed} at {}", found.at_s);
        moments.push(found.at_s);
    }
    moments.dedup();
    assert_eq!(moments.len(), 8, "each seed has its own moment");
}

/// A trace has no steps: its fall from three packets a millisecond to one is a change too, with the
/// bound of its capacity.
#[test]
fn a_fall_of_a_trace_is_a_change_with_its_bound() {
    let mut trace = String::new();
    for ms in 1..=4000 {
        let packets = if ms < 2000 { 3 } else { 1 };
        (0..packets).for_each(|_| trace += &format!("{ms}\n"));
    }
    let text = r#"
duration = "3800ms"
start_jitter = "0s"
noise = "none"
[link.a]
rate = { trace = "a.trace" }
buffer = "unlimited"
[link.back]
delay = "50ms"
[flow.f]
control = "ideal"
path = ["a"]
back = ["back"]
"#;
    let all = simulate(&scenario_with_trace(text, &trace), 1).summary.spikes;
    assert_eq!(all.len(), 1, "{all:?}");
    let found = &all[0];
    // Of intervals of 200 ms, the middles beside the fall.
    assert_eq!((found.at_s, found.complete_at_s), (1.9, 2.1));
    let packet = 1504.0 * 8e3;
    assert_eq!((found.from_bps, found.to_bps), (3.0 * packet, packet));
    // r = 3 and d = 50 ms. The capacity is signalled as its mean over 10 ms.
    assert_near(found.bound_s.unwrap(), 0.100, 0.003, "bound");
    assert_near(found.spike_s.unwrap(), 0.100, 0.025, "spike");
}

/// A flood fills the queue for a second. Measured after it, the link is idle, and pings meet no
/// queue.
#[test]
fn figures_leave_the_warm_up_out() {
    let summary = |measure: &str| {
        let tables = r#"
[link.out]
rate = "10Mbit"
delay = "10ms"
buffer = "300kB"
[link.back]
delay = "10ms"
[flow.flood]
control = "none"
path = ["out"]
source = { kind = "on-off", rate = "20Mbit", on = "1s", off = "0s" }
stop = "1s"
[flow.ping]
control = "none"
path = ["out"]
back = ["back"]
source = { kind = "ping", interval = "100ms" }
"#;
        run_exact("3s", &format!("{measure}\n{tables}"))
    };
    let (whole, rest) = (summary(""), summary("measure = { from = \"2s\" }"));
    assert_eq!((whole.measured_from_s, rest.measured_from_s), (0.0, 2.0));
    let used = |of: &RunSummary| link(of, "out").utilisation.unwrap();
    assert!(used(&whole) > 0.3 && used(&rest) < 0.001, "{} {}", used(&whole), used(&rest));
    let longest = |of: &RunSummary| flow(of, "ping").rtt_max_s.unwrap();
    assert!(longest(&whole) > 0.2 && longest(&rest) < 0.021, "{} s", longest(&rest));
    let wait = |of: &RunSummary| link(of, "out").queue_delay_max_s.unwrap();
    assert!(wait(&whole) > 0.2 && wait(&rest) < 0.001, "{} s", wait(&rest));
    // The flood has ended in the warm-up.
    let goodput = |of: &RunSummary| flow(of, "flood").goodput_bps;
    assert!(goodput(&whole) > 5e6 && goodput(&rest) == 0.0, "{} bit/s", goodput(&rest));
    // Counts cover the whole run.
    assert_eq!(link(&whole, "out").arrived_packets, link(&rest, "out").arrived_packets);
}

/// A fall to a quarter over DualPI2, below Prague. Every packet is then marked, so that alpha after n
/// virtual round trips of 25 ms is 1 - (15/16)^n, and each of them reduces the window by alpha / 2
/// (draft-briscoe-iccrg-prague-congestion-control-04 sections 2.3.2, 2.4.2 and 2.4.4). The product of the
/// remainders is below a quarter after ten. Slower epochs would mean an alpha that lags: with at most
/// 1/8, it would take 22 of them.
#[test]
fn prague_answers_a_fall_to_a_quarter_within_ten_virtual_round_trips() {
    let tables = r#"
[link.down]
rate = { start = "400Mbit", steps = [{ at = "4s", rate = "100Mbit" }] }
delay = "1ms"
queue = "dualpi2"
[link.back]
delay = "1ms"
[flow.f]
control = { kind = "prague", d = 50 }
path = ["down"]
back = ["back"]
"#;
    let summary = run_exact("6s", tables);
    let spike = &summary.spikes[0];
    let lasted = spike.recovery_s.expect("the queue drains");
    assert!(lasted < 10.0 * 0.025, "{lasted} s");
}
