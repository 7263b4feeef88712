//! Captures over links that duplicate and reorder packets: each copy appears when it arrives.

use super::reading::packets;
use super::written;
use crate::common::{flow, link, scenario};

#[test]
fn every_copy_is_where_it_arrives() {
    for profile in ["rfc", "quic"] {
        let wire = "loss = 0.01\nduplicate = 0.1\njitter = { span = \"3ms\", reorder = true }";
        let scenario = scenario(&format!(
            r#"
duration = "4s"
[link.a]
rate = "20Mbit"
delay = "10ms"
{wire}
[link.b]
delay = "10ms"
{wire}
[flow.f]
control = "cubic"
path = ["a"]
back = ["b"]
host = {{ like = "{profile}" }}
"#
        ));
        let (outcome, files) = written(&scenario);
        let link = |name| link(&outcome.summary, name);
        assert!(link("a").duplicated_packets > 100 && link("b").duplicated_packets > 50);
        let seen = |name: &str, inbound| {
            let all = packets(&files.file(&format!("packets.{name}.pcapng")));
            all.iter().filter(|packet| packet.inbound == inbound).count() as u64
        };
        assert_eq!(seen("sender", false), flow(&outcome.summary, "f").sent_packets);
        assert_eq!(seen("receiver", true), link("a").delivered_packets, "{profile}");
        assert_eq!(seen("receiver", false), link("b").arrived_packets, "{profile}");
        assert_eq!(seen("sender", true), link("b").delivered_packets, "{profile}");
        let received = |end: &str| {
            let file = files.file(&format!("events.f.{end}.sqlog"));
            String::from_utf8(file).unwrap().matches("packet_received").count() as u64
        };
        assert_eq!(received("receiver"), link("a").delivered_packets, "{profile}");
        assert_eq!(received("sender"), link("b").delivered_packets, "{profile}");
    }
}
