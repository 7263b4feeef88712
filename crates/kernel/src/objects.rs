//! The compiled programs.

/// The objects by the name of their controller. `bpf/compile` writes them.
const OBJECTS: &[(&str, &[u8])] = &[
    ("copa", include_bytes!("../objects/copa.bpf.o")),
    ("dctcp", include_bytes!("../objects/dctcp.bpf.o")),
    ("lola", include_bytes!("../objects/lola.bpf.o")),
    ("prague", include_bytes!("../objects/prague.bpf.o")),
];

/// The program at the tracepoint `tcp_probe`.
#[cfg(feature = "libbpf")]
pub(crate) const PROBE: &[u8] = include_bytes!("../objects/tcp_probe.bpf.o");

/// Names of the controllers that can be loaded, as in scenarios.
pub fn names() -> impl Iterator<Item = &'static str> {
    OBJECTS.iter().map(|(name, _)| *name)
}

/// Whether the controller can be loaded.
pub fn is_supported(name: &str) -> bool {
    names().any(|one| one == name)
}

/// The parameters that programs lack: each is the last one of its controller. DCTCP's program has
/// Linux's observation window.
pub(crate) const ABSENT: [(&str, &str); 2] =
    [("prague", "classic_fallback"), ("dctcp", "window_end")];

/// The parameters of a controller's program, in the order of its `struct PARAMS`.
pub fn declared(name: &str) -> &'static [sojourn_units::params::Key] {
    let all = sojourn_cc::find(name).map_or(&[][..], |algorithm| algorithm.info.params);
    match all {
        [held @ .., last] if ABSENT.contains(&(name, last.name)) => held,
        _ => all,
    }
}

/// The name of a controller in the kernel, for `sysctl` and `setsockopt`.
pub fn kernel_name(name: &str) -> String {
    format!("sojourn_{name}")
}

/// The object of a controller.
#[cfg(feature = "libbpf")]
pub(crate) fn object(name: &str) -> Result<&'static [u8], crate::Error> {
    let found = OBJECTS.iter().find(|(one, _)| *one == name);
    found.map(|(_, object)| *object).ok_or_else(|| crate::Error::unknown(name))
}
