//! Errors: each names the fault, its place and the remedy.

use std::io;

use crate::objects::names;

/// Why a controller cannot be loaded or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This build has no libbpf.
    #[error(
        "this build of Sojourn cannot load controllers into the kernel, because libbpf was not \
         built; install libelf-dev, make, pkg-config and a C compiler, and build again \
         (make install)"
    )]
    NotBuilt,
    /// No program has this name.
    #[error("there is no controller `{name}` for the kernel; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names of all programs.
        known: String,
    },
    /// The process may neither load programs nor list the loaded ones.
    #[error(
        "only root, outside user namespaces, can load, list and unload controllers of the kernel; \
         run the command with sudo"
    )]
    NotRoot,
    /// The kernel lacks a feature.
    #[error("this kernel cannot load controllers: it lacks {feature}; {remedy}")]
    Kernel {
        /// The missing feature.
        feature: &'static str,
        /// What provides it.
        remedy: &'static str,
    },
    /// A parameter has no effect in the kernel.
    #[error("the kernel's `{name}` has no `{parameter}`; leave it out")]
    NoEffect {
        /// The controller.
        name: String,
        /// Its parameter.
        parameter: String,
    },
    /// The kernel refused the object.
    #[error(
        "the kernel refuses `{name}`: {reason}; Sojourn's controllers need Linux 6.12 or later"
    )]
    Refused {
        /// The name in the kernel.
        name: String,
        /// The last words of libbpf or the verifier.
        reason: String,
    },
    /// The name is in use.
    #[error(
        "the kernel has a controller `{kernel_name}` already; unload it (sojourn kernel unload \
         {name})"
    )]
    Taken {
        /// The name in scenarios.
        name: String,
        /// The name in the kernel.
        kernel_name: String,
    },
    /// Sockets use the controller.
    #[error(
        "{sockets} sockets use `{kernel_name}`; end their programs, or unload with --force: the \
         sockets then keep it until they close"
    )]
    InUse {
        /// The name in the kernel.
        kernel_name: String,
        /// Their number.
        sockets: u64,
    },
    /// The controller is not registered.
    #[error("`{0}` is not loaded; `sojourn kernel status` lists the loaded controllers")]
    NotLoaded(String),
    /// The file system of BPF refused a file.
    #[error(
        "cannot pin the controller to {path}: {reason}; mount the file system of BPF (mount -t \
         bpf bpf /sys/fs/bpf)"
    )]
    Pin {
        /// The file.
        path: String,
        /// The kernel's reason.
        reason: String,
    },
    /// The kernel refused a device.
    #[error("cannot set ECT(1) on the packets of {device}: {error}; `ip link` lists the devices")]
    Device {
        /// Its name.
        device: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The kernel refused the program at the tracepoint `tcp_probe`.
    #[error(
        "the kernel refuses the program at the tracepoint tcp_probe: {reason}; use Linux 5.11 or \
         later with CONFIG_BPF_EVENTS=y and CONFIG_DEBUG_INFO_BTF=y"
    )]
    Probe {
        /// The last words of libbpf or the verifier.
        reason: String,
    },
    /// The kernel refused a query.
    #[error("cannot {step}: {error}")]
    Query {
        /// The refused step.
        step: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl Error {
    /// The name belongs to no program.
    pub(crate) fn unknown(name: &str) -> Error {
        let known = names().collect::<Vec<_>>().join(", ");
        Error::Unknown { name: name.to_owned(), known }
    }
}
