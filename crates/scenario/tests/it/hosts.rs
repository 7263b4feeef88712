//! Hosts of flows: names, exceptions, and the two ends.

use sojourn_scenario::{Control, Document, EcnRequest, Flow, Host, Scenario, Transport};
use sojourn_transport::Noise;
use sojourn_units::{Bytes, Duration};

fn resolve(top: &str, flow: &str) -> Scenario {
    let controls = if flow.contains("control = ") { "[]" } else { "[\"cubic\"]" };
    let text = format!(
        "duration = \"1s\"\ncontrols = {controls}\n{top}\n[link.a]\nrate = \"1Mbit\"\n\
         [flow.f]\npath = [\"a\"]\n{flow}\n"
    );
    let document = Document::from_toml("hosts.toml", &text).expect("it is TOML");
    let scenario = document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()));
    scenario.unwrap_or_else(|e| panic!("{e}"))
}

fn flow(top: &str, flow: &str) -> Flow {
    resolve(top, flow).flows.pop().expect("it has one")
}

fn config(name: &str) -> Transport {
    Host::named(name).expect("it ships").config()
}

/// A table of results names a host with what differs from the host of that name.
#[test]
fn a_changed_host_is_named_with_its_exceptions() {
    let systems = |top, own| flow(top, own).systems().expect("it is carried");
    assert_eq!(systems("", "host = { tso = \"0B\" }"), "linux-6.18 with tso=0B");
    assert_eq!(systems("noise = \"idle\"", ""), "linux-6.18");
    assert_eq!(systems("noise = \"busy\"", "host = \"rfc\""), "rfc with noise=busy");
    let both = "host = { like = \"rfc\", mss = \"1kB\" }";
    assert_eq!(systems(both, "host = { mss = \"500B\" }"), "rfc with mss=500B");
    let ends = systems("", "receiver = { ack_every = 1 }");
    assert_eq!(ends, "linux-6.18 to linux-6.18 with ack_every=1");
}

/// `tc` calls drop-tail by its unit.
#[test]
fn a_queue_of_tc_is_that_of_another_name() {
    let queue = |name: &str| {
        let text = format!(
            "duration = \"1s\"\ncontrols = [\"cubic\"]\n[link.a]\nrate = \"1Mbit\"\n\
             queue = {name}\n[flow.f]\npath = [\"a\"]\n"
        );
        let document = Document::from_toml("queue.toml", &text).expect("it is TOML");
        let scenario = document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()));
        scenario.unwrap_or_else(|e| panic!("{e}")).links.remove(0).queue
    };
    assert_eq!(queue("\"pfifo\""), queue("\"droptail\""));
    assert_eq!(queue("{ kind = \"bfifo\" }"), queue("\"droptail\""));
}

#[test]
fn a_flow_has_the_host_of_the_scenario_or_its_own() {
    assert_eq!(flow("", "").host.name, Host::DEFAULT);
    for name in Host::NAMES {
        let host = format!("host = \"{name}\"");
        for flow in [flow(&host, ""), flow("", &host), flow("host = \"quic\"", &host)] {
            let mut expected = config(name);
            expected.small_queues = None;
            assert_eq!((flow.host.name, flow.receiver.name), (*name, *name));
            assert_eq!(flow.transport, expected);
            assert_eq!(flow.systems().as_deref(), Some(*name));
        }
    }
}

/// Every key, with a value that neither host has.
#[test]
fn an_exception_wins_over_its_host() {
    let table = r#"{ like = "linux-6.18", mss = "1200B", header = "60B", initial_window = 4,
        receive_window = "7MB", initial_receive_window = "70kB", ack_every = 7, ack_delay = "7ms",
        sack_ranges = 7, ecn = true, ecn_validation = true, receive_times = true,
        handshake = "0-rtt", pacing = true, tso = "7000B", gro = "7us",
        timestamps = false }"#;
    let table = table.replace('\n', " ");
    let linux = config("linux-6.18");
    let found = flow("", &format!("host = {table}")).transport;
    assert_eq!(flow(&format!("host = {table}"), "").transport, found);
    assert_eq!((found.mss, found.header, found.initial_window), (Bytes(1200), Bytes(60), 4));
    assert_eq!(found.receive_window, Some(Bytes(7_000_000)));
    assert_eq!(found.initial_receive_window, Some(Bytes(70_000)));
    assert_eq!((found.ack_every, found.ack_delay), (7, Duration::from_millis(7)));
    assert_eq!((found.sack_ranges, found.ecn), (7, EcnRequest::Always));
    assert!(found.ecn_validation && found.receive_times && found.pacing && !found.timestamps);
    assert_eq!((found.tso, found.gro), (Bytes(7000), Duration::from_micros(7)));
    assert_eq!((found.quick_acks, found.prr), (linux.quick_acks, linux.prr), "the host's");
}

