//! Stream offsets of segments, and packets in flight by number.

use std::collections::VecDeque;

/// The stream offset of each segment. Most segments have one size, and a run of equal ones takes
/// one entry: a transfer has two, its full segments and its last.
#[derive(Debug, Default)]
pub(super) struct Stream {
    runs: Vec<Run>,
    /// The next segment to be recorded.
    next: u64,
}

/// Segments of one length from `segment` on, which begins at `offset`.
#[derive(Clone, Copy, Debug)]
struct Run {
    segment: u64,
    offset: u64,
    len: u32,
}

impl Stream {
    /// Records a departing segment, if it is new.
    pub(super) fn note(&mut self, segment: u64, len: u32) {
        if segment < self.next {
            return;
        }
        if self.runs.last().is_none_or(|run| run.len != len) {
            self.runs.push(Run { segment, offset: self.offset(segment), len });
        }
        self.next = segment + 1;
    }

    /// Bytes before `segment`.
    pub(super) fn offset(&self, segment: u64) -> u64 {
        let after = self.runs.partition_point(|run| run.segment <= segment);
        let Some(run) = after.checked_sub(1).map(|place| &self.runs[place]) else { return 0 };
        run.offset + (segment - run.segment) * u64::from(run.len)
    }
}

/// Packets in flight between the hosts, by packet number.
#[derive(Debug)]
pub(super) struct InNetwork<T> {
    packets: VecDeque<(u64, T)>,
}

impl<T> Default for InNetwork<T> {
    fn default() -> InNetwork<T> {
        InNetwork { packets: VecDeque::new() }
    }
}

impl<T: Copy> InNetwork<T> {
    /// A packet leaves; numbers ascend.
    pub(super) fn send(&mut self, number: u64, packet: T) {
        self.packets.push_back((number, packet));
    }

    /// A packet is copied.
    pub(super) fn copy(&mut self, number: u64) {
        if let Ok(place) = self.packets.binary_search_by_key(&number, |packet| packet.0) {
            self.packets.insert(place, self.packets[place]);
        }
    }

    /// A packet arrives or is lost; usually it is the oldest one.
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        let place = self.packets.binary_search_by_key(&number, |packet| packet.0).ok()?;
        self.packets.remove(place).map(|packet| packet.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_any_length_have_their_place() {
        let lengths = [10, 10, 3, 10, 10, 10, 7, 7, 1];
        let mut stream = Stream::default();
        for (segment, len) in lengths.iter().enumerate() {
            stream.note(segment as u64, *len);
            // Retransmitted, with those before it.
            stream.note(segment as u64 / 2, lengths[segment / 2]);
        }
        for segment in 0..=lengths.len() {
            let before: u32 = lengths[..segment].iter().sum();
            assert_eq!(stream.offset(segment as u64), u64::from(before), "segment {segment}");
        }
        assert_eq!(stream.runs.len(), 5);
    }

    #[test]
    fn a_packet_is_taken_once() {
        let mut network = InNetwork::default();
        (3..8).for_each(|number| network.send(number, number * 10));
        assert_eq!(network.take(5), Some(50));
        assert_eq!(network.take(5), None);
        assert_eq!(network.take(3), Some(30));
        assert_eq!((network.take(7), network.take(9)), (Some(70), None));
    }
}
