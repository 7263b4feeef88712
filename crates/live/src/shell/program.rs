//! The programs of a shell, each with its keeper.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::error::Error;
use crate::machine::sys::forward;
use crate::machine::sys::keeper::{self, Group};
use crate::machine::{IpVersion, Namespace, Side};

/// Time between two looks at a program.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// Looks for the server's first socket before the program starts without it: 5 s.
const SERVER_LOOKS: u32 = 1000;

/// A program and its keeper.
pub(super) struct Kept {
    pub(super) keeper: Child,
    status: Option<ExitStatus>,
}

impl Kept {
    /// Starts the program on the senders' side.
    pub(super) fn program(
        command: &[String],
        sides: &[Namespace; 2],
        has_ip6: bool,
    ) -> Result<Kept, Error> {
        let (name, arguments) = command.split_first().ok_or(Error::NoCommand)?;
        let mut command = Command::new(name);
        command.args(arguments).envs(variables(Side::Senders, has_ip6));
        Kept::spawn(command, name, &sides[0], Group::Same)
    }

    /// Starts servers. Standard output belongs to the program, so the server's goes to standard
    /// error.
    pub(super) fn server(
        sides: &[Namespace; 2],
        has_ip6: bool,
    ) -> impl Fn(&str) -> Result<Kept, Error> + '_ {
        move |server| {
            let output = io::stderr().as_fd().try_clone_to_owned();
            let output = output.map_err(Error::start("duplicate standard error"))?;
            let mut command = Command::new("/bin/sh");
            command.args(["-c", server]).envs(variables(Side::Receivers, has_ip6));
            command.stdin(Stdio::null()).stdout(output);
            Kept::spawn(command, server, &sides[1], Group::Own)
        }
    }

    fn spawn(
        mut command: Command,
        name: &str,
        namespace: &Namespace,
        group: Group,
    ) -> Result<Kept, Error> {
        match keeper::spawn(&mut command, namespace.as_fd(), group) {
            Ok(keeper) => Ok(Kept { keeper, status: None }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::NoProgram(name.to_owned()))
            }
            Err(error) => Err(Error::Program { name: name.to_owned(), error }),
        }
    }

    /// The exit status, once the program has ended.
    pub(super) fn status(&mut self) -> Option<i32> {
        if self.status.is_none() {
            self.status = self.keeper.try_wait().ok().flatten();
        }
        let status = self.status?;
        Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
    }

    /// Waits until a server has a socket, so that the program finds it ready.
    pub(super) fn wait_for_socket(&mut self, namespace: &Namespace) -> Result<(), Error> {
        for _ in 0..SERVER_LOOKS {
            if let Some(status) = self.status() {
                return Err(Error::Server { status });
            }
            if namespace.enter(has_socket)? {
                break;
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ends the program and its descendants: SIGTERM, and SIGKILL a second later.
    pub(super) fn end(&mut self) {
        if self.status().is_none() {
            forward::send(self.keeper.id() as i32, libc::SIGTERM);
            self.status = self.keeper.wait().ok();
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether the calling thread's namespace has a TCP socket that listens, or a UDP socket.
fn has_socket() -> bool {
    let lines = |name: &str| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    // The fourth column is the state, 0A for listening (Linux, `include/net/tcp_states.h`).
    let listens = |line: &String| line.split_whitespace().nth(3) == Some("0A");
    ["tcp", "tcp6"].iter().any(|name| lines(name).iter().any(listens))
        || ["udp", "udp6"].iter().any(|name| !lines(name).is_empty())
}

/// The addresses for a program on one side.
fn variables(side: Side, has_ip6: bool) -> Vec<(&'static str, String)> {
    let address = |side: Side, version| side.of_flow(version, 0).to_string();
    let mut variables = vec![
        ("SOJOURN_LOCAL", address(side, IpVersion::V4)),
        ("SOJOURN_PEER", address(side.other(), IpVersion::V4)),
    ];
    if has_ip6 {
        variables.push(("SOJOURN_LOCAL6", address(side, IpVersion::V6)));
        variables.push(("SOJOURN_PEER6", address(side.other(), IpVersion::V6)));
    }
    variables
}
