//! Runs on a machine that gives no TUN device: its node is hidden from a thread.

use std::thread;

use sojourn_live::{IpVersion, Options, Report, Stack};

use crate::common::{assert_conserved, live_with, one_flow};
use crate::hidden_tun::hide_tun;

/// Runs a scenario on a thread whose `/dev/net/tun` is another device; `None` where this machine
/// does not allow it.
fn live_without_tun(text: &str, options: &Options) -> Option<Report> {
    let run = || {
        if let Err(error) = hide_tun() {
            eprintln!("not run here: cannot hide /dev/net/tun: {error}");
            return None;
        }
        live_with(text, options)
    };
    thread::scope(|scope| scope.spawn(run).join()).expect("the run does not panic")
}

/// Both stacks over a link that drops, marks, loses and copies packets, in both versions of IP.
#[test]
fn every_packet_is_accounted_for() {
    let link = "rate = \"100Mbit\"\nbuffer = \"20ms\"\n\
loss = { every = 1000 }\n\
        duplicate = 0.001";
    for stack in [Stack::Kernel, Stack::Udp] {
        for version in [IpVersion::V4, IpVersion::V6] {
            let options = Options { version, stack, ..Options::default() };
            let Some(report) = live_without_tun(&one_flow(2, "cubic", link, ""), &options) else {
                return;
            };
            assert_is_real(&report);
            assert!(report.outcome.summary.flows[0].goodput_bps <= 97e6);
            assert_conserved(&report);
        }
    }
}

/// Super-packets of 64 KB pass in both directions without a loss that the queue did not cause.
#[test]
fn no_packet_is_lost_at_one_gigabit() {
    let text = one_flow(2, "cubic", "rate = \"1Gbit\"\nbuffer = \"20ms\"", "");
    let Some(report) = live_without_tun(&text, &Options::default()) else { return };
    assert_is_real(&report);
    assert!(report.outcome.summary.flows[0].goodput_bps <= 966e6);
    assert_conserved(&report);
}

/// Packets arrived, over veth pairs.
fn assert_is_real(report: &Report) {
    let fault = report.timing.no_tun.as_deref().expect("TUN is hidden");
    assert!(fault.contains("/dev/net/tun"), "{fault}");
    let note = report.timing.note().expect("there is no TUN device");
    assert!(note.starts_with("the timing is not guaranteed: no TUN device (cannot"), "{note}");
    let (flow, accounts) = (&report.outcome.summary.flows[0], &report.accounts);
    assert!(flow.goodput_bps > 0.0 && accounts.delivered > 100, "{accounts:?}");
}
