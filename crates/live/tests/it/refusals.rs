//! Scenarios that cannot run live are refused in one line, before anything is changed.

use std::sync::atomic::AtomicBool;

use sojourn_live::{Error, Options};

use crate::common::{one_flow, scenario};

fn refusal(text: &str) -> Error {
    let stop = AtomicBool::new(false);
    let options = Options::default();
    let refused = sojourn_live::run(&scenario(text), None, 1, &options, &stop);
    let error = refused.err().expect("it is refused");
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[test]
fn a_controller_that_no_kernel_has_is_named() {
    let error = refusal(&one_flow(1, "vegas", "rate = \"10Mbit\"", ""));
    let text = error.to_string();
    assert!(matches!(error, Error::Controller { .. }), "{text}");
    assert!(text.starts_with("flow `bulk`: the kernel has no congestion controller `vegas`"));
}

#[test]
fn damage_that_reads_headers_is_refused() {
    for (keys, what) in [
        ("ecn = \"drop-syn\"", "the loss of SYNs that ask for ECN"),
        ("slots = { least = \"1ms\", filter_acks = true }", "a filter of acknowledgements"),
    ] {
        let error = refusal(&one_flow(1, "cubic", &format!("rate = \"10Mbit\"\n{keys}"), ""));
        let text = error.to_string();
        assert!(matches!(error, Error::UnsupportedLink { .. }), "{text}");
        assert!(text.contains(what), "{text}");
    }
}
