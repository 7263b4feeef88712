//! Network namespaces without names. They exist while this process has them open: when it ends,
//! however it ends, the kernel removes them with all that is inside.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getgid, getuid};

use crate::error::Error;
use crate::machine::netlink::{LOOPBACK, Netlink};

/// Settings inside each new namespace. A run of a flow must not depend on earlier flows, and a flow
/// that stops has little left to send. Orphaned connections must end at once: each holds its namespace,
/// for 118 s by default.
const SYSCTLS: &[(&str, &str)] = &[
    ("net/ipv4/tcp_orphan_retries", "1"),
    ("net/ipv4/tcp_fin_timeout", "1"),
    ("net/ipv4/tcp_no_metrics_save", "1"),
    ("net/ipv4/tcp_notsent_lowat", "131072"),
];

/// CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN (capabilities(7)).
const NEEDED: u64 = 1 << 12 | 1 << 13 | 1 << 21;

/// A network namespace without a name.
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// Creates a namespace with its loopback interface up. The caller's own namespace stays as it
    /// is.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN in the user namespace.
    pub fn new() -> Result<Namespace, Error> {
        // A thread of its own: a namespace belongs to a thread, and ends with it unless it is open.
        let create = || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        };
        let file = on_thread(create)?.map_err(Error::Namespace)?;
        let namespace = Namespace { file };
        namespace.enter(|| {
            SYSCTLS.iter().try_for_each(|(name, value)| set_sysctl(name, value))?;
            Netlink::open()?.set_up(LOOPBACK, None)
        })??;
        Ok(namespace)
    }

    /// Calls `act` on a thread inside the namespace. Sockets and devices that it opens stay there.
    ///
    /// # Errors
    /// If the kernel refuses the namespace, or `act` panics.
    pub fn enter<R: Send>(&self, act: impl FnOnce() -> R + Send) -> Result<R, Error> {
        let entered = on_thread(|| {
            setns(&self.file, CloneFlags::CLONE_NEWNET)?;
            Ok(act())
        });
        entered?.map_err(Error::Namespace)
    }

    /// Its number, the inode of its file.
    pub(crate) fn number(&self) -> Result<u32, Error> {
        let failed = |error| Error::Network { step: "number the network".to_owned(), error };
        // The kernel numbers namespaces with 32 bits.
        self.file.metadata().map(|file| file.ino() as u32).map_err(failed)
    }

    /// Sets a sysctl inside the namespace, named by its path below `/proc/sys`.
    ///
    /// # Errors
    /// If the kernel has no such setting, or refuses the value.
    pub fn set_sysctl(&self, name: &str, value: &str) -> Result<(), Error> {
        self.enter(|| set_sysctl(name, value))?
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn on_thread<R: Send>(act: impl FnOnce() -> io::Result<R> + Send) -> Result<io::Result<R>, Error> {
    thread::scope(|scope| scope.spawn(act).join()).map_err(|_| Error::Thread("namespace"))
}

/// Sets a sysctl of the calling thread's namespace.
fn set_sysctl(name: &str, value: &str) -> Result<(), Error> {
    let step = || format!("set {} to `{value}`", name.replace('/', "."));
    fs::write(format!("/proc/sys/{name}"), value)
        .map_err(|error| Error::Network { step: step(), error })
}

/// Gives this process the privilege that live runs need. Without it, the process becomes root of a
/// new user namespace, for which it must still have only one thread.
///
/// # Errors
/// As [`enter_user_namespace`].
pub fn gain_privilege() -> Result<(), Error> {
    if has_privilege() { Ok(()) } else { enter_user_namespace() }
}

/// Whether this process may create network namespaces, and interfaces and packet sockets inside.
fn has_privilege() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    // Without the file, the kernel's refusal follows later.
    let held = line.map_or(Some(u64::MAX), |held| u64::from_str_radix(held.trim(), 16).ok());
    held.is_some_and(|held| held & NEEDED == NEEDED)
}

/// Makes an unprivileged process root of a new user namespace, so that it can create network
/// namespaces. The process must still have only one thread. Timing is worse than as root: without
/// real-time scheduling, other processes delay packets.
///
/// # Errors
/// If the system forbids user namespaces, or the process has several threads.
pub fn enter_user_namespace() -> Result<(), Error> {
    let (user, group) = (getuid(), getgid());
    let enter = || {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))
    };
    enter().map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => Error::Threads,
        _ => Error::UserNamespace(error),
    })
}
