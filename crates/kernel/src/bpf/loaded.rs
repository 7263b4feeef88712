//! Loading and registering a controller.

use std::io;

use libbpf_rs::btf::Btf;
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{ErrorKind, Link, MapCore as _, Object, ObjectBuilder, OpenMapMut};
use sojourn_units::params::Params;

use super::calls::clear_uncalled;
use super::{PARAMS, PINS, log};
use crate::objects::{ABSENT, declared, kernel_name, object};
use crate::preconditions::{require_features, require_privilege};
use crate::words::words;
use crate::{Error, registered};

/// A registered controller. Dropped without [`Loaded::pin`], it is no longer registered; sockets
/// that use it keep it until they close.
pub struct Loaded {
    name: String,
    link: Link,
    /// The programs' numbers of sockets and parameters.
    _object: Object,
}

impl Loaded {
    /// Keeps the controller registered without a process.
    ///
    /// # Errors
    /// If the file system of BPF is not mounted.
    pub fn pin(&mut self) -> Result<(), Error> {
        let path = format!("{PINS}/{}", kernel_name(&self.name));
        let pinned = self.link.pin(&path);
        pinned.map_err(|error| Error::Pin { path, reason: error.to_string() })
    }

    /// Whether the controller is still registered: another process can unload it.
    pub fn is_registered(&self) -> bool {
        let info = self.link.info().map(|info| info.info);
        matches!(info, Ok(LinkTypeInfo::StructOps(ops)) if ops.map_id != 0)
    }
}

/// Loads the programs of a controller, and registers it for the whole machine.
///
/// # Errors
/// Without privilege, if the kernel lacks a feature, or has a controller of this name.
pub fn load(name: &str, params: &Params) -> Result<Loaded, Error> {
    require_effect(name, params)?;
    let mut object = open(name, params)?;
    let name_in_kernel = kernel_name(name);
    let taken = || Error::Taken { name: name.to_owned(), kernel_name: kernel_name(name) };
    if registered()?.iter().any(|one| one.name == name) {
        return Err(taken());
    }
    log::start();
    let link = object
        .maps_mut()
        .find(|map| map.name().to_str() == Some(&name_in_kernel))
        .expect("every object has its controller")
        .attach_struct_ops()
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => taken(),
            _ => refused(name, &error),
        })?;
    Ok(Loaded { name: name.to_owned(), link, _object: object })
}

/// The parameter that the stack decides on, beside those that programs lack.
const WITHOUT_EFFECT: (&str, &str) = ("prague", "max_burst_delay");

/// Refuses a changed parameter without effect.
fn require_effect(name: &str, params: &Params) -> Result<(), Error> {
    let defaults = sojourn_cc::find(name).map_or(&[][..], |algorithm| algorithm.info.params);
    let defaults = Params::defaults(defaults);
    let changed = params.iter().zip(defaults.iter()).filter(|(one, other)| one != other);
    for ((parameter, _), _) in changed {
        if (name, parameter) == WITHOUT_EFFECT || ABSENT.contains(&(name, parameter)) {
            return Err(Error::NoEffect { name: name.to_owned(), parameter: parameter.to_owned() });
        }
    }
    Ok(())
}

/// Loads the programs of a controller without registering it.
pub(super) fn open(name: &str, params: &Params) -> Result<Object, Error> {
    let bytes = object(name)?;
    require_privilege()?;
    let kernel = require_features()?;
    log::start();
    let load = || {
        let mut open = ObjectBuilder::default().open_memory(bytes)?;
        if let Some(types) = Btf::from_raw(name, bytes)? {
            let table = |map: &OpenMapMut<'_>| map.name().to_str() == Some(&kernel_name(name));
            open.maps_mut()
                .filter(table)
                .for_each(|mut map| clear_uncalled(&mut map, &types, &kernel));
        }
        for mut map in open.maps_mut().filter(|map| map.name().to_str() == Some(PARAMS)) {
            let words = words(declared(name), params);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            map.set_initial_value(&bytes)?;
        }
        open.load()
    };
    load().map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::NotRoot,
        _ => refused(name, &error),
    })
}

/// The controllers that need accurate ECN (RFC 9768). Kernels without it refuse their flag.
const NEED_ACCURATE_ECN: &[&str] = &["prague"];

fn refused(name: &str, error: &libbpf_rs::Error) -> Error {
    if error.kind() == ErrorKind::InvalidInput && NEED_ACCURATE_ECN.contains(&name) {
        return Error::Kernel {
            feature: "controllers with accurate ECN (TCP_CONG_NEEDS_ACCECN)",
            remedy: "use Linux 7.0 or later, or 6.18 from 6.18.14 on",
        };
    }
    let reason = log::reason().unwrap_or_else(|| error.to_string());
    Error::Refused { name: kernel_name(name), reason }
}

/// An error of a query.
pub(super) fn query(step: &'static str) -> impl FnOnce(libbpf_rs::Error) -> Error {
    move |error| Error::Query { step, error: io::Error::other(error.to_string()) }
}
