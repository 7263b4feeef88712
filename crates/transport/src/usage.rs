//! Use of the congestion window: whether it limits the sender, and how far it was filled.

/// The packets that left while the window limited the sender, and the greatest flight of others. Linux
/// has the same in `is_cwnd_limited`, `max_packets_out` and `cwnd_usage_seq` (`tcp_cwnd_validate`), and
/// draft-ietf-ccwg-bbr the former in `C.is_cwnd_limited`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// The packet number after the last one that had left when the window was last full; zero for
    /// never.
    filled_to: u64,
    /// The same for the time at which pacing last held back data that would have filled the window.
    held_to: u64,
    /// The greatest flight in a window of data, and the packet number at which it ends.
    flight: u64,
    flight_to: u64,
    /// Whether the window limited the sender when its last reduction began.
    was_limited: bool,
}

impl Usage {
    /// The window has no room for another packet. `next`: packet number of the next packet.
    #[inline(always)]
    pub fn fill(&mut self, next: u64) {
        self.filled_to = next;
    }

    /// Pacing alone holds back data that would fill the window.
    #[inline]
    pub fn hold(&mut self, next: u64) {
        self.held_to = next;
    }

    /// Pacing holds back no data that would fill the window.
    pub fn release(&mut self) {
        self.held_to = 0;
    }

    /// Whether the window was full when packet `largest`, the largest acknowledged one, had left, or
    /// since.
    #[inline(always)]
    pub fn is_filled(&self, largest: u64) -> bool {
        largest < self.filled_to
    }

    /// Whether the window would have been full then without pacing (RFC 9002 section 7.8).
    #[inline(always)]
    pub fn is_held(&self, largest: u64) -> bool {
        largest < self.held_to
    }

    /// A recovery begins, which reduces the window. `largest`: the largest acknowledged packet.
    pub fn begin_recovery(&mut self, largest: u64) {
        self.was_limited = self.is_filled(largest) || self.is_held(largest);
    }

    /// The reduction is undone. That the packets since have filled the reduced window says nothing of
    /// the restored one (in Linux, retransmissions do not set `is_cwnd_limited`).
    pub fn undo(&mut self) {
        if !self.was_limited {
            (self.filled_to, self.held_to) = (0, 0);
        }
    }

    /// The greatest flight of the window of data to which packet `largest` belongs, the largest
    /// acknowledged one. `in_flight`: the flight before that acknowledgement; `next`: the packet number
    /// of the next packet.
    pub fn greatest_flight(&mut self, largest: u64, next: u64, in_flight: u64) -> u64 {
        if largest >= self.flight_to || in_flight > self.flight {
            (self.flight, self.flight_to) = (in_flight, next);
        }
        self.flight
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    /// A window of data ends with the last packet that had left when the window was full.
    #[test]
    fn packets_after_a_full_window_are_not_limited_by_it() {
        let mut usage = Usage::default();
        assert!(!usage.is_filled(0));
        usage.fill(10);
        assert!(usage.is_filled(9) && !usage.is_filled(10));
        assert!(!usage.is_held(9));
        usage.hold(12);
        assert!(usage.is_held(11) && !usage.is_filled(11));
        usage.release();
        assert!(!usage.is_held(0));
    }

    /// A window that was not full before its reduction is not full after the undo.
    #[test]
    fn an_undo_restores_the_use_before_the_reduction() {
        for is_full in [false, true] {
            let mut usage = Usage::default();
            if is_full {
                usage.fill(10);
            }
            usage.begin_recovery(3);
            usage.fill(12);
            assert!(usage.is_filled(11));
            usage.undo();
            assert_eq!(usage.is_filled(11), is_full);
        }
    }

    /// Linux, `tcp_cwnd_validate`: `max_packets_out` is that of the current window of data.
    #[test]
    fn the_greatest_flight_is_that_of_a_window_of_data() {
        let mut usage = Usage::default();
        assert_eq!(usage.greatest_flight(0, 9, 9), 9);
        assert_eq!(usage.greatest_flight(5, 12, 7), 9);
        assert_eq!(usage.greatest_flight(8, 14, 6), 9);
        assert_eq!(usage.greatest_flight(9, 15, 6), 6);
        assert_eq!(usage.greatest_flight(10, 20, 8), 8);
    }
}
