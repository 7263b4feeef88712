//! The features that a kernel needs, checked before anything is loaded.

use std::fs;
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;

use crate::Error;

/// The kernel's types, which the programs are adapted to.
const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Types of features.
const FEATURES: &[(&str, &str, &str)] = &[
    (
        "bpf_struct_ops_tcp_congestion_ops",
        "congestion controllers in BPF",
        "use a kernel with CONFIG_BPF_JIT=y",
    ),
    (
        "bpf_struct_ops_link",
        "the registration of a controller by a link",
        "use Linux 6.12 or later",
    ),
];
/// Capabilities by number (capabilities(7)). CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF are for programs
/// of the network, and CAP_SYS_ADMIN is for the list of the loaded ones.
const CAPABILITIES: u64 = 1 << 12 | 1 << 21 | 1 << 38 | 1 << 39;

/// Refuses a process without the capabilities. Root of a user namespace has them too, but the kernel
/// refuses its calls: it checks them in the initial user namespace.
pub(crate) fn require_privilege() -> Result<(), Error> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    let has_all = effective.is_some_and(|set| set & CAPABILITIES == CAPABILITIES);
    if has_all { Ok(()) } else { Err(Error::NotRoot) }
}

/// Refuses a kernel that lacks a feature; returns its types.
pub(crate) fn require_features() -> Result<Btf<'static>, Error> {
    let no_types = Error::Kernel {
        feature: "its types (/sys/kernel/btf/vmlinux)",
        remedy: "use a kernel with CONFIG_DEBUG_INFO_BTF=y",
    };
    if !Path::new(TYPES).exists() {
        return Err(no_types);
    }
    let Ok(types) = Btf::from_vmlinux() else { return Err(no_types) };
    for (name, feature, remedy) in FEATURES {
        if types.type_by_name::<Struct<'_>>(name).is_none() {
            return Err(Error::Kernel { feature, remedy });
        }
    }
    Ok(types)
}
