//! Receive offload: the host delivers closely spaced packets together (Linux 6.12,
//! `net/core/gro.c`).
//!
//! Deviation (Linux `net/core/gro.c`): each connection has its own coalescing delay, from the first
//! packet of a batch, and two batches delivered at the same moment have one acknowledgement. Real
//! interrupts serve all flows of a queue, and come sooner if the host polls.

use sojourn_units::{Duration, Instant};

use crate::config::{Config, Profile};
use crate::wire::Data;

/// `GRO_LEGACY_MAX_SIZE`, here in bytes of payload.
const GREATEST: u64 = 65_536;

/// The batch that the receiving host holds back.
#[derive(Debug)]
pub(crate) struct Gro {
    profile: Profile,
    mss: u64,
    /// Longest wait of a batch's first packet.
    span: Duration,
    held: Vec<Data>,
    bytes: u64,
    due: Instant,
}

impl Gro {
    /// `None` if receive offload is off.
    pub(crate) fn new(config: &Config) -> Option<Gro> {
        (config.gro > Duration::ZERO).then(|| Gro {
            profile: config.profile,
            mss: config.mss.0,
            span: config.gro,
            held: Vec::new(),
            bytes: 0,
            due: Instant::MAX,
        })
    }

    /// Deadline of the batch; [`Instant::MAX`] if it is empty.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Whether `data` may join the batch. A different ECN field ends a batch (`inet_gro_receive`:
    /// the TOS octets differ), and so does CWR. A TCP segment must be the next in sequence
    /// (`tcp_gro_receive`), so a gap ends the batch. UDP has no sequence
    /// (`udp_gro_receive_segment`).
    pub(crate) fn takes(&self, data: &Data) -> bool {
        let Some(last) = self.held.last() else { return true };
        let follows = self.profile == Profile::Quic || data.segment == last.segment + 1;
        follows && data.ecn == last.ecn && !data.cwr
    }

    /// Adds `data`. Returns whether the batch is complete: full, or ended by a packet that is not
    /// full.
    ///
    /// Deviation (Linux `tcp_gro_receive`): PSH does not end a batch.
    pub(crate) fn hold(&mut self, now: Instant, data: &Data) -> bool {
        if self.held.is_empty() {
            self.due = now + self.span;
        }
        self.held.push(*data);
        self.bytes += u64::from(data.len);
        u64::from(data.len) < self.mss || self.bytes + self.mss > GREATEST
    }

    /// Packets in the batch.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes the batch.
    pub(crate) fn take(&mut self) -> Vec<Data> {
        (self.bytes, self.due) = (0, Instant::MAX);
        std::mem::take(&mut self.held)
    }

    /// Returns the batch's memory for reuse.
    pub(crate) fn give_back(&mut self, mut memory: Vec<Data>) {
        memory.clear();
        self.held = memory;
    }
}
