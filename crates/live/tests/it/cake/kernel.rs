//! The kernel's CAKE in a network namespace, and packets made by hand that pass it.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout, SndBufForce};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto,
    setsockopt, socket,
};
use nix::sys::time::TimeVal;
use serde_json::Value;
use sojourn_live::Namespace;

use super::packet::Segment;

/// The device with the queue, as the printed commands name it.
const DEVICE: &str = "path0";
/// Bytes for all packets of a test.
const SOCKET_BUFFER: usize = 16 << 20;
/// Longest wait for a packet, in seconds.
const SILENCE: i64 = 3;

/// A veth pair between two namespaces, with a queue at its near end.
pub(crate) struct Kernel {
    near: Namespace,
    // Holds the far end.
    _far: Namespace,
    output: OwnedFd,
    input: OwnedFd,
}

impl Kernel {
    /// Sets up the devices; `None`, with a line that gives the reason, if this machine does not
    /// allow that or has no CAKE.
    pub(crate) fn set_up() -> Option<Kernel> {
        match Kernel::new() {
            Ok(kernel) => Some(kernel),
            Err(reason) => {
                eprintln!("not run here: {reason}");
                None
            }
        }
    }

    fn new() -> Result<Kernel, String> {
        let (near, far) = (namespace()?, namespace()?);
        let file = format!("/proc/{}/fd/{}", std::process::id(), far.as_fd().as_raw_fd());
        let gateway = "10.54.255.254";
        run(&near, &format!("ip link add {DEVICE} type veth peer name path1 netns {file}"))?;
        run(&near, &format!("ip address add 10.53.0.1/32 dev {DEVICE}"))?;
        run(&near, &format!("ip link set {DEVICE} up"))?;
        run(&far, "ip link set path1 address 02:00:00:00:53:02 up")?;
        run(&far, "ip route add local 10.54.0.0/16 dev lo")?;
        let ethernet = "lladdr 02:00:00:00:53:02 nud permanent";
        run(&near, &format!("ip neighbour add {gateway} dev {DEVICE} {ethernet}"))?;
        run(&near, &format!("ip route add 10.54.0.0/16 via {gateway} dev {DEVICE} onlink"))?;
        let output = raw_socket(&near, SockProtocol::Raw)?;
        let input = raw_socket(&far, SockProtocol::Tcp)?;
        let kernel = Kernel { near, _far: far, output, input };
        kernel.tc(&format!("qdisc add dev {DEVICE} root cake"))?;
        kernel.tc(&format!("qdisc delete dev {DEVICE} root"))?;
        Ok(kernel)
    }

    /// Executes a command of `tc`.
    fn tc(&self, arguments: &str) -> Result<String, String> {
        run(&self.near, &format!("tc {arguments}"))
    }

    /// Replaces the device's queues, by the commands that Sojourn prints.
    pub(crate) fn replace(&self, commands: &[String]) {
        self.empty();
        let lines = commands.join("\n");
        let done = batch(&self.near, &lines);
        assert!(done.is_ok(), "{lines}: {done:?}");
    }

    /// The settings and counters of CAKE, as `tc -s -j` prints them.
    pub(crate) fn state(&self) -> Value {
        let text = self.tc(&format!("-s -j qdisc show dev {DEVICE}")).expect("the device exists");
        let all: Vec<Value> = serde_json::from_str(&text).expect("tc prints JSON");
        all.into_iter().find(|one| one["kind"] == "cake").expect("CAKE is there")
    }

    /// Sends packets, one after the other.
    pub(crate) fn send(&self, segments: &[Segment]) {
        for segment in segments {
            let to = SockaddrIn::new(10, 54, segment.hosts.1, 1, 0);
            let bytes = segment.bytes();
            let sent = sendto(self.output.as_raw_fd(), &bytes, &to, MsgFlags::empty());
            assert_eq!(sent, Ok(bytes.len()), "{segment:?}");
        }
    }

    /// The identifiers of up to `most` packets, in the order of arrival.
    pub(crate) fn arrivals(&self, most: usize) -> Vec<u16> {
        let mut buffer = [0; 2048];
        let one = || match recv(self.input.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(length) if length >= 20 => Some(u16::from_be_bytes([buffer[4], buffer[5]])),
            _ => None,
        };
        std::iter::from_fn(one).take(most).collect()
    }

    /// Removes the queues with the packets inside, and the packets that have arrived.
    pub(crate) fn empty(&self) {
        // The device has no queue before the first test.
        let _ = self.tc(&format!("qdisc delete dev {DEVICE} root"));
        let mut buffer = [0; 2048];
        while recv(self.input.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT).is_ok() {}
    }
}

/// A namespace whose devices send no packets of their own.
fn namespace() -> Result<Namespace, String> {
    let namespace = Namespace::new().map_err(|error| error.to_string())?;
    // A kernel without IPv6 has no such setting.
    let _ = namespace.set_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
    for scope in ["all", "default"] {
        let path = format!("net/ipv4/conf/{scope}/rp_filter");
        namespace.set_sysctl(&path, "0").map_err(|error| error.to_string())?;
    }
    Ok(namespace)
}

/// A raw socket that takes whole packets of IPv4 (raw(7)).
fn raw_socket(at: &Namespace, protocol: SockProtocol) -> Result<OwnedFd, String> {
    let open = || -> io::Result<OwnedFd> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let one = socket(AddressFamily::Inet, SockType::Raw, flags, protocol)?;
        setsockopt(&one, SndBufForce, &SOCKET_BUFFER)?;
        setsockopt(&one, RcvBufForce, &SOCKET_BUFFER)?;
        setsockopt(&one, ReceiveTimeout, &TimeVal::new(SILENCE, 0))?;
        Ok(one)
    };
    let opened = at.enter(open).map_err(|error| error.to_string())?;
    opened.map_err(|error| format!("raw socket: {error}"))
}

/// Executes lines of commands of `tc` inside a namespace, in one process: starting programs takes long
/// on an emulated machine.
fn batch(at: &Namespace, lines: &str) -> Result<(), String> {
    let mut command = Command::new("tc");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = at
        .enter(|| command.spawn())
        .map_err(|error| error.to_string())?
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(lines.as_bytes()).map_err(|error| error.to_string())?;
    }
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
}

/// Runs a program inside a namespace. Returns its output, or the reason of its failure.
fn run(at: &Namespace, line: &str) -> Result<String, String> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    let done = at.enter(|| command.output()).map_err(|error| error.to_string())?;
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{line}: no such program"),
        _ => format!("{line}: {error}"),
    })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(format!("{line}: {}", String::from_utf8_lossy(&done.stderr).trim()))
}
