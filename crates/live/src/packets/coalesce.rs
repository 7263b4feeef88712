//! Joins neighbouring packets of one flow into a super-packet, as GRO does (Linux,
//! `net/ipv4/tcp_offload.c`, `tcp_gro_receive`), with the ECN field and all flags equal. Marked
//! packets of TCP are not joined.

use sojourn_units::{Ecn, Instant};

use crate::packets::checksum;
use crate::packets::offload::{Kind, Offload, Segmentation};
use crate::packets::packet::{self, CWR, FIN, Headers, PSH, SYN, TCP, UDP};
use crate::packets::port::Arrival;
use crate::packets::slab::{Slab, Slot};

/// Largest super-packet, as IP's length field limits it.
const LARGEST: usize = 65_535;
/// Most packets of a super-packet. A larger number is not measurably faster.
pub(crate) const MOST: usize = 44;

/// Groups of one side that are open at a time: acknowledgements of one flow would otherwise end the
/// groups of another.
pub(crate) const OPEN: usize = 4;

/// The open groups of one side.
pub(crate) struct Groups {
    open: [Open; OPEN],
    /// Place that another flow takes next if all are open.
    next: usize,
}

/// An open group, with its flow and the ideal times of its packets.
pub(crate) struct Open {
    pub(crate) flow: usize,
    pub(crate) group: Group,
    pub(crate) due: Vec<Instant>,
}

impl Open {
    fn new(joins_udp: bool) -> Open {
        Open { flow: 0, group: Group::new(joins_udp), due: Vec::with_capacity(MOST) }
    }

    pub(crate) fn clear(&mut self) {
        self.group.clear();
        self.due.clear();
    }
}

impl Groups {
    /// Empty groups; see [`Group::new`].
    pub(crate) fn new(joins_udp: bool) -> Groups {
        Groups { open: std::array::from_fn(|_| Open::new(joins_udp)), next: 0 }
    }

    /// The place for a flow's packets. Its group may be another flow's, and is then to be written
    /// first.
    pub(crate) fn place(&mut self, flow: usize) -> usize {
        let own = self.open.iter().position(|open| open.flow == flow && !open.group.is_empty());
        let free = || self.open.iter().position(|open| open.group.is_empty());
        if let Some(place) = own.or_else(free) {
            return place;
        }
        self.next = (self.next + 1) % OPEN;
        self.next
    }

    /// Adds a packet of a flow to the group at a place if it continues the group.
    pub(crate) fn add(&mut self, place: usize, packet: &Arrival, slab: &Slab) -> bool {
        let open = &mut self.open[place];
        let may_fit = open.group.is_empty() || open.flow == packet.flow;
        let fits = may_fit && open.group.add(slab, packet.handle);
        if fits {
            open.flow = packet.flow;
            open.due.push(packet.at);
        }
        fits
    }

    /// The group at a place.
    pub(crate) fn at(&mut self, place: usize) -> &mut Open {
        &mut self.open[place]
    }
}

/// Neighbouring packets of one flow that leave in one write.
#[derive(Debug, Default)]
pub(crate) struct Group {
    handles: Vec<u32>,
    /// Bytes of all, the headers once.
    length: usize,
    /// Whether packets of UDP may be joined.
    joins_udp: bool,
    /// Whether the last packet ends the group: it is shorter, or has PSH or FIN.
    is_closed: bool,
}

