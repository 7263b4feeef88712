//! Spurious losses: appendix A.18 and A.19.

use sojourn_cc::Bbr3View as View;
use sojourn_units::Duration;

use super::path::{MSS, Path, ms};
use super::{CYCLE, changes, deep, shallow};

/// Runs until the losses have ended UP. `before`: the view before them.
fn ended(path: &mut Path, before: &View, within: Duration) {
    path.run_until(within, |p| p.state() != "probe_bw_up");
    let lost = path.view();
    assert_eq!(lost.state, "probe_bw_down");
    assert_eq!(lost.undo_state, Some("probe_bw_up"));
    // BBRSaveStateUponLoss.
    assert_eq!(lost.undo_bw_shortterm, before.bw_shortterm);
    assert_eq!(lost.undo_inflight_shortterm, before.inflight_shortterm);
    assert_eq!(lost.undo_inflight_longterm, before.inflight_longterm);
}

/// Runs on until the losses turn out to be spurious.
fn undone(path: &mut Path, before: &View, within: Duration) {
    let from = path.rows.len() - 1;
    path.run_until(within, |p| p.state() == "probe_bw_refill");
    // BBRHandleSpuriousLossDetection.
    let restored = path.view();
    assert_eq!(restored.undo_state, None);
    assert_eq!(restored.bw_shortterm, before.bw_shortterm);
    assert_eq!(restored.inflight_shortterm, before.inflight_shortterm);
    assert_eq!(restored.inflight_longterm, before.inflight_longterm);
    assert!(restored.cwnd + MSS * 4 >= before.cwnd, "{restored:?}");
    path.run_to("probe_bw_up", within);
    let states: Vec<_> = changes(&path.rows[from..]).iter().map(|r| r.view.state).collect();
    assert!(states.ends_with(&["probe_bw_refill", "probe_bw_up"]), "{states:?}");
    assert_eq!(path.lost, 0, "nothing was lost at all");
    assert_eq!(path.row().stats.undone_reductions, 1);
}

#[test]
fn a_18_a_spurious_fast_recovery_is_undone() {
    let mut path = deep();
    path.run_to("probe_bw_up", CYCLE);
    // Other packets overtake ten packets: by more than the reordering window of a quarter of a
    // round trip, and by less than their retransmissions take.
    let before = path.view();
    path.hold_next = (10, ms(30));
    ended(&mut path, &before, ms(300));
    undone(&mut path, &before, ms(300));
    assert_eq!(path.row().stats.timeouts, 0);
    assert_eq!(path.row().stats.lost, 10);
}

#[test]
fn a_19_a_spurious_timeout_is_undone() {
    let mut path = deep();
    path.run_to("probe_bw_up", CYCLE);
    // The delay rises above the retransmission timeout of some 250 ms.
    let before = path.view();
    path.delay += ms(400);
    // The acknowledgement that shows the losses to be spurious follows them directly.
    undone(&mut path, &before, CYCLE);
    assert!(path.row().stats.timeouts >= 1);
}

/// True losses are not undone.
#[test]
fn a_18_a_true_loss_stays() {
    let mut path = shallow();
    path.run_to("probe_bw_up", CYCLE);
    path.run_to("probe_bw_down", CYCLE);
    path.run_to("probe_bw_cruise", CYCLE);
    assert!(path.view().inflight_longterm.is_some() && path.lost > 0);
}
