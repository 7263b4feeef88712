//! Connections with several paths: each has a packet number space (draft-ietf-quic-multipath-19).

use serde_json::{Value, json};

use super::made::{ack, figures, flow, lines, packet, shipped, stream};

fn on(path: &str, key: &str, mut event: Value) -> Value {
    event[key] = path.into();
    event
}

fn path_ack(path: u64, ranges: Value) -> Value {
    json!({ "frame_type": "path_ack", "path_id": path, "acked_ranges": ranges })
}

#[test]
fn each_path_has_its_rtt() {
    let found = figures(&shipped("two-paths.sqlog"));
    let flows: Vec<_> =
        found.flows.iter().map(|flow| (flow.name.as_str(), flow.rtts_s.clone())).collect();
    let [(first, slow), (second, fast)] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!((*first, *second), ("it, path 0", "it, path 1"));
    assert_eq!(slow.iter().map(|rtt| (rtt * 1e3).round()).collect::<Vec<_>>(), [200.0]);
    assert_eq!(fast.iter().map(|rtt| (rtt * 1e3).round()).collect::<Vec<_>>(), [50.0, 50.0]);
    assert_eq!(found.flows.iter().map(|flow| flow.sent_packets).collect::<Vec<_>>(), [1, 2]);
}

/// The schema has had `path` and `tuple`; others write `path_id`, in the packet's header too.
#[test]
fn a_path_has_many_names() {
    let label = |mut event: Value, path: u64, form: usize| {
        match form {
            0 => event["path"] = path.to_string().into(),
            1 => event["tuple"] = format!("p{path}").into(),
            2 => event["path_id"] = path.into(),
            3 => event["tuple"] = ["wifi", "cellular"][path as usize].into(),
            _ => event["data"]["header"]["path_id"] = path.into(),
        }
        event
    };
    for form in 0..5 {
        // The acknowledgement comes on the other path, before any PATH_ACK frame.
        let found = figures(&lines(&[
            label(packet(0.0, "sent", 0, json!([stream(0, 0, 9)])), 0, form),
            label(packet(5.0, "sent", 0, json!([stream(0, 9, 9)])), 1, form),
            label(packet(30.0, "received", 0, json!([ack(json!([[0, 0]]))])), 1, form),
            label(
                packet(25.0 + 30.0, "received", 1, json!([path_ack(1, json!([[0, 0]]))])),
                0,
                form,
            ),
        ]));
        let rtts: Vec<_> = found.flows.iter().map(|flow| flow.rtts_s[0]).collect();
        assert_eq!(rtts.iter().map(|rtt| (rtt * 1e3).round()).collect::<Vec<_>>(), [30.0, 50.0]);
    }
}

/// RFC 9000 section 9: after a migration, packet numbers go on in the same space, and an
/// acknowledgement on the new path is about packets of the old one too.
#[test]
fn a_migration_is_one_flow() {
    for key in ["path", "tuple"] {
        let flow = flow(&[
            on("a", key, packet(0.0, "sent", 7, json!([stream(0, 0, 9)]))),
            on("b", key, packet(10.0, "sent", 8, json!([stream(0, 9, 9)]))),
            on("b", key, packet(50.0, "received", 3, json!([ack(json!([[7, 8]]))]))),
        ]);
        assert_eq!((flow.sent_packets, flow.rtts_s.as_slice()), (2, &[0.04][..]), "{key}");
    }
}

/// A connection that negotiates the extension but uses one path looks like any other.
#[test]
fn one_path_is_one_flow() {
    let found = figures(&lines(&[
        on("p0", "tuple", packet(0.0, "sent", 0, json!([stream(0, 0, 9)]))),
        on("p0", "tuple", packet(40.0, "received", 0, json!([path_ack(0, json!([[0, 0]]))]))),
    ]));
    assert_eq!(found.flows.len(), 1);
    assert_eq!((found.flows[0].name.as_str(), found.flows[0].rtts_s.len()), ("it", 1));
}

/// A log may tell of a loss without its path (noq 1.4), so that the number means no packet.
#[test]
fn a_loss_without_a_path_removes_no_packet() {
    let lost = json!({ "header": { "packet_number": 0 } });
    let found = figures(&lines(&[
        on("0", "tuple", packet(0.0, "sent", 0, json!([stream(0, 0, 9)]))),
        on("1", "tuple", packet(5.0, "sent", 0, json!([stream(0, 9, 9)]))),
        json!({ "time": 20.0, "name": "quic:packet_lost", "data": lost }),
        on("0", "tuple", packet(30.0, "received", 0, json!([ack(json!([[0, 0]]))]))),
    ]));
    assert_eq!(found.flows[0].rtts_s, [0.03]);
}
