//! Paths with faults: loss, copies, reordering, a peer that vanishes.

use crate::common::{flow, link, run};
use crate::downloads::{NOQ, QUINN, downloads};

/// Lost, copied and overtaken acknowledgements must not change the counts of marks.
#[test]
fn all_marks_are_heard_over_a_faulty_path_of_acknowledgements() {
    let faults = "loss = 0.05\nduplicate = 0.02\njitter = { span = \"3ms\", reorder = true }";
    for stack in [NOQ, QUINN] {
        let (summary, state) = run(&downloads("\"prague\"", stack, "1ms", faults), 3);
        assert_eq!(flow(&summary).completed_transfers, 4, "{stack}: {state:?}");
        assert!(link(&summary, "down").marked_packets > 50);
        assert_eq!(state.marked, link(&summary, "down").marked_packets, "{stack}");
    }
}

/// Every controller that the stack serves downloads a file over a link that loses data.
#[test]
fn every_controller_survives_losses() {
    for info in sojourn_cc::Catalogue::shipped().infos() {
        if sojourn_quic::noq::LACKS.of(&info.needs).is_some() {
            continue;
        }
        for stack in [NOQ, QUINN] {
            let text = downloads(&format!("\"{}\"", info.name), stack, "5ms", "")
                .replace("[link.up]", "loss = 0.02\n[link.up]")
                .replace("count = 4", "count = 1");
            let (summary, state) = run(&text, 1);
            assert!(state.lost > 0, "{} in {stack}: {state:?}", info.name);
            let completed = flow(&summary).completed_transfers;
            assert_eq!(completed, 1, "{} in {stack}: {state:?}", info.name);
        }
    }
}

/// The receiver vanishes: the sender keeps no more than its window.
#[test]
fn a_peer_that_vanishes_leaves_bounded_memory() {
    for stack in [NOQ, QUINN] {
        let text = downloads("\"cubic\"", stack, "5ms", "").replace(
            "[link.up]\nrate = \"10Mbit\"",
            "[link.up]\nrate = { start = \"10Mbit\", steps = [{ at = \"1s\", rate = \"0Mbit\" }] }",
        );
        let (summary, state) = run(&text, 1);
        assert_eq!(flow(&summary).completed_transfers, 1);
        // The path and its queue hold 50 kB; each probe timeout adds up to two packets.
        assert!(state.in_flight <= sojourn_units::Bytes(80_000), "{stack}: {state:?}");
    }
}
