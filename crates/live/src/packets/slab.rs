//! The bytes of the packets on the links. A packet of the simulation has only a handle to them.

use sojourn_units::Ecn;

use crate::packets::offload::PartialChecksum;
use crate::packets::packet::Headers;

/// Slots allocated together.
const CHUNK: usize = 1024;

/// Packets in slots of one size.
pub(crate) struct Slab {
    chunks: Vec<Box<[u8]>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    size: usize,
}

/// The metadata of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) headers: Headers,
    pub(crate) checksum: Option<PartialChecksum>,
    length: u16,
    /// The packet and its copies in flight.
    owners: u16,
}

impl Slab {
    /// A slab for packets of up to `size` bytes, with room for `packets` before it grows.
    pub(crate) fn new(size: usize, packets: usize) -> Slab {
        let size = size.next_multiple_of(64);
        let mut slab = Slab { chunks: Vec::new(), slots: Vec::new(), free: Vec::new(), size };
        while slab.slots.len() < packets {
            slab.grow();
        }
        slab
    }

    /// Largest packet.
    pub(crate) fn largest(&self) -> usize {
        self.size
    }

    /// A handle to a slot for `length` bytes, with the slot to be written.
    pub(crate) fn insert(
        &mut self,
        headers: Headers,
        checksum: Option<PartialChecksum>,
        length: usize,
    ) -> (u32, &mut [u8]) {
        if self.free.is_empty() {
            self.grow();
        }
        let handle = self.free.pop().expect("the slab has grown");
        let slot = Slot { headers, checksum, length: length as u16, owners: 1 };
        self.slots[handle as usize] = slot;
        (handle, self.bytes_mut(handle))
    }

    pub(crate) fn slot(&self, handle: u32) -> &Slot {
        &self.slots[handle as usize]
    }

    pub(crate) fn bytes(&self, handle: u32) -> &[u8] {
        let (chunk, from) = self.place(handle);
        &self.chunks[chunk][from..from + usize::from(self.slot(handle).length)]
    }

    pub(crate) fn bytes_mut(&mut self, handle: u32) -> &mut [u8] {
        let (chunk, from) = self.place(handle);
        let length = usize::from(self.slot(handle).length);
        &mut self.chunks[chunk][from..from + length]
    }

    /// Notes that the packet's ECN field has changed.
    pub(crate) fn set_ecn(&mut self, handle: u32, ecn: Ecn) {
        self.slots[handle as usize].headers.ecn = ecn;
    }

    /// Another packet in flight has the same bytes.
    pub(crate) fn share(&mut self, handle: u32) {
        self.slots[handle as usize].owners += 1;
    }

    /// The bytes of one packet in flight, as its own: shared bytes are copied before a change.
    pub(crate) fn own(&mut self, handle: u32) -> u32 {
        if self.slot(handle).owners == 1 {
            return handle;
        }
        let Slot { headers, checksum, .. } = *self.slot(handle);
        let bytes = self.bytes(handle).to_vec();
        let (copy, room) = self.insert(headers, checksum, bytes.len());
        room.copy_from_slice(&bytes);
        self.release(handle);
        copy
    }

    /// A packet has left; its slot is free after its last copy.
    pub(crate) fn release(&mut self, handle: u32) {
        let slot = &mut self.slots[handle as usize];
        slot.owners -= 1;
        if slot.owners == 0 {
            self.free.push(handle);
        }
    }

    /// Packets in slots, without copies.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn place(&self, handle: u32) -> (usize, usize) {
        let handle = handle as usize;
        (handle / CHUNK, handle % CHUNK * self.size)
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.slots.len();
        self.chunks.push(vec![0; CHUNK * self.size].into_boxed_slice());
        let headers =
            Headers { is_ip6: false, transport: 0, protocol: 0, payload: 0, ecn: Ecn::NotEct };
        let empty = Slot { headers, checksum: None, length: 0, owners: 0 };
        self.slots.resize(first + CHUNK, empty);
        // The first slots of a chunk are used first.
        self.free.extend((first..first + CHUNK).rev().map(|handle| handle as u32));
    }
}
