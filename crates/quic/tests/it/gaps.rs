//! A lost packet in a window of many packets.

use std::collections::BTreeMap;

use sojourn_cc::Catalogue;
use sojourn_quic::endpoint::{Exposed, exposed, stacks};
use sojourn_transport::{Direction, StackSetup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Instant};

use crate::common::{flow, run};

/// noq's own reassembly closed this connection at the first loss: more than 2,048 packets follow it
/// in the round trip before its repetition arrives.
#[test]
fn losses_in_a_large_window_do_not_end_a_connection() {
    for stack in ["noq", "quinn"] {
        let text = format!(
            r#"
duration = "4s"
noise = "none"
[link.down]
rate = "1Gbit"
delay = "20ms"
buffer = "60ms"
queue = "droptail"
[link.up]
delay = "20ms"
[flow.large]
control = "cubic"
path = ["down"]
back = ["up"]
stack = {{ kind = "{stack}", crypto = "none" }}
"#
        );
        let (summary, state) = run(&text, 1);
        assert_eq!(state.closed, None, "{stack}");
        assert!(state.lost > 100, "{stack}: {state:?}");
        let goodput = flow(&summary).goodput_bps;
        assert!(goodput > 0.5e9, "{stack}: {goodput} bit/s");
    }
}

const DELAY: Duration = Duration::from_millis(25);

/// Both ends of a connection of `stack`, in plain text.
fn connection(stack: &str) -> Box<dyn Exposed> {
    let (controllers, all) = (Catalogue::shipped(), stacks());
    let control = Params::defaults(controllers.find("cubic").expect("shipped").params);
    let info = all.find(stack).expect("both stacks are there");
    let mut params = Params::defaults(info.params);
    params.set(info.params, "crypto", Value::Choice("none".to_owned())).expect("a choice");
    let setup = StackSetup {
        params: &params,
        controllers: &controllers,
        control: ("cubic", &control),
        opening: Direction::Forward,
        seed: 1,
    };
    exposed(stack, &setup).expect("both stacks are there")
}

/// Whether a datagram has the data of stream 2 at this offset of four octets: in a STREAM frame (RFC
/// 9000 section 19.8), whose payload is zeros.
fn has_data_at(offset: u32, datagram: &[u8]) -> bool {
    let place = (0x8000_0000 | offset).to_be_bytes();
    let is_frame = |head: &[u8]| head[0] & 0xfc == 0x0c && head[1] == 2 && head[2..] == place;
    datagram.windows(6).any(is_frame)
}

/// The offset of the data of stream 2 in a datagram, if it has four octets.
fn offset(datagram: &[u8]) -> Option<u32> {
    let is_frame = |head: &&[u8]| head[0] & 0xfc == 0x0c && head[1] == 2 && head[2] >> 6 == 2;
    let head = datagram.windows(6).find(is_frame)?;
    Some(u32::from_be_bytes([head[2] & 0x3f, head[3], head[4], head[5]]))
}

/// More data than the window of 64 MiB follow a packet whose first repetitions are lost too: flow
/// control stops the sender until it arrives.
#[test]
fn lost_repetitions_of_a_packet_do_not_end_a_connection() {
    const BYTES: u64 = 250_000_000;
    for name in ["noq", "quinn"] {
        let mut stack = connection(name);
        let (mut now, mut wire, mut count) = (Instant(1), BTreeMap::new(), 0_u64);
        let (mut lost, mut repetitions, mut behind) = (None, 8, 0);
        stack.write(now, Direction::Forward, BYTES);
        while stack.delivered(Direction::Forward) < BYTES && now.0 < 60_000_000_000 {
            let mut out = Vec::new();
            stack.take_datagrams(&mut out);
            for one in out {
                count += 1;
                let bytes = stack.bytes(one.handle);
                if count > 40_000 && lost.is_none() && one.direction == Direction::Forward {
                    lost = offset(bytes);
                }
                if let (Some(from), Some(at)) = (lost, offset(bytes))
                    && stack.delivered(Direction::Forward) <= u64::from(from)
                {
                    behind = behind.max(at - from);
                }
                let is_lost = repetitions > 0 && lost.is_some_and(|at| has_data_at(at, bytes));
                if is_lost {
                    repetitions -= 1;
                    stack.on_gone(one.handle);
                } else {
                    wire.insert((now + DELAY, count), one);
                }
            }
            let arrival = wire.first_key_value().map_or(Instant::MAX, |((at, _), _)| *at);
            now = now.max(arrival.min(stack.next_at()));
            match wire.first_entry().filter(|first| first.key().0 <= now) {
                Some(first) => {
                    let one = first.remove();
                    stack.receive(now, one.direction, one.handle, one.ecn);
                }
                None => stack.act(now),
            }
        }
        assert_eq!(stack.state().closed, None, "{name}");
        assert_eq!(repetitions, 0, "{name}");
        assert!((50 << 20..70 << 20).contains(&behind), "{name}: {behind} bytes behind the packet");
        assert_eq!(stack.delivered(Direction::Forward), BYTES, "{name}");
    }
}
