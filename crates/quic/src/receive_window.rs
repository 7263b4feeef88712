//! Flow control of a connection whose application reads data in any order.

use crate::reassembly::Held;

/// The window changes in this part of its size, since each change takes a frame.
const STEPS: u64 = 16;
/// The greatest window (RFC 9000 section 16).
const MOST: u64 = (1 << 62) - 1;

/// The data that a peer may send ahead of the application, on all streams (RFC 9000 section 4.1). The
/// stack grants credit for all data that were read; those that wait for earlier ones narrow the
/// window instead.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveWindow {
    size: u64,
    /// Memory of the data that wait, at the last change.
    held: u64,
}

impl ReceiveWindow {
    /// A window of `size` bytes.
    pub fn new(size: u64) -> ReceiveWindow {
        ReceiveWindow { size: size.min(MOST), held: 0 }
    }

    /// The window to tell the stack, in bytes, if it changes: the memory of the data that wait is
    /// taken from it.
    pub fn update(&mut self, held: Held) -> Option<u64> {
        let step = (self.size / STEPS).max(1);
        let held = held.memory() / step * step;
        if held == self.held {
            return None;
        }
        self.held = held;
        Some(self.size.saturating_sub(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_wait_narrow_the_window_in_steps() {
        let mut window = ReceiveWindow::new(1_600_000);
        let mut update = |bytes, pieces| window.update(Held { bytes, pieces });
        assert_eq!(update(90_000, 1), None);
        assert_eq!(update(90_000, 100), Some(1_500_000), "with the memory of pieces");
        assert_eq!(update(150_000, 100), None);
        assert_eq!(update(2_000_000, 100), Some(0));
        assert_eq!(update(0, 0), Some(1_600_000));
    }
}
