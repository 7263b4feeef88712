//! The kernels that load the controllers, by their release. The other tests are left out where a
//! controller cannot be loaded; this one fails.

use std::fs;

use sojourn_kernel::{Error, kernel_name, load};

use crate::common::{alone, defaults, is_available};
use crate::registration::release;

/// The oldest release that was tested (docs/guide/kernel.md).
const FIRST: [u32; 3] = [6, 12, 0];

/// Every controller but Prague, which has a test of its own: it needs a later release.
const CONTROLLERS: [&str; 3] = ["lola", "dctcp", "copa"];

/// Older kernels refuse each controller and name the release, or a part that the kernel was built
/// without. Later ones load it if they have types, for root.
#[test]
fn the_release_decides_which_controllers_are_loaded() {
    let _alone = alone();
    for name in CONTROLLERS {
        if is_available(&kernel_name(name)) {
            println!("left out: {name} is loaded by another program");
            continue;
        }
        match load(name, &defaults(name)) {
            Ok(loaded) => {
                assert!(release() >= FIRST, "{:?} loads {name}", release());
                println!("{:?} loads {name}", release());
                drop(loaded);
            }
            Err(Error::NotRoot) if !is_privileged() => {
                return println!("left out: {}", Error::NotRoot);
            }
            Err(Error::Kernel { feature, .. }) if feature.starts_with("its types") => {
                return println!("left out: the kernel has no types");
            }
            Err(error) => {
                assert!(release() < FIRST, "{:?}, {name}: {error}", release());
                println!("{error}");
                assert!(matches!(error, Error::Kernel { .. } | Error::Refused { .. }));
                let names = |remedy| error.to_string().contains(remedy);
                assert!(names("Linux 6.12 or later") || names("CONFIG_BPF_JIT=y"));
            }
        }
    }
}

/// Whether this process has the needed capabilities (CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON and
/// CAP_BPF) outside user namespaces. The initial one maps all users to themselves
/// (user_namespaces(7)).
fn is_privileged() -> bool {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let status = read("/proc/self/status");
    let held = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let held = held.and_then(|held| u64::from_str_radix(held.trim(), 16).ok());
    let needed = [12, 21, 38, 39].iter().fold(0_u64, |set, bit| set | 1 << bit);
    held.is_some_and(|held| held & needed == needed)
        && read("/proc/self/uid_map").split_whitespace().eq(["0", "0", "4294967295"])
}
