//! The ECN field of the IP header.

/// ECN codepoint (RFC 3168 section 5; use of ECT(1): RFC 9331).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: only a drop can signal congestion.
    #[default]
    NotEct = 0,
    /// ECT(1): scalable congestion control, L4S (RFC 9331).
    Ect1 = 1,
    /// ECT(0): classic ECN (RFC 3168).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the two low bits, as in a traffic class (RFC 3168 section 5).
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark this packet instead of dropping it.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}
