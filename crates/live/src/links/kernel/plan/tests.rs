use sojourn_scenario::Document;

use super::*;

const HEAD: &str = "duration = \"3s\"\n[link.there]\n";
const TAIL: &str = "\n[link.back]\ndelay = \"10ms\"\n[flow.bulk]\npath = [\"there\"]\n\
                    back = [\"back\"]\ncontrol = \"cubic\"\n";

fn scenario(text: &str) -> Scenario {
    let document = Document::from_toml("plan.toml", text).expect("it is TOML");
    document.resolve(&|_| Err(std::io::Error::other("no files"))).expect("it is sound")
}

fn plan(text: &str) -> Result<Plan, Error> {
    Plan::new(&scenario(text), 1, IpVersion::V4)
}

/// A plan for a link with these keys.
fn of_link(keys: &str) -> Result<Plan, Error> {
    plan(&format!("{HEAD}{keys}{TAIL}"))
}

/// The commands of `tc`, without program and namespace.
fn tc(plan: &Plan) -> Vec<String> {
    let steps = plan.setup.iter().chain(plan.changes.iter().map(|change| &change.step));
    let text = steps.map(ToString::to_string);
    text.filter_map(|step| Some(step.strip_prefix("tc -n sojourn-router ")?.to_owned())).collect()
}

/// The command with these words.
fn one(plan: &Plan, words: &str) -> String {
    let found = tc(plan).into_iter().find(|command| command.contains(words));
    found.unwrap_or_else(|| panic!("no command has `{words}`: {:#?}", tc(plan)))
}

#[test]
fn a_rate_is_shaped_at_the_ingress_and_delays_are_at_the_egress() {
    let plan =
        of_link("rate = \"20Mbit\"\ndelay = \"5ms\"\nbuffer = \"30kB\"").expect("it is possible");
    let expected = [
        "qdisc add dev senders0 ingress",
        "filter add dev senders0 ingress protocol ip u32 match ip dst 10.54.0.0/16 action mirred \
         egress mirror dev path0 drop",
        "qdisc add dev path0 root handle 1: stab overhead -14 htb default 1",
        "class add dev path0 parent 1: classid 1:1 htb rate 20000000bit burst 2500 cburst 2500 \
         quantum 1514",
        "qdisc add dev path0 parent 1:1 handle 10: bfifo limit 30000",
        "qdisc add dev receivers0 root handle 20: netem limit 10000000 delay 5000us",
        "qdisc add dev senders0 root handle 20: netem limit 10000000 delay 10000us",
    ];
    assert_eq!(tc(&plan), expected);
    let needs: Vec<&str> = plan.needs.iter().map(|need| need.module.as_str()).collect();
    let modules = ["veth", "sch_ingress", "cls_u32 or act_mirred", "sch_htb", "sch_fifo"];
    assert_eq!(needs, [&modules[..], &["sch_netem"]].concat());
}

/// Reports of multicast groups would be packets on the links that no host has sent.
#[test]
fn devices_of_the_router_have_no_multicast() {
    let plan = of_link("rate = \"20Mbit\"").expect("it is possible");
    let started = plan.setup.iter().map(ToString::to_string);
    let started: Vec<String> =
        started.filter(|step| step.starts_with("ip -n sojourn-router link set")).collect();
    for device in ["senders0", "receivers0", "path0", "path1"] {
        let step = format!("ip -n sojourn-router link set {device} multicast off up");
        assert!(started.contains(&step), "{device}: {started:#?}");
    }
    let last = plan.setup.last().map(ToString::to_string).unwrap_or_default();
    assert!(last.contains("forward"), "the router forwards before all devices are there: {last}");
}

#[test]
fn a_rate_on_the_way_back_has_a_shaper_of_its_own() {
    let text = format!("{HEAD}delay = \"5ms\"{TAIL}").replace("10ms", "10ms\"\nrate = \"1Mbit");
    let plan = plan(&text).expect("it is possible");
    assert!(one(&plan, "mirred").starts_with("filter add dev receivers0 ingress"));
    assert!(one(&plan, "htb rate 1000000bit").starts_with("class add dev back0"));
    assert!(!tc(&plan).iter().any(|command| command.contains("path0")));
}

