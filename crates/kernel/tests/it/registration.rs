//! Loading and unloading.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::thread;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt, socket,
    sockopt,
};
use sojourn_kernel::{Error, kernel_name, load, names, registered, unload};
use sojourn_units::Duration;
use sojourn_units::params::Value;

use crate::common::{alone, defaults, is_available, skip, try_load};

/// Bytes of a transfer over the loopback device.
const BYTES: usize = 1 << 20;

/// A connection with a controller of Sojourn.
fn connection(name: &str) -> (TcpStream, TcpStream) {
    connection_of(&kernel_name(name))
}

/// A connection with a controller, by the kernel's name, at both ends: some need ECN, which the
/// handshake negotiates.
fn connection_of(name: &str) -> (TcpStream, TcpStream) {
    connection_between([name, name])
}

/// A connection with these controllers at its sender and its receiver.
fn connection_between(names: [&str; 2]) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (kind, flags) = (SockType::Stream, SockFlag::SOCK_CLOEXEC);
    let sender = socket(AddressFamily::Inet, kind, flags, None).expect("a socket");
    for (end, name) in [sender.as_fd(), listener.as_fd()].iter().zip(names) {
        set_controller(end, name);
    }
    let to = SockaddrStorage::from(listener.local_addr().expect("an address"));
    connect(sender.as_raw_fd(), &to).expect("a peer");
    (sender.into(), listener.accept().expect("a connection").0)
}

fn set_controller(socket: &impl AsFd, name: &str) {
    setsockopt(socket, sockopt::TcpCongestion, &name.into()).expect("the controller");
}

/// Sends over a connection and checks that everything arrives.
fn transfer((mut sender, mut receiver): (TcpStream, TcpStream)) {
    let sending = thread::spawn(move || sender.write_all(&vec![7; BYTES]));
    let mut received = Vec::new();
    receiver.read_to_end(&mut received).expect("data");
    sending.join().expect("no panic").expect("sent");
    assert_eq!(received, vec![7; BYTES]);
}

#[test]
fn a_loaded_controller_carries_data_and_goes_when_it_is_dropped() {
    let _alone = alone();
    for name in names() {
        // An older kernel may lack what one of them needs.
        let Some(loaded) = try_load(name) else { continue };
        assert!(loaded.is_registered() && is_available(&kernel_name(name)));
        let pair = connection(name);
        let all = registered().expect("a list");
        assert!(all.iter().any(|one| one.name == name && one.sockets >= 1 && !one.is_pinned));
        transfer(pair);
        drop(loaded);
        assert!(!is_available(&kernel_name(name)));
        assert!(registered().expect("a list").iter().all(|one| one.name != name));
    }
}

