//! PCC Vivace over a bottleneck, against Dong et al., "PCC Vivace: Online-Learning Congestion Control",
//! NSDI 2018.

use crate::common::{flow, jain, link, run};
use sojourn_sim::RunSummary;

/// Flows over 20 Mbit/s and 40 ms, with a buffer of four times that.
fn over(seconds: u64, loss: f64, control: &str, count: u64) -> RunSummary {
    run(&format!(
        r#"
duration = "{seconds}s"
measure = {{ from = "{}s" }}
[link.bottleneck]
rate = "20Mbit"
delay = "20ms"
buffer = "160ms"
loss = {loss}
[link.back]
delay = "20ms"
[flow.f]
control = "{control}"
path = ["bottleneck"]
back = ["back"]
count = {count}
stagger = "{}s"
"#,
        seconds / 3,
        if count > 1 { seconds / 6 } else { 0 },
    ))
}

/// Section 3: with its latency gradient, Vivace fills the link without filling the buffer.
#[test]
fn a_flow_fills_the_link_but_not_the_buffer() {
    let summary = over(60, 0.0, "vivace", 1);
    let queue = link(&summary, "bottleneck");
    let (used, p50) = (queue.utilisation.unwrap(), queue.queue_delay_p50_s.unwrap());
    println!("{used}, queue {p50} s");
    assert!(used > 0.9, "{used}");
    assert!(p50 < 0.040, "{p50}");
}

/// Dong et al. 2018, section 3: with c = 11.35, the utility rises with the rate x in Mbit/s as long as
/// 0.9 x^-0.1 > 11.35 L. At L = 5 %, this is so up to 100 Mbit/s, and at 3 % up to 17 Gbit/s, so that the
/// losses do not determine the rate. Those of a loss-based controller do: sqrt(3/2 / L) packets in a
/// round trip (Mathis et al. 1997). Each is on its side of the geometric mean of that rate and the link's.
#[test]
fn random_losses_are_tolerated() {
    let (loss, rtt) = (0.03, 0.04);
    let loss_based = 1448.0 * 8.0 * (1.5_f64 / loss).sqrt() / rtt;
    let between = (loss_based * 20e6).sqrt();
    let vivace = flow(&over(60, loss, "vivace", 1), "f").goodput_bps;
    let cubic = flow(&over(60, loss, "cubic", 1), "f").goodput_bps;
    println!("vivace {vivace}, cubic {cubic}, between {between}");
    assert!(vivace > between && cubic < between, "{vivace} {cubic} {between}");
}

/// Theorem 1 of section 3: flows with the same utility converge to equal rates.
#[test]
fn two_flows_share() {
    let summary = over(120, 0.0, "vivace", 2);
    let goodputs: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_bps).collect();
    println!("{goodputs:?}");
    assert!(jain(&goodputs) > 0.9, "{goodputs:?}");
    assert!(goodputs.iter().sum::<f64>() > 0.85 * 20e6, "{goodputs:?}");
}

/// RFC 9002 section 7.8, and RFC 8085 section 3.1: a rate that an application does not use does not grow, and
/// an application without a backlog still makes room. The source of 8 Mbit/s uses a part of 20 Mbit/s, then
/// overloads 4 Mbit/s.
#[test]
fn an_application_below_its_rate_makes_room_when_the_capacity_falls() {
    let summary = run(r#"
duration = "40s"
measure = { from = "30s" }
[link.bottleneck]
rate = { start = "20Mbit", steps = [{ at = "10s", rate = "4Mbit" }] }
delay = "20ms"
buffer = "100ms"
[link.back]
delay = "20ms"
[flow.f]
control = "vivace"
path = ["bottleneck"]
back = ["back"]
source = { kind = "on-off", rate = "8Mbit", on = "1s", off = "0s" }
"#);
    let queue = link(&summary, "bottleneck");
    let (used, p50) = (queue.utilisation.unwrap(), queue.queue_delay_p50_s.unwrap());
    println!("{used}, queue {p50} s");
    assert!(used > 0.8 && p50 < 0.1, "{used}, queue {p50} s");
}
