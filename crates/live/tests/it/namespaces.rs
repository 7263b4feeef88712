//! Namespaces do not leak into each other or outside.

use std::fs;
use std::os::unix::fs::MetadataExt;

use sojourn_live::{Error, Namespace};

use crate::common::leave_out;

fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(error) => leave_out(&error),
    }
}

fn inode() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").expect("the thread has a namespace").ino()
}

#[test]
fn a_namespace_has_its_own_network() {
    let outside = inode();
    let Some(namespace) = namespace() else { return };
    let inside = namespace.enter(inode).expect("it can be entered");
    assert_ne!(inside, outside);
    assert_eq!(inode(), outside, "the caller stays outside");
    let read = || fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").expect("it can be read");
    let before = read();
    namespace.set_sysctl("net/ipv4/tcp_ecn", "0").expect("the kernel has ECN");
    assert_eq!(namespace.enter(read).expect("it can be entered"), "0\n");
    assert_eq!(read(), before);
}

#[test]
fn a_refused_setting_is_named() {
    let Some(namespace) = namespace() else { return };
    let error = namespace.set_sysctl("net/ipv4/tcp_nonsense", "1").expect_err("it is unknown");
    assert!(matches!(error, Error::Network { .. }));
    assert!(error.to_string().contains("net.ipv4.tcp_nonsense"), "{error}");
}
