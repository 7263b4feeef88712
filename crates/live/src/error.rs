//! Errors of live runs: each names the fault, its place and the remedy.

use std::io;

/// Why a live run is impossible, or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine has no room for the flows.
    #[error(
        "{flows} flows need about {need} and {limit}; {remedy}, or simulate the scenario (sojourn run)"
    )]
    NoRoom {
        /// The number of flows.
        flows: usize,
        /// Their need.
        need: String,
        /// The limit.
        limit: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// No permission to create a network namespace.
    #[error("cannot create a network namespace: {}", namespace_fault(.0))]
    Namespace(io::Error),
    /// A user namespace is not allowed.
    #[error("cannot create a user namespace: {}", user_namespace_fault(.0))]
    UserNamespace(io::Error),
    /// A process with several threads cannot enter a user namespace.
    #[error(
        "cannot create a user namespace in a process with several threads; run as root, or inside \
         `unshare --user --map-root-user`"
    )]
    Threads,
    /// The machine has no TUN device for this user.
    #[error("{0}; load the module `tun`, and allow this user to read and write the file")]
    Tun(String),
    /// The machine has neither TUN devices nor veth pairs.
    #[error(
        "{tun}, and no veth pair ({veth}); load the module `tun` or `veth`, and allow this user to \
         read and write /dev/net/tun"
    )]
    NoDevice {
        /// The fault of TUN.
        tun: String,
        /// The fault of veth.
        veth: Box<Error>,
    },
    /// The kernel refused a change of the network inside a namespace.
    #[error("cannot {step} in the run's namespace: {error}{}", network_remedy(.error))]
    Network {
        /// The refused change.
        step: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The kernel has no such congestion controller.
    #[error(
        "flow `{flow}`: the kernel has no congestion controller `{name}`; it has {available}; \
         load the module `tcp_{name}`, or use Sojourn's own transport (--stack udp)"
    )]
    Controller {
        /// The flow.
        flow: String,
        /// The controller's name in the kernel.
        name: String,
        /// The names of the kernel's controllers.
        available: String,
    },
    /// A controller cannot be loaded into the kernel.
    #[error("flow `{flow}`: {error}")]
    Load {
        /// The flow.
        flow: String,
        /// The reason.
        error: sojourn_kernel::Error,
    },
    /// The kernel does not trace the acknowledgements.
    #[error("cannot trace acknowledgements: {0}")]
    Probe(sojourn_kernel::Error),
    /// The transport over UDP failed.
    #[error("flow `{flow}`: {error}")]
    Udp {
        /// The flow.
        flow: String,
        /// Its fault.
        error: sojourn_udp::Error,
    },
    /// The connection of a QUIC stack failed.
    #[error("flow `{flow}`: {error}")]
    Quic {
        /// The flow.
        flow: String,
        /// Its fault.
        error: sojourn_quic_udp::Error,
    },
    /// A part of the scenario has no live counterpart.
    #[error("flow `{flow}`: {what} cannot run live yet; {remedy}")]
    Unsupported {
        /// The flow.
        flow: String,
        /// The part.
        what: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A link has damage that needs the content of real packets.
    #[error("link `{link}`: {what} cannot run live; {remedy}")]
    UnsupportedLink {
        /// The link.
        link: String,
        /// The damage.
        what: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// The kernel's queues cannot form a part of the scenario.
    #[error("{place}: `tc` cannot make {what}; {remedy}, or use Sojourn's own links")]
    NotInKernel {
        /// The link or flow.
        place: String,
        /// The part.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// The kernel cannot keep departure times.
    #[error(
        "the kernel cannot pace: it has no queue discipline `fq`; load the module `sch_fq`, or let \
         Sojourn pace (--departures timer)"
    )]
    NoFq,
    /// A program of iproute2 is missing.
    #[error("`{0}` is missing; install iproute2 (on Debian or Ubuntu: apt install iproute2)")]
    NoIproute(&'static str),
    /// The kernel or `tc` lacks parts.
    #[error(
        "the kernel or `tc` lacks {0}; load the modules with `modprobe`, update iproute2, or use \
         Sojourn's own links (without `--bottleneck tc`)"
    )]
    NoModule(String),
    /// A command failed.
    #[error("`{command}` failed: {said}")]
    Command {
        /// The command.
        command: String,
        /// The program's message.
        said: String,
    },
    /// A socket of a flow failed.
    #[error("flow `{flow}`: cannot {step}: {error}")]
    Socket {
        /// The flow.
        flow: String,
        /// The failed step.
        step: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A device failed during the run.
    #[error("the bottleneck cannot {step} a packet: {error}")]
    Bottleneck {
        /// The failed step.
        step: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A file of the capture cannot be written.
    #[error(
        "cannot write the capture {file}: {error}; free space, or name a folder of another disk"
    )]
    Capture {
        /// Its name.
        file: String,
        /// The system's reason.
        error: io::Error,
    },
    /// Events of transports are wanted, and the scenario has no transport.
    #[error(
        "no flow has a transport whose events qlog could have, only datagrams or echo requests; \
         leave out the folder for qlog (--qlog)"
    )]
    NoEvents,
    /// The scenario has no flow of this name.
    #[error("the scenario has no flow `{name}`; it has {flows}")]
    NoFlow {
        /// The name.
        name: String,
        /// The names of its flows.
        flows: String,
    },
    /// The kernel has no such congestion controller.
    #[error(
        "the kernel has no congestion controller `{name}`; it has {available}; load the module \
         `tcp_{name}`"
    )]
    NoController {
        /// The controller's name.
        name: String,
        /// The names of the kernel's controllers.
        available: String,
    },
    /// No program is named.
    #[error("there is no command to run; name one after `--`")]
    NoCommand,
    /// The program does not exist.
    #[error("{0}: command not found; install it, or name its path")]
    NoProgram(String),
    /// The program cannot be started.
    #[error("cannot run {name}: {error}")]
    Program {
        /// The program.
        name: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The server ended too early.
    #[error(
        "the server ended with status {status} before the command began; it has to stay in the \
         foreground"
    )]
    Server {
        /// Its exit status.
        status: i32,
    },
    /// The system refused a step before the program.
    #[error("cannot {step}: {error}")]
    Start {
        /// The refused step.
        step: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The caller ended the run early.
    #[error("the run was stopped before its end")]
    Stopped,
    /// A thread of the run panicked.
    #[error(
        "a thread of the run ended unexpectedly: {0}; this is a fault in Sojourn, please report it"
    )]
    Thread(&'static str),
}

