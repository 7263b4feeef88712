//! The keeper of a program: a small process between Sojourn and the program, which ends the program
//! and all of its descendants when it or Sojourn ends, however that happens.
//!
//! Orphaned descendants become children of the keeper (`PR_SET_CHILD_SUBREAPER`). The kernel
//! signals the keeper when Sojourn dies (`PR_SET_PDEATHSIG`).

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::{mem, ptr};

use super::forward::send;

/// The signal for the death of Sojourn.
const ORPHANED: i32 = libc::SIGUSR1;
/// Time between SIGTERM and SIGKILL, in polls.
const PATIENCE: u32 = 100;
/// Time between two polls of processes that are ending.
const POLL: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
const CHILDREN: &CStr = c"/proc/thread-self/children";

/// The process group of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Sojourn's, so that the terminal's signals reach the program.
    Same,
    /// Its own.
    Own,
}

/// Starts a program inside a network namespace. The returned process is its keeper, which ends with
/// the program's exit status, or with 128 and the signal that ended it. It accepts SIGTERM, which
/// ends the program, and passes SIGINT and SIGQUIT of this process on.
///
/// Call it on a thread that lives as long as the program should: the kernel takes the end of that
/// thread for the end of the process.
pub(crate) fn spawn(
    command: &mut Command,
    namespace: BorrowedFd<'_>,
    group: Group,
) -> io::Result<Child> {
    require_statuses();
    let (namespace, parent) = (namespace.as_raw_fd(), std::process::id() as i32);
    // SAFETY: `begin` makes system calls only, and neither allocates nor takes a lock.
    unsafe { command.pre_exec(move || begin(parent, namespace, group)) };
    command.spawn()
}

/// Makes the kernel keep the statuses of ended children. It discards them if the parent of this
/// process ignored SIGCHLD, since execve(2) keeps that.
fn require_statuses() {
    // SAFETY: the calls take numbers, or pointers to values that outlive them.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGCHLD, ptr::null(), &mut action);
        if action.sa_sigaction == libc::SIG_IGN {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        }
    }
}

/// Runs in the new process before it executes the program: forks, and returns only in the process
/// that becomes the program.
fn begin(parent: i32, namespace: i32, group: Group) -> io::Result<()> {
    // SAFETY: each call takes numbers, or pointers to values that outlive it.
    unsafe {
        die_with(parent, ORPHANED)?;
        check(libc::setns(namespace, libc::CLONE_NEWNET))?;
        if group == Group::Own {
            check(libc::setpgid(0, 0))?;
        }
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?;
        let mut all = mem::zeroed();
        let mut before = mem::zeroed();
        libc::sigfillset(&mut all);
        check(libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before))?;
        let keeper = libc::getpid();
        match check(libc::fork())? {
            0 => {
                // Python ignores this signal, and programs do not expect that.
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
                check(libc::sigprocmask(libc::SIG_SETMASK, &before, ptr::null_mut()))?;
                die_with(keeper, libc::SIGKILL)
            }
            program => {
                // Sojourn's files, its devices and namespaces among them, must not outlive it.
                libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
                libc::prctl(libc::PR_SET_NAME, c"sojourn-keeper".as_ptr());
                Keeper { parent, program, status: None }.keep(&all)
            }
        }
    }
}

/// Asks for a signal at the death of the parent. An error if that has died already.
fn die_with(parent: i32, signal: i32) -> io::Result<()> {
    // SAFETY: the calls take numbers.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, signal))?;
        if libc::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The state of a keeper. Its process has one thread, and a copy of another's memory: it makes
/// system calls only.
struct Keeper {
    parent: i32,
    program: i32,
    /// Exit status of the program, once it has ended.
    status: Option<i32>,
}

impl Keeper {
    /// Waits for the end of the program and of its descendants, and exits. All signals are blocked.
    fn keep(mut self, all: &libc::sigset_t) -> ! {
        while self.status.is_none() {
            // SAFETY: zero is a value of the structure, which the kernel fills.
            let mut info: libc::siginfo_t = unsafe { mem::zeroed() };
            // SAFETY: both pointers are to values that outlive the call.
            let signal = unsafe { libc::sigwaitinfo(all, &mut info) };
            match signal {
                ORPHANED => self.kill_all(),
                libc::SIGTERM => self.end_all(all),
                libc::SIGINT | libc::SIGQUIT if sender(&info) == self.parent => {
                    send(self.program, signal);
                }
                _ => {}
            }
            self.reap();
        }
        self.end_all(all)
    }

    /// Sends SIGTERM to all processes, SIGKILL a second later, and exits.
    fn end_all(&mut self, all: &libc::sigset_t) -> ! {
        each_child(|child| send(child, libc::SIGTERM));
        for _ in 0..PATIENCE {
            self.reap();
            // SAFETY: both pointers are to values that outlive the call.
            match unsafe { libc::sigtimedwait(all, ptr::null_mut(), &POLL) } {
                ORPHANED => self.kill_all(),
                // A process has ended: its children are the keeper's now.
                libc::SIGCHLD => each_child(|child| send(child, libc::SIGTERM)),
                _ => {}
            }
        }
        self.kill_all()
    }

    /// Kills all processes, and exits. The children of a killed process become the keeper's.
    fn kill_all(&mut self) -> ! {
        loop {
            send(self.program, libc::SIGKILL);
            each_child(|child| send(child, libc::SIGKILL));
            self.reap();
            // SAFETY: the pointer is to a constant, and null is allowed.
            unsafe { libc::nanosleep(&POLL, ptr::null_mut()) };
        }
    }

    /// Takes the status of ended children. Exits after the last one.
    fn reap(&mut self) {
        loop {
            let mut raw = 0;
            // SAFETY: the kernel writes one number.
            let child = unsafe { libc::waitpid(-1, &mut raw, libc::WNOHANG) };
            match child {
                0 => return,
                child if child < 0 => exit(self.status.unwrap_or(128 + libc::SIGKILL)),
                child if child == self.program => {
                    self.status = Some(status(raw));
                    // Its number may belong to another process soon.
                    self.program = 0;
                }
                _ => {}
            }
        }
    }
}

/// The exit status as a shell reports it.
fn status(raw: i32) -> i32 {
    if libc::WIFEXITED(raw) { libc::WEXITSTATUS(raw) } else { 128 + libc::WTERMSIG(raw) }
}

fn exit(status: i32) -> ! {
    // SAFETY: the call ends the process without destructors.
    unsafe { libc::_exit(status) }
}

/// The process that sent a signal; 0 for the kernel.
fn sender(info: &libc::siginfo_t) -> i32 {
    if info.si_code > 0 {
        return 0;
    }
    // SAFETY: a signal sent by a process has the field.
    unsafe { info.si_pid() }
}

/// Calls `act` for up to some hundred children of this process.
fn each_child(act: impl Fn(i32)) {
    let mut text = [0_u8; 4096];
    // SAFETY: the name ends with a zero, and the kernel writes at most the length of `text`.
    let length = unsafe {
        let file = libc::open(CHILDREN.as_ptr(), libc::O_RDONLY);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let mut number = 0;
    for byte in text.iter().take(length.max(0) as usize) {
        match byte {
            b'0'..=b'9' => number = number * 10 + i32::from(byte - b'0'),
            _ => {
                act(number);
                number = 0;
            }
        }
    }
}
