//! Integers in files of either byte order.

/// The byte order of a file, or of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// Two bytes at `at`; the caller has checked the length.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = [bytes[at], bytes[at + 1]];
        match self {
            Order::Big => u16::from_be_bytes(two),
            Order::Little => u16::from_le_bytes(two),
        }
    }

    /// Four bytes at `at`; the caller has checked the length.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Order::Big => u32::from_be_bytes(four),
            Order::Little => u32::from_le_bytes(four),
        }
    }

    /// Eight bytes at `at`; the caller has checked the length.
    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let [first, second] = [self.u32(bytes, at), self.u32(bytes, at + 4)].map(u64::from);
        match self {
            Order::Big => first << 32 | second,
            Order::Little => second << 32 | first,
        }
    }
}
