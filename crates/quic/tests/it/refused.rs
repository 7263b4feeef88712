//! Scenarios that a stack cannot serve, and kits.

use sojourn_quic::endpoint::stacks;
use sojourn_quic::{KitError, noq, quinn};
use sojourn_transport::Stacks;

use crate::common::resolve;
use crate::downloads::{NOQ, QUINN, downloads};

fn refusal(control: &str, transport: &str, stacks: Stacks) -> String {
    let text = downloads(control, transport, "5ms", "");
    resolve(&text, stacks).expect_err("a refusal").to_string()
}

#[test]
fn a_controller_whose_needs_the_stack_cannot_meet_is_named() {
    for (stack, name) in [(NOQ, "noq"), (QUINN, "quinn")] {
        let said = refusal("\"ideal\"", stack, stacks());
        let ideal = format!("`ideal` needs signals of the bottleneck, which stack `{name}`");
        assert!(said.contains(&ideal), "{said}");
        let said = refusal("\"rapid\"", stack, stacks());
        assert!(said.contains("`rapid` needs receive times of single packets"), "{said}");
    }
}

#[test]
fn unknown_stacks_and_keys_are_named() {
    let said = refusal("\"prague\"", r#"stack = "nop""#, stacks());
    assert!(said.contains("there is no stack `nop`") && said.contains("`noq`"), "{said}");
    let said = refusal("\"prague\"", NOQ, Stacks::none());
    assert!(said.contains("`make install` builds it with all"), "{said}");
    let said = refusal("\"prague\"", r#"stack = { kind = "noq", mss = "1000B" }"#, stacks());
    assert!(said.contains("`noq` has no key `mss`"), "{said}");
}

#[test]
fn a_kit_names_the_fault() {
    assert!(matches!(noq::Kit::new("prage"), Err(KitError::Unknown { .. })));
    assert!(matches!(quinn::Kit::new("prage"), Err(KitError::Unknown { .. })));
    let said = noq::Kit::new("rapid").unwrap_err().to_string();
    assert!(said.contains("`rapid` needs receive times of single packets, which noq"), "{said}");
    let said = quinn::Kit::new("rapid").unwrap_err().to_string();
    assert!(said.contains("`rapid` needs receive times of single packets, which quinn"), "{said}");
    assert_eq!(noq::Kit::new("prague").unwrap().codepoint(), sojourn_units::Ecn::Ect1);
    assert_eq!(quinn::Kit::new("cubic").unwrap().codepoint(), sojourn_units::Ecn::Ect0);
}
