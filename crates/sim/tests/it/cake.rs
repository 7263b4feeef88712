//! CAKE in a home gateway, as "Piece of CAKE" (arXiv 1804.07617) describes it.

use crate::common::{flow, link, run};
use sojourn_sim::RunSummary;

/// A gateway that shapes to 20 Mbit/s with CAKE, behind it the modem.
fn gateway(cake: &str, flows: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "20s"
measure = {{ from = "5s" }}
[link.gateway]
rate = "1Gbit"
queue = {{ kind = "cake", bandwidth = "20Mbit"{cake} }}
[link.modem]
rate = "25Mbit"
delay = "10ms"
[link.back]
delay = "10ms"
{flows}
"#
    ))
}

fn upload(name: &str, keys: &str) -> String {
    format!("[flow.{name}]\npath = [\"gateway\", \"modem\"]\nback = [\"back\"]\n{keys}\n")
}

fn mbit(summary: &RunSummary, name: &str) -> f64 {
    flow(summary, name).goodput_bps / 1e6
}

/// With host isolation, a host with one flow gets as much as one with eight; with flow
/// isolation alone it gets a ninth.
#[test]
fn a_host_with_one_flow_gets_as_much_as_one_with_eight() {
    let mut flows = upload("one", "control = \"cubic\"\nfrom = \"anna\"");
    for place in 0..8 {
        let keys = format!("control = \"cubic\"\nfrom = \"bert\"\nto = \"server{place}\"");
        flows += &upload(&format!("many{place}"), &keys);
    }
    for (isolation, share) in [("triple-isolate", 0.5), ("dual-srchost", 0.5), ("flows", 1.0 / 9.0)]
    {
        let summary = gateway(&format!(", isolation = \"{isolation}\""), &flows);
        let one = mbit(&summary, "one");
        let all: f64 = one + (0..8).map(|i| mbit(&summary, &format!("many{i}"))).sum::<f64>();
        println!("{isolation}: {one} of {all} Mbit/s");
        assert!((one / all - share).abs() < 0.03, "{isolation}: {one} of {all}");
        assert!(all > 18.0, "{all}");
    }
}

/// DiffServ handling: packets with the codepoint EF pass bulk traffic; without a codepoint, they are sparse
/// and wait hardly longer. A queue of CAKE stays near COBALT's target of 5 ms.
#[test]
fn a_call_does_not_wait_for_uploads() {
    let call = r#"control = "none"
source = { kind = "on-off", rate = "100kbit", on = "1s", off = "0s" }"#;
    let flows = upload("bulk", "control = \"cubic\"\ncount = 4")
        + &upload("call", &format!("dscp = \"EF\"\n{call}"))
        + &upload("plain", call);
    let summary = gateway("", &flows);
    let queue = link(&summary, "gateway");
    let p50 = queue.queue_delay_p50_s.unwrap();
    assert!(p50 < 0.025, "{p50}");
    for name in ["call", "plain"] {
        let delivered = flow(&summary, name).goodput_bps;
        assert!(delivered > 0.98e5, "{name}: {delivered}");
    }
}

/// ACK filtering: on a path with 80 times as much capacity down as up, the acknowledgements of downloads
/// fill the way up. With the filter, the goodput is that with a wide way up.
#[test]
fn the_ack_filter_raises_downloads_over_an_asymmetric_path() {
    let download = |bandwidth: &str, filter: &str| {
        let summary = run(&format!(
            r#"
duration = "20s"
measure = {{ from = "5s" }}
[link.down]
rate = "40Mbit"
delay = "10ms"
queue = "fq_codel"
[link.up]
rate = "10Mbit"
delay = "10ms"
queue = {{ kind = "cake", bandwidth = "{bandwidth}", ack_filter = "{filter}" }}
[flow.download]
control = "cubic"
path = ["down"]
back = ["up"]
"#
        ));
        mbit(&summary, "download")
    };
    let wide = download("10Mbit", "no-ack-filter");
    let [without, with, more] = ["no-ack-filter", "ack-filter", "ack-filter-aggressive"]
        .map(|one| download("500kbit", one));
    println!("{without}, {with}, {more} of {wide} Mbit/s");
    // 500 kbit/s carry 1200 acknowledgements of 52 bytes, of which 40 Mbit/s cause 1700: for 27.8 Mbit/s,
    // if COBALT drops no acknowledgement. It drops some after they have waited.
    assert!((27.8..0.95 * wide).contains(&without), "{without} {wide}");
    assert!(with > 0.98 * wide && more > 0.98 * wide, "{with} {more} {wide}");
}
