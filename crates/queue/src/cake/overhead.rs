//! The size of packets on the wire behind CAKE's shaper, by the keywords of tc-cake(8).

use sojourn_units::Bytes;

/// Keywords with their overhead in bytes, least packet and framing (iproute2 q_cake.c).
const KEYWORDS: &[(&str, Overhead)] = &[
    ("raw", Overhead::new(0, 0, Framing::None)),
    ("conservative", Overhead::new(48, 0, Framing::Atm)),
    ("ethernet", Overhead::new(38, 84, Framing::None)),
    ("docsis", Overhead::new(18, 64, Framing::None)),
    ("pppoe-ptm", Overhead::new(30, 0, Framing::Ptm)),
    ("bridged-ptm", Overhead::new(22, 0, Framing::Ptm)),
    ("ipoa-vcmux", Overhead::new(8, 0, Framing::Atm)),
    ("ipoa-llcsnap", Overhead::new(16, 0, Framing::Atm)),
    ("bridged-vcmux", Overhead::new(24, 0, Framing::Atm)),
    ("bridged-llcsnap", Overhead::new(32, 0, Framing::Atm)),
    ("pppoa-vcmux", Overhead::new(10, 0, Framing::Atm)),
    ("pppoa-llc", Overhead::new(14, 0, Framing::Atm)),
    ("pppoe-vcmux", Overhead::new(32, 0, Framing::Atm)),
    ("pppoe-llcsnap", Overhead::new(40, 0, Framing::Atm)),
];

/// The keywords, the default first.
pub(super) const NAMES: &[&str] = &names();

const fn names() -> [&'static str; KEYWORDS.len()] {
    let mut names = [""; KEYWORDS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = KEYWORDS[at].0;
        at += 1;
    }
    names
}

/// The bytes that CAKE's shaper adds to each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Bytes added to the size.
    pub bytes: u64,
    /// Least size of a packet with its overhead, in bytes.
    pub mpu: u64,
    /// The cells or blocks that carry packets.
    pub framing: Framing,
}

/// The cells or blocks that carry packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// None.
    None,
    /// Cells of 53 bytes for 48 bytes of content.
    Atm,
    /// A byte for every 64 bytes or part of them.
    Ptm,
}

impl Overhead {
    const fn new(bytes: u64, mpu: u64, framing: Framing) -> Overhead {
        Overhead { bytes, mpu, framing }
    }

    /// The overhead of a keyword of tc-cake(8), if CAKE's parameter `overhead` has it.
    pub fn of_keyword(name: &str) -> Option<Overhead> {
        KEYWORDS.iter().find(|(known, _)| *known == name).map(|(_, overhead)| *overhead)
    }

    /// The overhead of a keyword, one of [`NAMES`].
    pub(super) fn named(name: &str) -> Overhead {
        Overhead::of_keyword(name).unwrap_or(KEYWORDS[0].1)
    }

    /// The size on the wire (`cake_calc_overhead`).
    pub(super) fn adjusted(&self, size: Bytes) -> u64 {
        let size = (size.0 + self.bytes).max(self.mpu);
        match self.framing {
            Framing::None => size,
            Framing::Atm => size.div_ceil(48) * 53,
            Framing::Ptm => size + size.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Overhead;
    use sojourn_units::Bytes;

    /// tc-cake(8) and RFC 2684: an IP packet of 1500 bytes with PPPoE over LLC/SNAP, 40 bytes, takes
    /// 33 ATM cells; an acknowledgement of 40 bytes takes two.
    #[test]
    fn atm_cells_carry_48_bytes() {
        let of = |name: &str, size| Overhead::named(name).adjusted(Bytes(size));
        assert_eq!(of("pppoe-llcsnap", 1500), 33 * 53);
        assert_eq!(of("pppoe-llcsnap", 40), 2 * 53);
        assert_eq!(of("pppoe-ptm", 1500), 1530 + 24);
        assert_eq!((of("ethernet", 40), of("ethernet", 1500)), (84, 1538));
        assert_eq!(of("raw", 1500), 1500);
    }
}
