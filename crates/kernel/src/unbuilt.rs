//! The functions of a build without libbpf.

use sojourn_units::params::Params;

use crate::{AckRow, Error, Registered};

/// A controller in the kernel; there is none.
pub enum Loaded {}

impl Loaded {
    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn pin(&mut self) -> Result<(), Error> {
        match *self {}
    }

    /// Never called.
    pub fn is_registered(&self) -> bool {
        match *self {}
    }
}

/// The program for ECT(1); there is none.
pub enum Ect1 {}

/// The program on a device; there is none.
pub enum Attached {}

impl Ect1 {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn load() -> Result<Ect1, Error> {
        Err(Error::NotBuilt)
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn attach(&self, _device: &str) -> Result<Attached, Error> {
        match *self {}
    }
}

/// The program at the tracepoint; there is none.
pub enum Probe {}

impl Probe {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn attach(_namespace: u32) -> Result<Probe, Error> {
        Err(Error::NotBuilt)
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn follow(
        &self,
        _take: impl FnMut(AckRow),
        _wait: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn missed(&self) -> Result<u64, Error> {
        match *self {}
    }
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn load(name: &str, _params: &Params) -> Result<Loaded, Error> {
    if crate::is_supported(name) { Err(Error::NotBuilt) } else { Err(Error::unknown(name)) }
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn unload(_name: &str, _is_forced: bool) -> Result<(), Error> {
    Err(Error::NotBuilt)
}

/// Refuses.
///
/// # Errors
/// Always.
pub fn registered() -> Result<Vec<Registered>, Error> {
    Err(Error::NotBuilt)
}

impl Drop for Loaded {
    fn drop(&mut self) {
        match *self {}
    }
}
