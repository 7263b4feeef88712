//! The successor: draft-ietf-opsawg-pcapng.

use std::io::Read;

use super::bytes::Order;
use super::fault::{Fault, ReadError};
use super::resolution::Resolution;
use super::source::Source;
use super::{Found, MAX_PACKET};

/// Section 4.1. The same in both byte orders, so that a reader recognises it before it
/// knows the order.
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
/// Section 4.2.
const INTERFACE: u32 = 1;
/// Appendix A: obsolete, but still present in old files.
const OLD_PACKET: u32 = 2;
/// Section 4.4.
const SIMPLE_PACKET: u32 = 3;
/// Section 4.3.
const ENHANCED_PACKET: u32 = 6;

/// Type, length, and the repeated length at the end.
const FRAME: u32 = 12;
/// Maximum length of a buffered block: a packet, its options and its headers.
const MAX_BLOCK: usize = MAX_PACKET + (1 << 16);
/// Maximum number of interfaces, which bounds memory. A capture of all interfaces of a
/// large machine has hundreds.
const MAX_INTERFACES: usize = 1 << 16;

const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;

/// Section 4.2: the content of an Interface Description Block.
struct Interface {
    link: u16,
    /// Maximum captured length; 0 for no limit.
    snap_len: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// The block being read.
#[derive(Clone, Copy)]
struct Block {
    kind: u32,
    len: u32,
}

/// State of reading a pcapng capture.
pub(super) struct Pcapng {
    /// Byte order of the section.
    order: Order,
    /// Interfaces of the section, by number.
    interfaces: Vec<Interface>,
}

impl Pcapng {
    pub(super) fn new() -> Pcapng {
        Pcapng { order: Order::Little, interfaces: Vec::new() }
    }

    /// The next packet, which the caller consumes. This function consumes other blocks.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
    ) -> Result<Option<Found>, ReadError> {
        loop {
            if source.peek(FRAME as usize)?.is_empty() {
                return Ok(None);
            }
            let block = self.block(source)?;
            match block.kind {
                SECTION_HEADER => self.section(source, block)?,
                INTERFACE => self.interface(source, block)?,
                ENHANCED_PACKET | OLD_PACKET => return self.timed(source, block).map(Some),
                SIMPLE_PACKET => return self.simple(source, block).map(Some),
                _ => self.pass_over(source, block)?,
            }
        }
    }

    /// Reads the type and length of the next block.
    fn block<R: Read>(&mut self, source: &mut Source<R>) -> Result<Block, ReadError> {
        let header = source.need(FRAME as usize, "a block")?;
        let kind = self.order.u32(header, 0);
        if kind == SECTION_HEADER {
            let magic = Order::Big.u32(header, 8);
            self.order = match magic {
                0x1a2b_3c4d => Order::Big,
                0x4d3c_2b1a => Order::Little,
                _ => return Err(source.fault(Fault::ByteOrder { magic })),
            };
        }
        let len = self.order.u32(source.held(), 4);
        let least = FRAME + fixed_part(kind);
        // Section 3.1: "MUST be a multiple of 4". With a length below its own frame, the
        // reader would never advance.
        if len < least || !len.is_multiple_of(4) {
            return Err(source.fault(Fault::BlockLength { kind, len, least }));
        }
        Ok(Block { kind, len })
    }

