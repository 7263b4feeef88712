//! The pcapng capture file format (draft-ietf-opsawg-pcapng-05; section numbers refer to
//! it).

use super::EPOCH_NS;
use super::packet::{Captured, GREATEST};

/// Direction of a packet at the capturing host (section 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Received by the host.
    Inbound = 1,
    /// Sent by the host.
    Outbound = 2,
}

/// A capturing host, by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface(u32);

/// A capture file being written. Call [`PcapNg::take`] from time to time to take the bytes
/// written so far.
#[derive(Debug, Default)]
pub struct PcapNg {
    out: Vec<u8>,
    interfaces: u32,
    /// Time 0 in nanoseconds since 1970.
    epoch_ns: u64,
}

/// Block types (section 4).
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const DECRYPTION_SECRETS: u32 = 10;
const ENHANCED_PACKET: u32 = 6;

/// Marks the byte order (section 4.1).
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// Version 1.0, and a section of unknown length.
const VERSION: [u16; 2] = [1, 0];
const UNKNOWN_LENGTH: u64 = u64::MAX;

/// `LINKTYPE_RAW`: packets begin with their IP header.
const LINKTYPE_RAW: u16 = 101;

/// Secrets of the type "TLS Key Log" (section 4.7).
const TLS_KEY_LOG: u32 = 0x544C_534B;

/// Options: of every block (section 3.5), of the section (4.1), of an interface (4.2), of a packet
/// (4.3) and of an interface's statistics (4.6).
const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;

/// Timestamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

impl PcapNg {
    /// Starts a file with the writing application and a comment.
    pub fn new(application: &str, comment: &str) -> PcapNg {
        let mut file = PcapNg { epoch_ns: EPOCH_NS, ..PcapNg::default() };
        file.block(SECTION_HEADER, |out| {
            out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
            VERSION.iter().for_each(|part| out.extend(part.to_le_bytes()));
            out.extend(UNKNOWN_LENGTH.to_le_bytes());
            option(out, OPT_COMMENT, comment.as_bytes());
            option(out, SHB_USERAPPL, application.as_bytes());
            option(out, OPT_END, &[]);
        });
        file
    }

    /// Sets the time 0 in nanoseconds since 1970; [`EPOCH_NS`] without it.
    pub fn since(self, epoch_ns: u64) -> PcapNg {
        PcapNg { epoch_ns, ..self }
    }

    /// Adds a host; call this before adding its packets.
    pub fn interface(&mut self, name: &str, description: &str) -> Interface {
        self.interface_cut_to(GREATEST, name, description)
    }

    /// Adds a host of whose packets at most `snap` bytes are kept.
    pub fn interface_cut_to(&mut self, snap: usize, name: &str, description: &str) -> Interface {
        self.block(INTERFACE_DESCRIPTION, |out| {
            out.extend(LINKTYPE_RAW.to_le_bytes());
            out.extend([0, 0]);
            out.extend((snap as u32).to_le_bytes());
            option(out, IF_NAME, name.as_bytes());
            option(out, IF_DESCRIPTION, description.as_bytes());
            option(out, IF_TSRESOL, &[NANOSECONDS]);
            option(out, OPT_END, &[]);
        });
        self.interfaces += 1;
        Interface(self.interfaces - 1)
    }

    /// Adds a packet that passed a host `at_ns` nanoseconds after the start of the run.
    pub fn packet(
        &mut self,
        interface: Interface,
        at_ns: u64,
        direction: Direction,
        packet: &Captured,
    ) {
        self.cut_packet(interface, at_ns, direction, packet.bytes(), packet.wire_size());
    }

    /// Adds a packet of `size` bytes, of which `bytes` are kept.
    pub fn cut_packet(
        &mut self,
        interface: Interface,
        at_ns: u64,
        direction: Direction,
        bytes: &[u8],
        size: u32,
    ) {
        let at = self.epoch_ns + at_ns;
        self.block(ENHANCED_PACKET, |out| {
            out.extend(interface.0.to_le_bytes());
            time(out, at);
            out.extend((bytes.len() as u32).to_le_bytes());
            out.extend(size.to_le_bytes());
            out.extend(bytes);
            pad(out);
            option(out, EPB_FLAGS, &(direction as u32).to_le_bytes());
            option(out, OPT_END, &[]);
        });
    }

    /// Adds the counts of a host, `at_ns` nanoseconds after the start of the run: packets that
    /// passed it, and those of them that the file lacks.
    pub fn statistics(&mut self, interface: Interface, at_ns: u64, passed: u64, missed: u64) {
        let at = self.epoch_ns + at_ns;
        self.block(INTERFACE_STATISTICS, |out| {
            out.extend(interface.0.to_le_bytes());
            time(out, at);
            option(out, ISB_IFRECV, &passed.to_le_bytes());
            option(out, ISB_IFDROP, &missed.to_le_bytes());
            option(out, OPT_END, &[]);
        });
    }

    /// Adds lines of a TLS key log (RFC 9850). Readers decrypt only packets behind them.
    pub fn tls_secrets(&mut self, lines: &str) {
        self.block(DECRYPTION_SECRETS, |out| {
            out.extend(TLS_KEY_LOG.to_le_bytes());
            out.extend((lines.len() as u32).to_le_bytes());
            out.extend(lines.as_bytes());
            pad(out);
        });
    }

    /// Bytes written but not taken yet.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether all bytes have been taken.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Passes the bytes written so far to `sink` and discards them.
    pub fn take<T>(&mut self, sink: impl FnOnce(&[u8]) -> T) -> T {
        let done = sink(&self.out);
        self.out.clear();
        done
    }

    /// Writes a block: its type, and its length before and after its body (section 3.1).
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend(kind.to_le_bytes());
        self.out.extend([0; 4]);
        body(&mut self.out);
        let length = (self.out.len() - start + 4) as u32;
        self.out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
        self.out.extend(length.to_le_bytes());
    }
}

/// Writes a time, in nanoseconds since 1970 (section 4.3).
fn time(out: &mut Vec<u8>, at: u64) {
    out.extend(((at >> 32) as u32).to_le_bytes());
    out.extend((at as u32).to_le_bytes());
}

/// Writes an option: its code, its length, its value (section 3.5). Values beyond the
/// maximum length are cut.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out);
}

/// Pads to a multiple of four bytes. Padding may use the length of the whole buffer,
/// because every block starts at such a multiple and bytes are taken only between blocks.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}
