//! The bytes of datagrams in flight.

use bytes::BytesMut;

/// Datagrams by handle. A wire may have copied them.
#[derive(Debug, Default)]
pub(super) struct Payloads {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: BytesMut,
    /// Packets in flight with these bytes.
    packets: u32,
}

impl Payloads {
    pub(super) fn add(&mut self, bytes: BytesMut) -> u32 {
        let slot = Slot { bytes, packets: 1 };
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = slot;
                handle
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// The bytes of a datagram that arrives.
    pub(super) fn take(&mut self, handle: u32) -> BytesMut {
        let slot = &mut self.slots[handle as usize];
        slot.packets -= 1;
        if slot.packets > 0 {
            return slot.bytes.clone();
        }
        self.free.push(handle);
        std::mem::take(&mut slot.bytes)
    }

    /// The bytes of a datagram in flight.
    pub(super) fn bytes(&self, handle: u32) -> &[u8] {
        &self.slots[handle as usize].bytes
    }

    pub(super) fn copy(&mut self, handle: u32) {
        self.slots[handle as usize].packets += 1;
    }

    /// Datagrams in flight.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_datagram_arrives_twice_and_then_frees_its_slot() {
        let mut payloads = Payloads::default();
        let handle = payloads.add(BytesMut::from(&b"one"[..]));
        payloads.copy(handle);
        assert_eq!(&payloads.take(handle)[..], b"one");
        assert_eq!(&payloads.take(handle)[..], b"one");
        assert_eq!(payloads.len(), 0);
        assert_eq!(payloads.add(BytesMut::new()), handle);
    }
}
