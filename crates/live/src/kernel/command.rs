//! Executes the commands of a plan inside a run's namespaces.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use super::needs::Need;
use super::plan::{Action, Place, Step};
use crate::{Error, Namespace};

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

impl Places<'_> {
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
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let started = places.router.enter(|| command.spawn())?;
        let child = started.map_err(|error| Error::Command {
            command: "tc -batch -".to_owned(),
            said: error.to_string(),
        })?;
        Ok(Batch { child })
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

/// A `tc` that executes commands as they come. It ends with this process.
pub(super) struct Batch {
    child: Child,
}

impl Batch {
    /// Passes on a command of `tc`.
    pub(super) fn send(&mut self, step: &Step) -> Result<(), Error> {
        let Action::Tc(arguments) = &step.what else { return Ok(()) };
        let sent = match &mut self.child.stdin {
            Some(input) => writeln!(input, "{arguments}"),
            None => Err(io::Error::from(ErrorKind::BrokenPipe)),
        };
        sent.map_err(|error| {
            let said =
                self.end().err().map_or_else(|| error.to_string(), |error| error.to_string());
            refused(step, said)
        })
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
        Err(Error::Command { command: "tc -batch -".to_owned(), said: first_line(&said) })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
