//! Transfers without a bottleneck.

use sojourn_udp::Error;
use sojourn_udp::io::Endpoint;
use sojourn_udp::server::Ending;

use crate::common::{Serving, plan};

const SIZE: u64 = 3_000_000;

/// Every controller delivers its load, except those whose inputs no network gives.
#[test]
fn every_controller_completes_a_transfer() {
    let serving = Serving::start();
    for algorithm in sojourn_cc::all() {
        let info = algorithm.info;
        let outcome =
            Endpoint::new(serving.address).send(plan(info.name, &info.needs, SIZE), &mut ());
        if info.needs.signal {
            assert!(matches!(outcome, Err(Error::Controller(_))), "{}", info.name);
            continue;
        }
        let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", info.name));
        let receipt = outcome.receipt.expect("the receipt arrives");
        println!(
            "{:14} {:7.1} Mbit/s {:6.1} ms",
            info.name,
            outcome.summary.goodput_bps / 1e6,
            outcome.summary.completion_s.unwrap_or(f64::NAN) * 1e3
        );
        assert_eq!(receipt.bytes, SIZE, "{}", info.name);
        assert!(outcome.summary.completion_s.is_some(), "{}", info.name);
        let ecn = (receipt.counts.ect0, receipt.counts.ect1);
        assert_eq!(ecn, (outcome.sent.ect0, outcome.sent.ect1), "{}", info.name);
    }
    let reports = serving.end();
    assert!(reports.iter().all(|peer| peer.ending == Ending::Closed), "{reports:?}");
}