    /// The whole block, after a check that its two lengths agree.
    #[inline]
    fn whole<'a, R: Read>(
        &self,
        source: &'a mut Source<R>,
        block: Block,
    ) -> Result<&'a [u8], ReadError> {
        let Block { kind, len } = block;
        if len as usize > MAX_BLOCK {
            return Err(source.fault(Fault::BlockTooLong { kind, len, most: MAX_BLOCK }));
        }
        let bytes = source.need(len as usize, "a block")?;
        let last = self.order.u32(bytes, len as usize - 4);
        if last != len {
            return Err(source.fault(Fault::BlockEnd { kind, first: len, last }));
        }
        Ok(&source.held()[..len as usize])
    }

    /// Starts a section, which has its own interfaces.
    fn section<R: Read>(&mut self, source: &mut Source<R>, block: Block) -> Result<(), ReadError> {
        let bytes = self.whole(source, block)?;
        let [major, minor] = [self.order.u16(bytes, 12), self.order.u16(bytes, 14)];
        if major != 1 {
            let fault = Fault::Version { what: "a pcapng section", major, minor, known: "1.x" };
            return Err(source.fault(fault));
        }
        self.interfaces.clear();
        source.consume(block.len as usize);
        Ok(())
    }

    fn interface<R: Read>(
        &mut self,
        source: &mut Source<R>,
        block: Block,
    ) -> Result<(), ReadError> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(source.fault(Fault::Interfaces { most: MAX_INTERFACES }));
        }
        let bytes = self.whole(source, block)?;
        let mut interface = Interface {
            link: self.order.u16(bytes, 8),
            snap_len: self.order.u32(bytes, 12),
            resolution: Resolution::MICRO,
            offset_s: 0,
        };
        for (code, value) in options(self.order, &bytes[16..bytes.len() - 4]) {
            match (code, value.len()) {
                (IF_TSRESOL, 1) => interface.resolution = Resolution::of_option(value[0]),
                (IF_TSOFFSET, 8) => interface.offset_s = self.order.u64(value, 0) as i64,
                _ => {}
            }
        }
        self.interfaces.push(interface);
        source.consume(block.len as usize);
        Ok(())
    }

    /// An Enhanced Packet Block, or the obsolete Packet Block, which differs in its first
    /// word only: 16 bits of interface and 16 of a drop count.
    #[inline]
    fn timed<R: Read>(&self, source: &mut Source<R>, block: Block) -> Result<Found, ReadError> {
        let bytes = self.whole(source, block)?;
        let [word, high, low, len, original_len] =
            [8, 12, 16, 20, 24].map(|at| self.order.u32(bytes, at));
        let id = match block.kind {
            OLD_PACKET => self.order.u16(bytes, 8).into(),
            _ => word,
        };
        let interface = self.of(source, id)?;
        let ticks = u64::from(high) << 32 | u64::from(low);
        let nanos = interface.resolution.nanos(ticks) + i128::from(interface.offset_s) * SECOND;
        let at_ns = i64::try_from(nanos).map_err(|_| source.fault(Fault::Time))?;
        let found = Found {
            at_ns: Some(at_ns),
            link: interface.link,
            original_len,
            data_at: 28,
            data_len: len as usize,
            total_len: block.len as usize,
        };
        fits(source, found, len)
    }

    /// A Simple Packet Block: of the first interface, cut at its snap length, without a
    /// time.
    fn simple<R: Read>(&self, source: &mut Source<R>, block: Block) -> Result<Found, ReadError> {
        let bytes = self.whole(source, block)?;
        let original_len = self.order.u32(bytes, 8);
        let interface = self.of(source, 0)?;
        let snap_len = if interface.snap_len == 0 { u32::MAX } else { interface.snap_len };
        let len = original_len.min(snap_len);
        let found = Found {
            at_ns: None,
            link: interface.link,
            original_len,
            data_at: 12,
            data_len: len as usize,
            total_len: block.len as usize,
        };
        fits(source, found, len)
    }

    #[inline]
    fn of<R: Read>(&self, source: &Source<R>, id: u32) -> Result<&Interface, ReadError> {
        let described = self.interfaces.len();
        let interface = self.interfaces.get(id as usize);
        interface.ok_or_else(|| source.fault(Fault::Interface { id, described }))
    }

    /// Skips any other block, of any length, without buffering it.
    fn pass_over<R: Read>(&self, source: &mut Source<R>, block: Block) -> Result<(), ReadError> {
        let Block { kind, len } = block;
        let begin = source.offset();
        let at_begin = |fault| super::Malformed { offset: begin, fault }.into();
        let skipped = source.skip(u64::from(len) - 4)?;
        let there = skipped + source.peek(4)?.len().min(4) as u64;
        if there < len.into() {
            return Err(at_begin(Fault::Truncated { what: "a block", needed: len.into(), there }));
        }
        let last = self.order.u32(source.held(), 0);
        if last != len {
            return Err(at_begin(Fault::BlockEnd { kind, first: len, last }));
        }
        source.consume(4);
        Ok(())
    }
}

const SECOND: i128 = 1_000_000_000;

/// Fixed length of a block type in bytes, without its frame.
fn fixed_part(kind: u32) -> u32 {
    match kind {
        SECTION_HEADER => 16,
        INTERFACE => 8,
        ENHANCED_PACKET | OLD_PACKET => 20,
        SIMPLE_PACKET => 4,
        _ => 0,
    }
}

/// Returns an error if a packet extends beyond its block.
#[inline]
fn fits<R: Read>(source: &Source<R>, found: Found, len: u32) -> Result<Found, ReadError> {
    let room = found.total_len - 4 - found.data_at;
    if found.data_len > room {
        return Err(source.fault(Fault::PacketInBlock { len, room }));
    }
    Ok(found)
}

/// Section 3.5: codes with their values. Ends at the first invalid option, since the
/// packets do not depend on those after it.
fn options(order: Order, bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.len() < 4 {
            return None;
        }
        let [code, len] = [order.u16(rest, 0), order.u16(rest, 2)];
        let value = rest.get(4..4 + usize::from(len))?;
        rest = rest.get(4 + usize::from(len).next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}
