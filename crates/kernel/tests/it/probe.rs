//! The rows of the tracepoint `tcp_probe`.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use sojourn_kernel::{AckRow, Probe};

use crate::common::skip;

const BYTES: usize = 1 << 20;

/// The last octet of the sender's address, which no other program on this machine has.
const OCTET: u8 = 77;

/// Sends over the loopback interface; returns when everything has been acknowledged. The listener
/// sends, since only its address is chosen.
fn transfer() {
    let listener = TcpListener::bind((Ipv4Addr::new(127, 0, 0, OCTET), 0)).expect("a port");
    let mut receiver =
        TcpStream::connect(listener.local_addr().expect("an address")).expect("open");
    let (mut sender, _) = listener.accept().expect("open");
    let receiving = thread::spawn(move || {
        let mut received = vec![0; BYTES];
        receiver.read_exact(&mut received).expect("data");
        receiver.write_all(&[1]).expect("an answer");
        receiver
    });
    sender.write_all(&vec![7; BYTES]).expect("room");
    sender.read_exact(&mut [0]).expect("an answer");
    receiving.join().expect("no panic");
}

/// The rows of this transfer and of others, in a namespace of this number.
fn rows(namespace: u32) -> Option<Vec<AckRow>> {
    let probe = match Probe::attach(namespace) {
        Ok(probe) => probe,
        Err(error) => {
            skip(&error);
            return None;
        }
    };
    let mut rows = Vec::new();
    transfer();
    // The buffer ends at a row that a program on the other processor has not finished yet, so it is
    // read until some time after the last row of this transfer.
    let mut reads = 0..20;
    let mut wait = || {
        thread::sleep(Duration::from_millis(5));
        reads.next().is_some()
    };
    probe.follow(|row| rows.push(row), &mut wait).expect("the buffer");
    assert_eq!(probe.missed().expect("a count"), 0);
    Some(rows)
}

#[test]
fn every_byte_that_is_acknowledged_has_a_row() {
    let own = fs::metadata("/proc/thread-self/ns/net").expect("a namespace").ino() as u32;
    let Some(rows) = rows(own) else { return };
    let is_own = |row: &&AckRow| row.address == u16::from(OCTET) && row.acked > 0;
    let acks: Vec<_> = rows.iter().filter(is_own).collect();
    let acked: u64 = acks.iter().map(|row| u64::from(row.acked)).sum();
    println!("{} rows, {acked} bytes acknowledged", acks.len());
    assert_eq!(acked, BYTES as u64);
    assert!(acks.iter().all(|row| row.cwnd > 0 && row.mss > 0 && row.in_flight > 0));
    assert!(rows.is_sorted_by_key(|row| row.at_ns) || rows.len() > acks.len());
    assert!(self::rows(1).is_some_and(|rows| rows.is_empty()), "no namespace has the number 1");
}
