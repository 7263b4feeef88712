//! Runs that this machine refuses. tests/python/support.py has the same list for the command.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt as _;

use sojourn_kernel::Error as Kernel;
use sojourn_live::Error;

const TUN: &str = "/dev/net/tun";
/// The device's numbers (devices.txt of the kernel): 10 and 200.
const TUN_DEVICE: u64 = 10 << 8 | 200;

/// Asserts that an error is a refusal by this machine. Any other one is a fault, and so is a TUN
/// device that opens and is unused.
pub(crate) fn assert_refusal(error: &Error) {
    match error {
        Error::NoDevice { .. } => assert!(!tun_opens(), "{TUN} opens here: {error}"),
        Error::Namespace(_)
        | Error::Controller { .. }
        | Error::NoIproute(_)
        | Error::NoModule(_)
        | Error::Probe(Kernel::NotBuilt | Kernel::NotRoot) => {}
        other => panic!("this is no refusal by the machine: {other}"),
    }
}

/// Whether this process may open the node of TUN devices, so that a run needs no other device.
fn tun_opens() -> bool {
    // A test may have hidden it behind another device.
    let is_tun = fs::metadata(TUN).is_ok_and(|node| node.rdev() == TUN_DEVICE);
    is_tun && OpenOptions::new().read(true).write(true).open(TUN).is_ok()
}

#[test]
fn a_fault_is_no_refusal() {
    assert_refusal(&Error::NoModule("netem".to_owned()));
    let fault = std::panic::catch_unwind(|| assert_refusal(&Error::Thread("bottleneck")));
    assert!(fault.is_err());
}