impl Group {
    /// An empty group, with room for the largest. `joins_udp`: whether its reader divides
    /// super-packets of UDP.
    pub(crate) fn new(joins_udp: bool) -> Group {
        Group { handles: Vec::with_capacity(MOST), joins_udp, ..Group::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// The packets, in order.
    pub(crate) fn handles(&self) -> &[u32] {
        &self.handles
    }

    pub(crate) fn clear(&mut self) {
        self.handles.clear();
        (self.length, self.is_closed) = (0, false);
    }

    /// Adds a packet if it continues the group. An empty group takes any packet.
    pub(crate) fn add(&mut self, slab: &Slab, handle: u32) -> bool {
        let (slot, bytes) = (slab.slot(handle), slab.bytes(handle));
        let payload = bytes.len() - slot.headers.payload;
        let Some(first) = self.handles.first() else {
            (self.length, self.is_closed) = (bytes.len(), !self.may_lead(slot, bytes));
            self.handles.push(handle);
            return true;
        };
        let full = slab.bytes(*first).len() - slab.slot(*first).headers.payload;
        let last = *self.handles.last().expect("the group has a first packet");
        let fits = !self.is_closed
            && self.handles.len() < MOST
            && self.length + payload <= LARGEST
            && (1..=full).contains(&payload)
            && continues(slab, last, handle);
        if fits {
            self.handles.push(handle);
            self.length += payload;
            self.is_closed = payload < full || is_end(slot, bytes);
        }
        fits
    }

    /// Whether others may follow the packet in its group: it carries data, its checksum is left to
    /// the device, and its flags allow it. TCP counts the marks of a super-packet from a device as
    /// one (Linux, `virtio_net_hdr_to_skb` sets `gso_segs` to zero), so that marked packets stay
    /// single.
    fn may_lead(&self, slot: &Slot, bytes: &[u8]) -> bool {
        let headers = &slot.headers;
        // The header of UDP in IPv6 with options, fragments and other protocols stay as they are.
        let is_known = headers.protocol == TCP || (headers.protocol == UDP && self.joins_udp);
        let options = headers.is_ip6 || headers.transport == 20;
        let has_data = bytes.len() > headers.payload;
        let is_counted = headers.protocol == TCP && headers.ecn == Ecn::Ce;
        is_known
            && options
            && has_data
            && !is_counted
            && slot.checksum.is_some()
            && !is_end(slot, bytes)
    }

    /// Prepares the first packet as the head of the whole, and returns the work that is left to the
    /// device.
    pub(crate) fn seal(&self, slab: &mut Slab) -> Offload {
        let first = self.handles[0];
        let Slot { headers, checksum, .. } = *slab.slot(first);
        if self.handles.len() == 1 {
            return Offload { checksum, ..Offload::default() };
        }
        let size = (slab.bytes(first).len() - headers.payload) as u16;
        let last = *self.handles.last().expect("the group has a first packet");
        let end_flags = flags(&headers, slab.bytes(last)) & (PSH | FIN);
        let (bytes, length) = (slab.bytes_mut(first), self.length);
        packet::set_length(&headers, bytes, length, None);
        let transport = length - headers.transport;
        let sum = checksum::fold(headers.pseudo_sum(bytes) + transport as u32);
        let head = &mut bytes[headers.transport..];
        let kind = match (headers.protocol, headers.is_ip6) {
            (UDP, _) => {
                head[4..6].copy_from_slice(&(transport as u16).to_be_bytes());
                head[6..8].copy_from_slice(&sum.to_be_bytes());
                Kind::Udp
            }
            (_, is_ip6) => {
                head[13] |= end_flags;
                head[16..18].copy_from_slice(&sum.to_be_bytes());
                if is_ip6 { Kind::Tcp6 } else { Kind::Tcp4 }
            }
        };
        Offload {
            checksum,
            segmentation: Some(Segmentation { kind, size, is_cwr_once: false }),
            header: headers.payload as u16,
        }
    }
}

fn flags(headers: &Headers, bytes: &[u8]) -> u8 {
    if headers.protocol == TCP { bytes[headers.transport + 13] } else { 0 }
}

fn is_end(slot: &Slot, bytes: &[u8]) -> bool {
    flags(&slot.headers, bytes) & (SYN | FIN | PSH | 4 | 0x20) != 0
}

/// Whether `next` is the packet after `last` of the same flow, with equal headers except for the
/// fields that segmentation sets.
fn continues(slab: &Slab, last: u32, next: u32) -> bool {
    let (a, b) = (slab.slot(last), slab.slot(next));
    if a.headers != b.headers || a.checksum != b.checksum {
        return false;
    }
    let (h, a, b) = (&a.headers, slab.bytes(last), slab.bytes(next));
    same_ip(h, a, b) && if h.protocol == TCP { same_tcp(h, a, b) } else { same_udp(h, a, b) }
}

/// Equal but for length, identification and checksum. The identification ascends.
fn same_ip(headers: &Headers, a: &[u8], b: &[u8]) -> bool {
    if headers.is_ip6 {
        return a[..4] == b[..4] && a[6..40] == b[6..40];
    }
    let id = |bytes: &[u8]| packet::half(bytes, 4);
    a[..2] == b[..2]
        && a[6..10] == b[6..10]
        && a[12..20] == b[12..20]
        && id(a).map(|id| id.wrapping_add(1)) == id(b)
}

/// Equal but for the sequence number, which continues, the checksum, and the end's flags.
fn same_tcp(headers: &Headers, a: &[u8], b: &[u8]) -> bool {
    let (data, at) = ((a.len() - headers.payload) as u32, headers.transport);
    let sequence = |bytes: &[u8]| packet::word(bytes, at + 4);
    let (x, y) = (&a[at..headers.payload], &b[at..headers.payload]);
    // CWR of RFC 3168 is for one segment; a super-packet would repeat it.
    let flags = (x[13] ^ y[13]) & !(PSH | FIN) == 0 && x[13] & CWR == y[13] & CWR;
    sequence(a).map(|from| from.wrapping_add(data)) == sequence(b)
        && x[..4] == y[..4]
        && x[8..13] == y[8..13]
        && flags
        && x[14..16] == y[14..16]
        && x[18..] == y[18..]
}

fn same_udp(headers: &Headers, a: &[u8], b: &[u8]) -> bool {
    a[headers.transport..headers.transport + 4] == b[headers.transport..headers.transport + 4]
}