#[test]
fn a_table_without_a_name_changes_the_host_around_it() {
    let top = r#"host = { like = "linux-6.18", ack_every = 3 }"#;
    let found = flow(top, r#"host = { mss = "1kB" }"#);
    assert_eq!((found.host.name, found.transport.quick_acks), ("linux-6.18", 16));
    assert_eq!((found.transport.ack_every, found.transport.mss), (3, Bytes(1000)));
    let found = flow(top, "host = \"rfc\"\nreceiver = { ack_every = 4 }");
    assert_eq!((found.receiver.name, found.transport.ack_every), ("rfc", 4));
}

#[test]
fn each_end_has_its_own_settings() {
    let [rfc, linux] = ["rfc", "linux-6.18"].map(config);
    let found = flow("", "host = \"rfc\"\nreceiver = \"linux-6.18\"");
    assert_eq!(found.systems().as_deref(), Some("rfc to linux-6.18"));
    let there = &found.transport;
    assert_eq!((there.tso, there.prr, there.ecn), (rfc.tso, rfc.prr, rfc.ecn), "the sender's");
    assert_eq!((there.quick_acks, there.receive_window), (16, linux.receive_window));
    let back = found.reverse.expect("the other end differs");
    assert_eq!((back.tso, back.prr, back.ecn), (linux.tso, linux.prr, rfc.ecn));
    assert_eq!((back.quick_acks, back.receive_window), (0, rfc.receive_window));
    let noise = ["rfc", "linux-6.18"].map(|name| Host::named(name).expect("it ships").noise.0);
    assert_eq!(found.noise, noise);
    let same = flow("", "host = \"rfc\"\nreceiver = \"rfc\"");
    assert_eq!((same.transport, same.reverse), (rfc, None));
}

/// The receiver of requests sends data too, so that its sending settings have an effect.
#[test]
fn the_receiver_of_requests_may_have_sending_settings() {
    let source = r#"source = { kind = "request", request = "100B", response = "1kB" }"#;
    let found = flow("host = \"rfc\"", &format!("{source}\nreceiver = {{ tso = \"64KiB\" }}"));
    assert_eq!(found.transport.tso, Bytes(0));
    assert_eq!(found.reverse.expect("it differs").tso, Bytes(65_536));
}

#[test]
fn the_noise_of_a_scenario_replaces_that_of_hosts() {
    let found = flow("noise = \"busy\"", "host = \"linux-6.18\"");
    assert_eq!(found.noise, [Noise::Busy; 2]);
}

#[test]
fn a_controller_has_the_parameters_of_its_host() {
    let arithmetic = |top: &str, own: &str| {
        let scenario = resolve(top, own);
        let control = scenario.control_of(&scenario.flows[0], scenario.controls.first());
        let Some(Control::Algorithm { params, .. }) = control.as_deref() else { panic!("{own}") };
        params.choice("arithmetic").to_owned()
    };
    assert_eq!(arithmetic("host = \"rfc\"", ""), "exact");
    assert_eq!(arithmetic("host = \"linux-6.18\"", ""), "linux");
    assert_eq!(arithmetic("", "host = \"linux-6.18\""), "linux", "of a list, on the flow's host");
    assert_eq!(arithmetic("host = \"linux-6.18\"", "host = \"rfc\""), "exact");
    let given = "control = { kind = \"cubic\", arithmetic = \"exact\" }";
    assert_eq!(arithmetic("host = \"linux-6.18\"", given), "exact", "the scenario's wins");
}

/// `TCP_CONG_NEEDS_ECN`: Linux asks for ECN only if a controller cannot do without.
#[test]
fn a_host_asks_for_ecn_or_leaves_it_to_need() {
    let uses = |control: &str, host: &str| {
        let needs = sojourn_cc::find(control).expect("it ships").info.needs;
        flow("", &format!("control = \"{control}\"\nhost = {host}")).transport.has_ecn(&needs)
    };
    for (control, always, needed) in [("cubic", true, false), ("dctcp", true, true)] {
        assert_eq!(uses(control, "\"rfc\""), always, "{control}");
        assert_eq!(uses(control, "\"linux-6.18\""), needed, "{control}");
        assert!(uses(control, "{ like = \"linux-6.18\", ecn = true }"), "{control}");
        assert_eq!(uses(control, "{ like = \"rfc\", ecn = \"needed\" }"), needed, "{control}");
    }
    assert!(!uses("cubic", "{ ecn = false }"));
}

/// Small queues hold a flow back at the host's device, and not at a router.
#[test]
fn small_queues_need_a_device() {
    let limit = |ring: &str| {
        let text = format!(
            "duration = \"1s\"\nhost = \"linux-6.18\"\n[link.a]\nrate = \"1Gbit\"\n{ring}\n\
             [flow.f]\ncontrol = \"cubic\"\npath = [\"a\"]\n"
        );
        let document = Document::from_toml("hosts.toml", &text).expect("it is TOML");
        let scenario = document.resolve(&|_| Ok(String::new())).unwrap_or_else(|e| panic!("{e}"));
        scenario.flows[0].transport.small_queues
    };
    assert_eq!(limit(""), None);
    assert_eq!(limit("ring = { packets = 256 }"), Some(Bytes(4 << 20)));
}

#[test]
fn a_parameter_of_a_list_keeps_its_name() {
    let scenario = resolve("host = \"linux-6.18\"", "");
    assert_eq!(scenario.labels(), ["cubic"]);
    let Control::Algorithm { params, given, .. } = &scenario.controls[0] else { panic!("cubic") };
    assert!(given.is_empty());
    assert_eq!(params.choice("arithmetic"), "exact", "until a flow's host has its own");
}
