//! TCP options: timestamps, selective acknowledgements, and those of a SYN.

use super::bytes::Order;

/// The timestamps option (RFC 7323 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// TSval: the sender's clock, in its own ticks.
    pub value: u32,
    /// TSecr: the echoed TSval; valid only if ACK is set.
    pub echo: u32,
}

/// Maximum number of blocks: 40 bytes of options have room for no more (RFC 2018 section 3).
const BLOCKS: usize = 4;

/// The blocks of the SACK option (RFC 2018 section 3), in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [(u32, u32); BLOCKS],
    len: usize,
}

impl Sack {
    /// No option.
    pub const NONE: Sack = Sack { blocks: [(0, 0); BLOCKS], len: 0 };

    /// First sequence number of each block, and that after its last.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.len]
    }

    /// The option with up to four blocks; further ones have no room.
    pub fn of(blocks: impl IntoIterator<Item = (u32, u32)>) -> Sack {
        let mut sack = Sack::default();
        for (place, block) in sack.blocks.iter_mut().zip(blocks) {
            *place = block;
            sack.len += 1;
        }
        sack
    }

    fn read(value: &[u8]) -> Sack {
        let mut sack = Sack::default();
        for (block, bytes) in sack.blocks.iter_mut().zip(value.chunks_exact(8)) {
            *block = (Order::Big.u32(bytes, 0), Order::Big.u32(bytes, 4));
            sack.len += 1;
        }
        sack
    }
}

/// The options that this crate reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Read {
    pub(super) stamps: Option<Stamps>,
    pub(super) sack: Sack,
    /// Maximum segment size (RFC 9293 section 3.7.1), in bytes.
    pub(super) mss: Option<u16>,
    /// Window scale (RFC 7323 section 2.2).
    pub(super) window_scale: Option<u8>,
}

/// The options of a segment (RFC 9293 section 3.2). An option is kind, length, value; kinds 0 and
/// 1 are a single byte. The search ends at an invalid length.
#[inline]
pub(super) fn read(mut options: &[u8]) -> Read {
    let mut read = Read::default();
    loop {
        let (kind, len) = match *options {
            [1, ref rest @ ..] => {
                options = rest;
                continue;
            }
            [kind, len, ..] if kind != 0 && len >= 2 => (kind, usize::from(len)),
            _ => break,
        };
        let Some(value) = options.get(2..len) else { break };
        match (kind, value.len()) {
            (8, 8) if read.stamps.is_none() => {
                let [value, echo] = [0, 4].map(|at| Order::Big.u32(value, at));
                read.stamps = Some(Stamps { value, echo });
            }
            (5, _) => read.sack = Sack::read(value),
            (2, 2) => read.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => read.window_scale = Some(value[0]),
            _ => {}
        }
        options = &options[len..];
    }
    read
}