/// The release of the running kernel, such as 6.18.44.
pub(crate) fn release() -> [u32; 3] {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let is_other = |one: char| !one.is_ascii_digit();
    let mut numbers = text.split(is_other).map_while(|number| number.parse().ok());
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

/// Whether a release has TCP_CONG_NEEDS_ACCECN (commit 100f946b8d44, which is in Linux 7.0). Stable
/// releases of 6.18 and 6.19 have it since February 2026; `None` for 6.19, whose first ones lack it.
fn has_accurate_ecn(release: [u32; 3]) -> Option<bool> {
    match release {
        [6, 18, patch] => Some(patch >= 14),
        [6, 19, _] => None,
        _ => Some(release >= [7, 0, 0]),
    }
}

/// A kernel that loads LoLa refuses Prague if it lacks the flag, and only then.
#[test]
fn prague_is_refused_by_kernels_without_accurate_ecn() {
    let _alone = alone();
    let Some(lola) = try_load("lola") else { return };
    drop(lola);
    let (has_flag, release) = (has_accurate_ecn(release()), release());
    match load("prague", &defaults("prague")) {
        Ok(_) => assert_ne!(has_flag, Some(false), "{release:?}"),
        Err(error) => {
            println!("{error}");
            assert_ne!(has_flag, Some(true), "{release:?}");
            assert!(error.to_string().contains("accurate ECN (TCP_CONG_NEEDS_ACCECN); use Linux"));
            assert!(matches!(error, Error::Kernel { .. }));
        }
    }
}

/// Marks would have no effect on a peer without ECN.
#[test]
fn a_controller_that_needs_ecn_leaves_connections_without_it_to_reno() {
    let _alone = alone();
    for name in ["dctcp", "prague"] {
        let Some(_loaded) = try_load(name) else { continue };
        let (sender, receiver) = connection_of("reno");
        set_controller(&sender, &kernel_name(name));
        let found = getsockopt(&sender, sockopt::TcpCongestion).expect("a controller");
        assert_eq!(found.to_str().map(|name| name.trim_end_matches('\0')), Some("reno"));
        let all = registered().expect("a list");
        assert!(all.iter().any(|one| one.name == name && one.sockets == 0));
        transfer((sender, receiver));
    }
}

/// The peer echoes each mark until the sender answers (RFC 3168), which Prague cannot count.
#[test]
fn prague_leaves_connections_with_classic_ecn_to_reno() {
    let _alone = alone();
    let Some(_loaded) = try_load("prague") else { return };
    let (sender, receiver) = connection_between([&kernel_name("prague"), "reno"]);
    let found = getsockopt(&sender, sockopt::TcpCongestion).expect("a controller");
    assert_eq!(found.to_str().map(|name| name.trim_end_matches('\0')), Some("reno"));
    transfer((sender, receiver));
}

/// The window of a socket in packets, as the kernel reports it.
fn window(socket: &TcpStream) -> u64 {
    let port = socket.local_addr().expect("an address").port();
    let all = fs::read_to_string("/proc/net/tcp").expect("sockets");
    let rows = all.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_wanted = |row: &Vec<&str>| row[1].ends_with(&format!(":{port:04X}")) && row[3] == "01";
    let row = rows.into_iter().find(is_wanted).expect("an established connection");
    row[row.len() - 2].parse().expect("a window")
}

/// The kernel has a call of its own for this since Linux 7.1.
#[test]
fn prague_restarts_after_an_idle_time() {
    const INITIAL_PACKETS: u64 = 10;
    let _alone = alone();
    let Some(_loaded) = try_load("prague") else { return };
    let (mut sender, receiver) = connection("prague");
    let mut send = |bytes: usize| {
        let mut receiver = receiver.try_clone().expect("a socket");
        let reading = thread::spawn(move || receiver.read_exact(&mut vec![0; bytes]));
        sender.write_all(&vec![7; bytes]).expect("sent");
        reading.join().expect("no panic").expect("received");
        window(&sender)
    };
    let grown = send(32 << 20);
    assert!(grown > 2 * INITIAL_PACKETS, "{grown} packets");
    // The retransmission timeout is at most 300 ms here: 200 ms, and a deviation.
    thread::sleep(std::time::Duration::from_secs(1));
    let restarted = send(1);
    assert!(restarted <= INITIAL_PACKETS + 1, "{restarted} after {grown} packets");
}

/// A program at the device's egress, which sees every packet of a device.
#[cfg(feature = "libbpf")]
#[test]
fn ect1_needs_a_device_of_the_namespace() {
    let program = match sojourn_kernel::Ect1::load() {
        Ok(program) => program,
        Err(error) => return skip(&error),
    };
    let attached = program.attach("lo").expect("every namespace has a loopback device");
    transfer(connection_of("reno"));
    drop(attached);
    assert!(matches!(program.attach("absent0"), Err(Error::Device { .. })));
}

#[test]
fn a_parameter_without_effect_is_refused() {
    let declared = sojourn_cc::find("prague").expect("a controller").info.params;
    let mut params = defaults("prague");
    let value = Value::Time(Duration::from_millis(1));
    params.set(declared, "max_burst_delay", value).expect("a value");
    match load("prague", &params).err().expect("no such parameter") {
        Error::NoEffect { parameter, .. } => assert_eq!(parameter, "max_burst_delay"),
        other => skip(&other),
    }
}

#[test]
fn parameters_reach_the_program() {
    let _alone = alone();
    let declared = sojourn_cc::find("lola").expect("a controller").info.params;
    let mut params = defaults("lola");
    params.set(declared, "q_target", Value::Time(Duration::from_millis(2))).expect("a value");
    let loaded = match load("lola", &params) {
        Ok(loaded) => loaded,
        Err(error) => return skip(&error),
    };
    let all = registered().expect("a list");
    let one = all.iter().find(|one| one.name == "lola").expect("registered");
    let values: Vec<_> = sojourn_kernel::values(declared, &one.words).collect();
    assert!(values.contains(&("q_target", Value::Time(Duration::from_millis(2)))));
    assert!(values.contains(&("q_low", Value::Time(Duration::from_millis(1)))));
    drop(loaded);
}

#[test]
fn a_name_is_taken_once() {
    let _alone = alone();
    let Some(loaded) = try_load("lola") else { return };
    let second = load("lola", &defaults("lola"));
    assert!(matches!(second, Err(Error::Taken { .. })));
    drop(loaded);
}

/// The sockets that use a controller keep it after a forced end.
#[test]
fn a_controller_in_use_is_unloaded_by_force_only() {
    let _alone = alone();
    let Some(loaded) = try_load("lola") else { return };
    let pair = connection("lola");
    assert!(matches!(unload("lola", false), Err(Error::InUse { sockets: 1.., .. })));
    assert!(is_available("sojourn_lola"));
    unload("lola", true).expect("unloaded");
    assert!(!is_available("sojourn_lola") && !loaded.is_registered());
    transfer(pair);
    assert!(matches!(unload("lola", false), Err(Error::NotLoaded(_))));
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    let error = load("reno", &defaults("reno")).err().expect("no program");
    assert!(error.to_string().contains("there is no controller `reno` for the kernel"));
    assert!(error.to_string().contains("lola"));
}
