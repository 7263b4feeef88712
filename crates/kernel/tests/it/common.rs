//! Parts of several tests.

use std::env;
use std::fs::{self, File};

use nix::fcntl::{Flock, FlockArg};
use sojourn_kernel::{Error, Loaded, load};
use sojourn_units::params::Params;

/// The name in the kernel belongs to the whole machine, so these tests and those in Python run one
/// at a time.
pub(crate) fn alone() -> Flock<File> {
    let file = File::create(env::temp_dir().join("sojourn-kernel-tests.lock")).expect("a file");
    Flock::lock(file, FlockArg::LockExclusive).expect("a lock")
}

/// The default parameters of a controller.
pub(crate) fn defaults(name: &str) -> Params {
    Params::defaults(sojourn_cc::find(name).expect("a controller").info.params)
}

/// Loads a controller; `None` where the machine does not allow it.
pub(crate) fn try_load(name: &str) -> Option<Loaded> {
    match load(name, &defaults(name)) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            skip(&error);
            None
        }
    }
}

/// Reports a machine without BPF or libbpf. Any other error is a fault.
pub(crate) fn skip(error: &Error) {
    match error {
        Error::NotBuilt | Error::NotRoot | Error::Kernel { .. } | Error::Taken { .. } => {
            println!("left out: {error}");
        }
        other => panic!("{other}"),
    }
}

/// Whether the kernel offers a controller.
pub(crate) fn is_available(name: &str) -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    all.unwrap_or_default().split_whitespace().any(|one| one == name)
}
