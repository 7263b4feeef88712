//! Rows for the packets that arrive at TCP sockets, from the tracepoint `tcp_probe`.

use std::io;

use libbpf_rs::{
    ErrorKind, Link, MapCore as _, MapFlags, Object, ObjectBuilder, RingBufferBuilder,
};

use super::{log, query};
use crate::objects::PROBE;
use crate::preconditions::require_privilege;
use crate::{AckRow, Error};

const PROGRAM: &str = "sojourn_tcp_probe";
const NAMESPACE: &str = ".rodata.probe";
const MISSED: &str = ".bss.probe";
const ROWS: &str = "rows";
/// Bytes of a `struct row` in bpf/tcp_probe.bpf.c.
const ROW: usize = 64;

/// The program at the tracepoint, for the sockets of one network namespace. Dropped, or at the end
/// of its process, it has no effect any more.
pub struct Probe {
    object: Object,
    _link: Link,
}

impl Probe {
    /// Attaches the program. `namespace` is the number of the network namespace: the inode of its
    /// file in `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// Without privilege, or if the kernel lacks the tracepoint.
    pub fn attach(namespace: u32) -> Result<Probe, Error> {
        require_privilege()?;
        log::start();
        let attach = || {
            let mut open = ObjectBuilder::default().open_memory(PROBE)?;
            for mut map in open.maps_mut().filter(|map| map.name() == NAMESPACE) {
                map.set_initial_value(&namespace.to_ne_bytes())?;
            }
            let object = open.load()?;
            let program = object.progs_mut().find(|one| one.name() == PROGRAM);
            let _link = program.expect("the object has the program").attach()?;
            Ok(Probe { object, _link })
        };
        attach().map_err(|error: libbpf_rs::Error| match error.kind() {
            ErrorKind::PermissionDenied => Error::NotRoot,
            _ => Error::Probe { reason: log::reason().unwrap_or_else(|| error.to_string()) },
        })
    }

    /// Passes rows to `take`, those since the last time after each call of `wait`, until it returns
    /// false.
    ///
    /// # Errors
    /// If the kernel refuses the buffer.
    pub fn follow(
        &self,
        mut take: impl FnMut(AckRow),
        mut wait: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        const STEP: &str = "read the rows of acknowledgements";
        let map = self.object.maps().find(|map| map.name() == ROWS);
        let map = map.expect("the object has the buffer");
        let mut builder = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            bytes.first_chunk().map(parse).into_iter().for_each(&mut take);
            0
        };
        builder.add(&map, take).map_err(query(STEP))?;
        let rows = builder.build().map_err(query(STEP))?;
        loop {
            let goes_on = wait();
            rows.consume().map_err(query(STEP))?;
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Number of rows for which the buffer had no room.
    ///
    /// # Errors
    /// If the kernel refuses to read the count.
    pub fn missed(&self) -> Result<u64, Error> {
        const STEP: &str = "count the rows of acknowledgements";
        let map = self.object.maps().find(|map| map.name() == MISSED);
        let map = map.expect("the object has the count");
        let value = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).map_err(query(STEP))?;
        let count = value.and_then(|bytes| bytes.first_chunk().copied()).map(u64::from_ne_bytes);
        count.ok_or(Error::Query { step: STEP, error: io::ErrorKind::InvalidData.into() })
    }
}

fn parse(bytes: &[u8; ROW]) -> AckRow {
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    AckRow {
        at_ns: long(0),
        pacing_rate: long(8),
        address: word(16) as u16,
        mss: word(20),
        cwnd: word(24),
        ssthresh: word(28),
        srtt_us: word(32),
        in_flight: word(36),
        acked: word(40),
        lost: word(44),
        retransmitted: word(48),
        delivered: word(52),
        delivered_ce: word(56),
    }
}
