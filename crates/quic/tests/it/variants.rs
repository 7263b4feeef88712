//! Conditions of the four downloads that the published test does not state. Published: 3.8 to 4 s
//! with New Reno, under 3.5 s with Prague.

use crate::common::run;
use crate::downloads::{NOQ, QUINN, downloads, seconds};

/// Seconds with New Reno over a FIFO without marks, with these changes of the scenario's text.
fn reno(transport: &str, changes: &[(&str, &str)]) -> f64 {
    let step = r#"{ kind = "threshold", ce_threshold = "1ms" }"#;
    let text = downloads("\"reno\"", transport, "1ms", "").replace(step, "\"droptail\"");
    let text = changes.iter().fold(text, |text, (old, new)| text.replace(old, new));
    seconds(&run(&text, 1).0)
}

/// Seconds with Prague and marks at 1 ms.
fn prague(params: &str, transport: &str) -> f64 {
    let control = format!("{{ kind = \"prague\"{params} }}");
    seconds(&run(&downloads(&control, transport, "1ms", ""), 1).0)
}

fn with_ack_every(packets: u32) -> String {
    format!(r#"{{ stack = "noq", mtu = "1440B", ack_every = {packets} }}"#)
}

/// Each acknowledgement lets a burst leave, and the larger the burst, the smaller the window at which
/// the buffer overflows. The published stack, picoquic of July 2022, asked for an acknowledgement in a
/// quarter of a round trip (`picoquic_compute_ack_delay_max`): five packets here, which is not enough
/// for its time (studies/quic).
#[test]
fn few_acknowledgements_give_new_reno_its_published_time() {
    let [each, eight, ten] = [1, 8, 10].map(|packets| reno(&with_ack_every(packets), &[]));
    assert!(each < eight && eight < ten, "{each} s, {eight} s, {ten} s");
    assert!((3.8..4.0).contains(&ten), "{ten} s");
}

/// The published stack could reduce its window twice for one overflow, for losses of packets that
/// left before the last reduction. With both of its rules, the model takes at least the published
/// time.
#[test]
fn two_reductions_for_one_overflow_cost_new_reno_its_published_time() {
    let model = |rule: &str, ack_every: u32| {
        let transport = format!(
            "{{ profile = \"quic\", mss = \"1378B\", header = \"62B\", ack_every = {ack_every}{rule} }}"
        );
        reno(&transport, &[])
    };
    let twice = ", recovery_period = \"picoquic-2022\"";
    let [once, both] = [model("", 1), model(twice, 5)];
    assert!(model(twice, 1) > once + 0.2, "{once} s");
    assert!(both > 3.8, "{both} s");
}

/// These conditions cannot explain New Reno's published time: none changes it by 2 %. Half of the buffer
/// would, since a window that falls below the bandwidth-delay product leaves the link idle; but the
/// published round trips show 25 ms of queue.
#[test]
fn a_deeper_buffer_the_packets_and_the_stack_do_not_matter_to_new_reno() {
    let base = reno(NOQ, &[]);
    let deep = reno(NOQ, &[("buffer = \"20ms\"", "buffer = \"40ms\"")]);
    let linux = reno(NOQ, &[("\"reno\"", r#"{ kind = "reno", arithmetic = "linux" }"#)]);
    let large = reno(&NOQ.replace("1440B", "1500B"), &[]);
    for (what, found) in [("buffer", deep), ("whole packets", linux), ("1500 bytes", large)] {
        assert!((found / base - 1.0).abs() < 0.02, "{what}: {found} s of {base} s");
    }
    let shallow = reno(NOQ, &[("buffer = \"20ms\"", "buffer = \"10ms\"")]);
    assert!(shallow > 1.1 * base, "a buffer of 10 ms: {shallow} s of {base} s");
    let other = reno(QUINN, &[]);
    assert!((other / base - 1.0).abs() < 0.02, "quinn: {other} s of {base} s");
}

/// Prague's first mark halves the window with `alpha_init = 1`, the draft's and Linux's. With the
/// published stack's 0 and the stacks' default of an acknowledgement for two packets, marks at 1 ms
/// too leave the published time.
#[test]
fn an_initial_alpha_of_zero_gives_prague_its_published_time() {
    let zero = prague(", alpha_init = 0", &with_ack_every(2));
    assert!(zero < 3.5, "{zero} s");
    assert!(prague(", alpha_init = 0", NOQ) < prague("", NOQ));
}
