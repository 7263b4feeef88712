//! Groups: members with links, flows and draws of their own.

use proptest::prelude::*;
use sojourn_scenario::{Capacity, Control, Document, Errors, Scenario};

const STREET: &str = r#"
duration = "1s"
seed = 7
[link.core]
rate = "1Gbit"
delay = "5ms"
[link.back]
delay = "5ms"
[group.home]
count = 3
[group.home.link.up]
rate = { log_uniform = ["20Mbit", "1Gbit"] }
delay = "1ms"
[group.home.flow.upload]
control = { choice = { cubic = 0.7, bbr = 0.3 } }
path = ["up", "core"]
back = ["back"]
from = "pc"
"#;

fn resolve(text: &str) -> Result<Scenario, Errors> {
    let read = |file: &str| match file {
        "rates" => Ok("# rates\n10Mbit\n\n30Mbit\n".to_owned()),
        _ => Err(std::io::Error::other("no such file")),
    };
    Document::from_toml("town.toml", text)?.resolve(&read)
}

fn street(text: &str) -> Scenario {
    resolve(text).expect("it is sound")
}

fn refusals(text: &str) -> Vec<(usize, String)> {
    let items = resolve(text).expect_err("it has a fault").items();
    items.into_iter().map(|item| (item.position.map_or(0, |p| p.line), item.message)).collect()
}

fn rates(scenario: &Scenario) -> Vec<(String, Capacity)> {
    scenario.links.iter().map(|link| (link.name.clone(), link.rate.clone())).collect()
}

#[test]
fn members_have_links_and_flows_of_their_own_and_share_those_outside() {
    let scenario = street(STREET);
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["core", "back", "home-1/up", "home-2/up", "home-3/up"]);
    let flow = &scenario.flows[1];
    assert_eq!(flow.name, "home-2/upload");
    assert_eq!(flow.path, [3, 0]);
    assert_eq!(flow.back, [1]);
    assert_eq!(flow.from.as_deref(), Some("home-2/pc"));
}

#[test]
fn groups_nest_and_a_path_names_the_innermost_link() {
    let text = r#"
duration = "1s"
[link.core]
rate = "1Gbit"
[link.back]
delay = "5ms"
[group.street]
count = 2
[group.street.link.cabinet]
rate = "100Mbit"
[group.street.group.home]
count = 2
[group.street.group.home.link.core]
rate = "10Mbit"
[group.street.group.home.flow.call]
control = "cubic"
path = ["core", "cabinet"]
back = ["back"]
[flow.outside]
control = "cubic"
path = ["core"]
back = ["back"]
"#;
    let scenario = street(text);
    let flow = scenario.flows.iter().find(|flow| flow.name == "street-2/home-1/call");
    let path: Vec<&str> = flow
        .expect("it is there")
        .path
        .iter()
        .map(|place| scenario.links[*place].name.as_str())
        .collect();
    assert_eq!(path, ["street-2/home-1/core", "street-2/cabinet"]);
}

#[test]
fn draws_follow_their_weights_bounds_and_files() {
    let text = STREET.replace("count = 3", "count = 2000");
    let scenario = street(&text);
    let bbr = scenario.flows.iter().filter(
        |flow| matches!(&flow.control, Some(Control::Algorithm { kind, .. }) if kind == "bbr"),
    );
    // Five standard deviations of a binomial of 2,000 at 0.3 are 103.
    assert!(bbr.count().abs_diff(600) <= 103);
    let own = scenario.links[2..].iter().map(|link| match link.rate {
        Capacity::Rate(ref schedule) => schedule.start.0,
        ref other => panic!("{other:?} has no rate"),
    });
    let mut own: Vec<u64> = own.collect();
    own.sort_unstable();
    assert!(own[0] >= 20_000_000 && own[1999] <= 1_000_000_000);
    // The median is the geometric mean, 141 Mbit/s, within 12 %: five standard errors of 1.25 sigma
    // over the root of 2,000, where sigma is ln(50) over the root of 12.
    assert!((own[1000] as f64 / 141.4e6).ln().abs() < 0.16, "{}", own[1000]);

    let text =
        STREET.replace(r#"{ log_uniform = ["20Mbit", "1Gbit"] }"#, r#"{ sample = "rates" }"#);
    let scenario = street(&text.replace("count = 3", "count = 60"));
    let own: std::collections::BTreeSet<String> =
        scenario.links[2..].iter().map(|link| format!("{:?}", link.rate)).collect();
    assert_eq!(own.len(), 2);
}

#[test]
fn a_fault_of_a_group_is_reported_once_at_its_line() {
    let text = STREET.replace("delay = \"1ms\"", "delya = \"1ms\"");
    let found = refusals(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, 13);

    let cases = [
        ("count = 3", "count = 0", "`count` is no number of members"),
        ("count = 3", "cuont = 3", "`group.home` has no key `cuont`"),
        ("[group.home.flow.upload]", "[group.home.flow.\"a/b\"]", "`a/b` cannot name a flow"),
        ("cubic = 0.7", "cubic = -1", "the weight of `cubic` is no number"),
        ("\"20Mbit\", \"1Gbit\"", "\"20Mbit\", \"1s\"", "`log_uniform` needs the least value"),
        ("\"20Mbit\", \"1Gbit\"", "\"20Mbit\"", "a draw between values needs two of them"),
        ("log_uniform = [\"20Mbit\", \"1Gbit\"]", "sample = \"none\"", "`none` cannot be read"),
        ("[\"up\", \"core\"]", "[\"upp\", \"core\"]", "link `upp`"),
    ];
    for (right, wrong, message) in cases {
        let found = refusals(&STREET.replace(right, wrong));
        assert!(found.iter().any(|(_, text)| text.contains(message)), "{wrong}: {found:?}");
    }
}

#[test]
fn only_members_have_a_slash_in_their_names() {
    let text = STREET.replace("[link.core]", "[link.\"a/b\"]");
    assert!(refusals(&text).iter().any(|(_, text)| text == "`a/b` cannot name a link"));
}

proptest! {
    /// A member that is added leaves the draws of the others as they are; another seed does not.
    #[test]
    fn draws_depend_on_the_name_and_the_seed(count in 1..40_usize, more in 1..40_usize, seed in 0..1000_u64) {
        let text = |count: usize, seed: u64| {
            STREET.replace("count = 3", &format!("count = {count}")).replace("seed = 7", &format!("seed = {seed}"))
        };
        let (few, many) = (street(&text(count, seed)), street(&text(count + more, seed)));
        prop_assert_eq!(rates(&few), &rates(&many)[..few.links.len()]);
        prop_assert_ne!(rates(&few), rates(&street(&text(count, seed + 1))));
    }
}