/// A buffer in time follows the rate.
#[test]
fn steps_change_the_rate_and_the_buffer() {
    let rate = "rate = { start = \"20Mbit\", steps = [{ at = \"1s\", rate = \"10Mbit\" }] }";
    let plan = of_link(&format!("{rate}\nbuffer = \"40ms\"")).expect("it is possible");
    let changes: Vec<String> =
        plan.changes.iter().map(|change| format!("{}: {}", change.at, change.step)).collect();
    assert_eq!(
        changes,
        [
            "1s: tc -n sojourn-router class change dev path0 parent 1: classid 1:1 htb rate \
             10000000bit burst 1600 cburst 1600 quantum 1514",
            "1s: tc -n sojourn-router qdisc change dev path0 parent 1:1 handle 10: bfifo limit \
             50000",
        ]
    );
}

/// A ramp consists of the steps of the simulation, and delays change with the whole wire.
#[test]
fn ramps_are_steps_and_delays_keep_the_loss() {
    let rate = "rate = { start = \"20Mbit\", ramps = [{ from = \"1s\", to = \"1100ms\", rate = \"10Mbit\" }] }";
    let plan = of_link(rate).expect("it is possible");
    assert_eq!(plan.changes.len(), 100);
    let delay =
        "delay = { start = \"5ms\", steps = [{ at = \"1s\", delay = \"9ms\" }] }\nloss = 0.02";
    let plan = of_link(delay).expect("it is possible");
    assert_eq!(
        one(&plan, "qdisc change"),
        "qdisc change dev receivers0 root handle 20: netem limit 10000000 delay 9000us loss \
         random 2%"
    );
}

#[test]
fn steps_change_the_loss_and_keep_the_delay() {
    let keys = "delay = { start = \"5ms\", steps = [{ at = \"1s\", delay = \"9ms\" }] }\n\
                loss = { start = 0, steps = [{ at = \"2s\", loss = 0.5 }] }";
    let plan = of_link(keys).expect("it is possible");
    let changes: Vec<_> = plan.changes.iter().map(|change| change.step.to_string()).collect();
    let ends = ["delay 9000us loss random 0%", "delay 9000us loss random 50%"];
    assert_eq!(changes.len(), ends.len());
    for (change, end) in changes.iter().zip(ends) {
        assert!(change.ends_with(end), "{change}");
    }
}

#[test]
fn queues_have_the_arguments_of_tc() {
    let table = [
        ("", "pfifo limit 1000"),
        ("buffer = \"unlimited\"", "pfifo limit 4294967295"),
        ("queue = \"head_drop\"", "pfifo_head_drop limit 1000"),
        (
            "queue = { kind = \"codel\", ecn = true, ce_threshold = \"1ms\" }",
            "codel limit 1000 target 5000us interval 100000us ce_threshold 1000us ecn",
        ),
        (
            "queue = \"fq_codel\"",
            "fq_codel limit 10240 flows 1024 quantum 1514 drop_batch 64 target 5000us interval \
             100000us ecn",
        ),
        (
            "queue = \"pie\"",
            "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 no_dq_rate_estimator \
             noecn",
        ),
        (
            "queue = { kind = \"pie_linux\", bytemode = true }",
            "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 no_dq_rate_estimator \
             noecn bytemode",
        ),
        (
            "queue = \"cake\"",
            "cake unlimited rtt 100000us diffserv3 triple-isolate no-ack-filter raw egress",
        ),
        // The keyword has 18 bytes; 14 make up for those that CAKE takes off.
        (
            "queue = { kind = \"cake\", bandwidth = \"19Mbit\", overhead = \"docsis\" }",
            "cake bandwidth 19000000bit rtt 100000us diffserv3 triple-isolate no-ack-filter overhead \
             32 mpu 64 noatm egress",
        ),
        // 1/512 is nearest to the default weight of 0.002. tc-red(8) gives it for a burst of 48.
        (
            "queue = { kind = \"red\", unit = \"bytes\" }\nbuffer = \"150kB\"",
            "red limit 150000 min 7500 max 22500 avpkt 1500 burst 48 probability 0.02 bandwidth \
             10000000bit",
        ),
        (
            "queue = \"dualpi2_linux\"",
            "dualpi2 limit 10000 coupling_factor 2 step_thresh 1000us drop_on_overload \
             classic_protection 10% target 15000us tupdate 16000us alpha 0.16015625 beta 3.19921875",
        ),
    ];
    for (keys, expected) in table {
        let plan = of_link(&format!("rate = \"20Mbit\"\n{keys}")).expect("it is possible");
        let command = one(&plan, "handle 10:");
        let (_, arguments) = command.split_once("handle 10: ").expect("it has a handle");
        assert_eq!(arguments, expected, "{keys}");
    }
}

