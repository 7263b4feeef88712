//! Use of the congestion window: whether it limits the sender, and how far it was filled.

use crate::choices::Profile;

/// Whether the window was full, and the greatest flight of a window of data in which it was not.
///
/// QUIC: the packets that left until the window was last full were limited by it (RFC 9002 section
/// 7.8; `C.is_cwnd_limited`, draft-ietf-ccwg-bbr). TCP: a full window limits the sender until a later
/// transmission leaves room in it after that window of data was acknowledged (Linux,
/// `tcp_cwnd_validate`: `is_cwnd_limited`, `max_packets_out` and `cwnd_usage_seq`).
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The packet number after the last one that had left when the window was last full; zero for
    /// never. With TCP, zero too if a later window of data left room.
    filled_to: u64,
    /// The bits of a packet number that count beside `filled_to`: with TCP none.
    mask: u64,
    /// The same as `filled_to` for the time at which pacing last held back data that would have filled
    /// the window.
    held_to: u64,
    /// The window up to which slow start may grow: twice the greatest flight in a window of data.
    slow_start_to: u64,
    /// The packet number at which that window of data ends.
    flight_to: u64,
    /// The packet number after the last one whose use of the window is noted.
    noted_to: u64,
    /// Whether the window limited the sender when its last reduction began.
    was_limited: bool,
}

impl Default for Usage {
    fn default() -> Usage {
        Usage::new(Profile::Quic)
    }
}

impl Usage {
    pub(crate) fn new(profile: Profile) -> Usage {
        Usage {
            filled_to: 0,
            mask: if profile == Profile::Tcp { 0 } else { u64::MAX },
            held_to: 0,
            slow_start_to: 0,
            flight_to: 0,
            noted_to: 0,
            was_limited: false,
        }
    }

    /// The window has no room for another packet. `next`: packet number of the next packet.
    #[inline(always)]
    pub fn fill(&mut self, next: u64) {
        self.filled_to = next;
    }

    /// All packets before `next` have left, and the window has room for more, with TCP. `largest`: the
    /// largest acknowledged packet; `flight`: bytes in flight.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_room(&mut self, largest: u64, next: u64, flight: u64) {
        if next == self.noted_to {
            return;
        }
        self.noted_to = next;
        let slow_start_to = flight.saturating_mul(2);
        let is_over = largest + 1 >= self.filled_to.max(self.flight_to);
        if is_over || (self.filled_to == 0 && slow_start_to > self.slow_start_to) {
            (self.filled_to, self.slow_start_to, self.flight_to) = (0, slow_start_to, next);
        }
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
    /// since; with TCP, whether it limits the sender.
    #[inline(always)]
    pub fn is_filled(&self, largest: u64) -> bool {
        largest & self.mask < self.filled_to
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

    /// The reduction is undone. Packets that have filled the reduced window since do not fill the
    /// restored one (in Linux, retransmissions do not set `is_cwnd_limited`).
    pub fn undo(&mut self) {
        if !self.was_limited {
            (self.filled_to, self.held_to) = (0, 0);
        }
    }

    /// The window up to which slow start may grow if the window does not limit the sender, with TCP
    /// (Linux, `tcp_is_cwnd_limited`).
    #[inline(always)]
    pub(crate) fn slow_start_to(&self) -> u64 {
        self.slow_start_to
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;
    use crate::choices::Profile;

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
        let mut usage = Usage::new(Profile::Tcp);
        usage.leave_room(0, 9, 9);
        assert_eq!(usage.slow_start_to(), 18);
        usage.leave_room(5, 12, 7);
        usage.leave_room(7, 14, 6);
        assert_eq!(usage.slow_start_to(), 18);
        usage.leave_room(8, 15, 6);
        assert_eq!(usage.slow_start_to(), 12);
        usage.leave_room(10, 20, 8);
        assert_eq!(usage.slow_start_to(), 16);
    }

    /// Linux, `tcp_cwnd_validate`: acknowledgements alone do not end the limit, nor does a transmission
    /// in the window of data that filled the window.
    #[test]
    fn a_full_window_limits_tcp_until_a_later_window_of_data_leaves_room() {
        let mut usage = Usage::new(Profile::Tcp);
        usage.fill(10);
        assert!(usage.is_filled(9) && usage.is_filled(10));
        usage.leave_room(8, 12, 3);
        assert!(usage.is_filled(11));
        // No packet has left since.
        usage.leave_room(9, 12, 2);
        assert!(usage.is_filled(11));
        usage.leave_room(9, 13, 3);
        assert!(!usage.is_filled(11));
        assert_eq!(usage.slow_start_to(), 6);
    }
}
