//! Executes the commands of a plan inside a run's namespaces.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::{env, fs};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::needs::Need;
use super::places::Place;
use super::step::{Action, Step};
use crate::error::Error;
use crate::machine::Namespace;

/// Folders that PATH lacks without root on some systems.
const MORE_FOLDERS: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// The programs of iproute2.
pub(super) struct Programs {
    ip: PathBuf,
    tc: PathBuf,
}

/// The namespaces of a run.
pub(super) struct Places<'a> {
    pub(super) senders: &'a Namespace,
    pub(super) router: &'a Namespace,
    pub(super) receivers: &'a Namespace,
}

impl<'a> Places<'a> {
    /// Those of a run.
    pub(super) fn of_run(
        [senders, receivers]: [&'a Namespace; 2],
        router: &'a Namespace,
    ) -> Places<'a> {
        Places { senders, router, receivers }
    }

    fn of(&self, place: Place) -> &Namespace {
        match place {
            Place::Senders => self.senders,
            Place::Router => self.router,
            Place::Receivers => self.receivers,
        }
    }
}

impl Programs {
    /// Finds both programs.
    pub(super) fn find() -> Result<Programs, Error> {
        let folders = format!("{}:{MORE_FOLDERS}", env::var("PATH").unwrap_or_default());
        let find = |name: &'static str| {
            let mut files = folders.split(':').map(|folder| Path::new(folder).join(name));
            files.find(|file| file.is_file()).ok_or(Error::NoIproute(name))
        };
        Ok(Programs { ip: find("ip")?, tc: find("tc")? })
    }

    /// Refuses a run for which the kernel or `tc` lacks a part. Each part is tried in a namespace
    /// that is then removed.
    pub(super) fn require(&self, needs: &[Need]) -> Result<(), Error> {
        let empty = Namespace::new()?;
        let places = Places { senders: &empty, router: &empty, receivers: &empty };
        let mut missing = Vec::new();
        for need in needs {
            let Some(said) = self.output(&need.attempt, &places)? else { continue };
            if !is_unknown(&said) {
                return Err(refused(&need.attempt, said));
            }
            missing.push(format!("{} ({said})", need.module));
        }
        if missing.is_empty() { Ok(()) } else { Err(Error::NoModule(missing.join(", "))) }
    }

    /// Executes a step.
    pub(super) fn execute(&self, step: &Step, places: &Places<'_>) -> Result<(), Error> {
        match self.output(step, places)? {
            None => Ok(()),
            Some(said) => Err(refused(step, said)),
        }
    }

    /// Executes a step, and returns the first line that the program wrote if it failed.
    fn output(&self, step: &Step, places: &Places<'_>) -> Result<Option<String>, Error> {
        let namespace = places.of(step.place);
        let (program, arguments) = match &step.what {
            Action::Ip(arguments) => (&self.ip, arguments),
            Action::Tc(arguments) => (&self.tc, arguments),
            Action::Sysctl(path, value) => return sysctl(namespace, path, value).map(|()| None),
        };
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace().map(|word| in_run(word, places)));
        command.stdin(Stdio::null());
        let done = namespace.enter(|| command.output())?;
        let done = done.map_err(|error| refused(step, error.to_string()))?;
        Ok((!done.status.success()).then(|| first_line(&done.stderr)))
    }

    /// Starts a `tc` in the router that executes the lines that it is sent.
    pub(super) fn batch(&self, places: &Places<'_>) -> Result<Batch, Error> {
        let mut command = Command::new(&self.tc);
        command.args(["-batch", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = places.router.enter(|| command.spawn())?;
        let mut child = started.map_err(|error| batch_failed(error.to_string()))?;
        let answers = child.stdout.take().ok_or_else(|| batch_failed("no output".to_owned()))?;
        Ok(Batch { child, answers })
    }
}

/// The settings of IPv6 are missing on a kernel without it.
fn sysctl(namespace: &Namespace, path: &str, value: &str) -> Result<(), Error> {
    let exists = namespace.enter(|| fs::exists(format!("/proc/sys/{path}")).unwrap_or(false))?;
    if exists || !path.starts_with("net/ipv6") { namespace.set_sysctl(path, value) } else { Ok(()) }
}

/// The name of a namespace becomes the path of the run's.
fn in_run(word: &str, places: &Places<'_>) -> String {
    let place = Place::ALL.into_iter().find(|place| place.name() == word);
    place.map_or_else(
        || word.to_owned(),
        |place| {
            let file = places.of(place).as_fd().as_raw_fd();
            format!("/proc/{}/fd/{file}", std::process::id())
        },
    )
}

/// Whether a program's message says that it, or the kernel, does not know the device, qdisc, filter
/// or action.
fn is_unknown(said: &str) -> bool {
    let said = said.to_lowercase();
    ["unknown", "not found", "failed to load", "no such file", "not supported"]
        .iter()
        .any(|sign| said.contains(sign))
}

fn refused(step: &Step, said: String) -> Error {
    Error::Command { command: step.to_string(), said }
}

fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").to_owned()
}

fn batch_failed(said: String) -> Error {
    Error::Command { command: "tc -batch -".to_owned(), said }
}

/// A command that prints one line, after a change that prints none: `tc` executes its commands in
/// their order, and the loopback interface has one queue.
const QUESTION: &str = "qdisc show dev lo";

/// A `tc` that executes commands as they come. It ends with this process.
pub(super) struct Batch {
    child: Child,
    answers: ChildStdout,
}

impl Batch {
    /// Passes on a command of `tc`. An answer follows when it has been executed.
    pub(super) fn send(&mut self, step: &Step) -> Result<(), Error> {
        let Action::Tc(arguments) = &step.what else { return Ok(()) };
        let sent = match &mut self.child.stdin {
            Some(input) => input.write_all(format!("{arguments}\n{QUESTION}\n").as_bytes()),
            None => Err(io::Error::from(ErrorKind::BrokenPipe)),
        };
        sent.map_err(|error| {
            let said =
                self.end().err().map_or_else(|| error.to_string(), |error| error.to_string());
            refused(step, said)
        })
    }

    /// Number of commands that have been executed since the last call.
    pub(super) fn answered(&mut self) -> Result<usize, Error> {
        let mut lines = 0;
        let mut room = [0; 4096];
        while self.has_answered() {
            match self.answers.read(&mut room) {
                // `tc` ends at the first command that the kernel refuses.
                Ok(0) => return self.end().map(|()| lines),
                Ok(length) => lines += room[..length].iter().filter(|one| **one == b'\n').count(),
                Err(error) => return Err(batch_failed(error.to_string())),
            }
        }
        Ok(lines)
    }

    /// Whether it has written something that was not read yet, or has ended.
    fn has_answered(&self) -> bool {
        let mut answers = [PollFd::new(self.answers.as_fd(), PollFlags::POLLIN)];
        poll(&mut answers, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Waits for the end of the last command.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        drop(self.child.stdin.take());
        let mut said = Vec::new();
        if let Some(mut output) = self.child.stderr.take() {
            let _ = output.read_to_end(&mut said);
        }
        let is_well = self.child.wait().is_ok_and(|status| status.success());
        if is_well {
            return Ok(());
        }
        Err(batch_failed(first_line(&said)))
    }
}

/// Readable when a command has been executed, or `tc` has ended.
impl AsFd for Batch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
