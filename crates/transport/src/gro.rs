//! Receive offload: packets that come close together are handed up together
//! (Linux 6.12, `net/core/gro.c`).

use sojourn_units::{Duration, Instant};

use crate::config::{Config, Profile};
use crate::wire::Data;

/// `GRO_LEGACY_MAX_SIZE`, here in bytes of payload.
const GREATEST: u64 = 65_536;

/// What the receiving host holds back.
#[derive(Debug)]
pub(crate) struct Gro {
    profile: Profile,
    mss: u64,
    /// How long the first packet of a batch waits at most.
    span: Duration,
    held: Vec<Data>,
    bytes: u64,
    due: Instant,
}

impl Gro {
    /// None where nothing is to be held back.
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

    /// When what is held must be handed up; [`Instant::MAX`] where nothing is.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Whether `data` may join what is held. Another ECN field ends a batch
    /// (`inet_gro_receive`: the TOS octets differ), and so does CWR. TCP's must be
    /// the next in sequence (`tcp_gro_receive`), so that a hole ends it; UDP's
    /// have no sequence (`udp_gro_receive_segment`).
    pub(crate) fn takes(&self, data: &Data) -> bool {
        let Some(last) = self.held.last() else { return true };
        let follows = self.profile == Profile::Quic || data.segment == last.segment + 1;
        follows && data.ecn == last.ecn && !data.cwr
    }

    /// Holds `data`; returns whether the batch is complete: full, or ended by a
    /// packet that is not.
    pub(crate) fn hold(&mut self, now: Instant, data: &Data) -> bool {
        if self.held.is_empty() {
            self.due = now + self.span;
        }
        self.held.push(*data);
        self.bytes += u64::from(data.len);
        u64::from(data.len) < self.mss || self.bytes + self.mss > GREATEST
    }

    /// Packets held.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// All that is held.
    pub(crate) fn take(&mut self) -> Vec<Data> {
        (self.bytes, self.due) = (0, Instant::MAX);
        std::mem::take(&mut self.held)
    }

    /// Gives the memory of what was taken back.
    pub(crate) fn give_back(&mut self, mut memory: Vec<Data>) {
        memory.clear();
        self.held = memory;
    }
}