#[test]
fn wires_have_the_arguments_of_netem() {
    let table = [
        ("loss = { p = 0.01, r = 0.3 }", "delay 5000us loss gemodel 1% 30% 100% 0%"),
        ("duplicate = 0.001", "delay 5000us duplicate 0.1% 0%"),
        ("reorder = { probability = 0.25, gap = 5 }", "delay 5000us reorder 25% 0% gap 5"),
        // netem's interval lies around its delay: 5 to 7 ms.
        ("jitter = { span = \"2ms\", reorder = true }", "delay 6000us 1000us 0%"),
        (
            "jitter = { span = \"2ms\", reorder = true, distribution = \"normal\" }",
            "delay 5000us 2000us distribution normal",
        ),
        ("slots = { least = \"800us\" }", "delay 5000us slot 800us 800us"),
        (
            "slots = { least = \"800us\", most = \"10ms\", packets = 42, bytes = \"64kB\" }",
            "delay 5000us slot 800us 10000us packets 42 bytes 64000",
        ),
    ];
    for (keys, expected) in table {
        let plan = of_link(&format!("delay = \"5ms\"\n{keys}")).expect("it is possible");
        let command = one(&plan, "receivers0 root");
        assert!(command.ends_with(&format!("limit 10000000 {expected}")), "{keys}: {command}");
    }
}

/// A link counts its own overhead; HTB counts the Ethernet header of 14 bytes.
#[test]
fn the_overhead_of_a_packet_is_that_of_the_link() {
    let plan = of_link("rate = \"20Mbit\"\noverhead = \"38B\"").expect("it is possible");
    assert!(one(&plan, "stab").contains("stab overhead 24 htb"));
}

#[test]
fn parts_without_counterpart_are_refused_by_name() {
    let table = [
        ("queue = \"drr\"", "link `there`: `tc` cannot make the queue `drr`"),
        ("queue = \"dualpi2\"", "use `dualpi2_linux`"),
        ("queue = \"fq_codel_rfc\"", "use `fq_codel`"),
        ("queue = \"codel\"\nbuffer = \"30kB\"", "such as \"20packets\""),
        ("queue = \"red\"", "`unit = \"bytes\"`"),
        ("queue = { kind = \"pie\", max_burst = \"10ms\" }", "`max_burst`"),
        ("queue = { kind = \"pie\", alpha = 0.1 }", "multiples of 1/16"),
        ("loss = { every = 100 }", "periodic loss"),
        ("jitter = \"1ms\"", "jitter that keeps the order"),
        ("reorder = { probability = 0.1, late = \"1ms\" }", "reordering of late packets"),
    ];
    for (keys, said) in table {
        let error = of_link(&format!("rate = \"20Mbit\"\ndelay = \"5ms\"\n{keys}"));
        let text = error.err().unwrap_or_else(|| panic!("{keys} is possible")).to_string();
        assert!(text.contains(said) && !text.contains('\n'), "{keys}: {text}");
    }
    let rate = "rate = { start = \"20Mbit\", steps = [{ at = \"1s\", rate = \"0bit\" }] }";
    let text = of_link(rate).expect_err("HTB has no rate of zero").to_string();
    assert!(text.contains("a rate of 0bit"), "{text}");
}

#[test]
fn paths_of_several_links_are_refused() {
    let flow = "[flow.other]\npath = [\"back\"]\nback = [\"there\"]\ncontrol = \"cubic\"\n";
    let text = format!("{HEAD}rate = \"20Mbit\"{TAIL}{flow}");
    let error = plan(&text).expect_err("it is refused").to_string();
    assert!(error.contains("flow `other`: `tc` cannot make other links than those of flow `bulk`"));
    let text = text.replace("[\"there\"]\nback = [\"back\"]", "[\"there\", \"back\"]");
    let error = plan(&text).expect_err("it is refused").to_string();
    assert!(error.contains("flow `bulk`: `tc` cannot make several links in one direction"));
}
