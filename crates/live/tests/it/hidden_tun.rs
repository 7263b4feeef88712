//! A machine that gives no TUN device, as many containers are.

use std::io;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

/// Puts another device at the place of `/dev/net/tun`, for the calling thread and those that it
/// starts.
pub(crate) fn hide_tun() -> io::Result<()> {
    let nothing = None::<&str>;
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)?;
    match mount(Some("/dev/null"), "/dev/net/tun", nothing, MsFlags::MS_BIND, nothing) {
        // The machine has no node to hide.
        Ok(()) | Err(Errno::ENOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