impl Error {
    /// The system refused a step before the run.
    pub(crate) fn start(step: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |error| Error::Start { step, error }
    }

    /// A socket of a flow failed.
    pub(crate) fn socket(flow: &str, step: &'static str, error: io::Error) -> Error {
        Error::Socket { flow: flow.to_owned(), step, error }
    }
}

fn namespace_fault(error: &io::Error) -> String {
    // The system says "No space left on device".
    if error.raw_os_error() == Some(libc::ENOSPC) {
        return "too many exist; raise the sysctl user.max_net_namespaces".to_owned();
    }
    unprivileged(error)
}

fn user_namespace_fault(error: &io::Error) -> String {
    if error.raw_os_error() == Some(libc::ENOSPC) {
        return "too many exist; run as root, or raise the sysctl user.max_user_namespaces"
            .to_owned();
    }
    unprivileged(error)
}

fn unprivileged(error: &io::Error) -> String {
    format!(
        "{error}; run as root, or allow user namespaces (sysctls \
         kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns; in a \
         container, its seccomp profile)"
    )
}

/// The remedy, if the reason is the machine and not the request.
fn network_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EROFS) => "; mount /proc/sys writable, as containers with privilege have it",
        Some(libc::EPERM | libc::EACCES) => "; run as root",
        _ => "",
    }
}
