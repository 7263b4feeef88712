//! ECT(1) for controllers of L4S.

use std::os::fd::{AsFd, OwnedFd};

use sojourn_units::params::Params;

use super::loaded::open;
use super::sys;
use crate::Error;
use crate::objects::declared;

/// The controller whose object has the program, and the program.
const CONTROLLER: &str = "prague";
const PROGRAM: &str = "sojourn_ect1";

/// A program that sets ECT(1), the identifier of L4S (RFC 9331), on the packets that leave a
/// device, if their socket's controller needs accurate ECN and has negotiated it. The kernel sends
/// ECT(0).
pub struct Ect1 {
    program: OwnedFd,
}

/// The program on a device. Dropped, or at the end of its process, it has no effect any more.
pub struct Attached {
    _link: OwnedFd,
}

impl Ect1 {
    /// Loads the program.
    ///
    /// # Errors
    /// Without privilege, or if the kernel lacks a feature.
    pub fn load() -> Result<Ect1, Error> {
        let object = open(CONTROLLER, &Params::defaults(declared(CONTROLLER)))?;
        let program = object.progs().find(|one| one.name() == PROGRAM);
        let program = program.expect("the object has the program");
        // The program lives as long as its descriptor, without the object.
        let program = program.as_fd().try_clone_to_owned();
        let failed = |error| Error::Query { step: "keep the program for ECT(1)", error };
        Ok(Ect1 { program: program.map_err(failed)? })
    }

    /// Attaches it to a device of the calling thread's network namespace.
    ///
    /// # Errors
    /// If the namespace has no such device, or the kernel refuses.
    pub fn attach(&self, device: &str) -> Result<Attached, Error> {
        let failed = |error| Error::Device { device: device.to_owned(), error };
        let index = sys::device_index(device).map_err(failed)?;
        let link = sys::attach_to_egress(self.program.as_fd(), index).map_err(failed)?;
        Ok(Attached { _link: link })
    }
}
