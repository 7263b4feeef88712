//! A hash of names, from which every random thing has a generator of its own.

/// Offset basis and prime of the 64-bit FNV-1a hash (RFC 9923).
const FNV: (u64, u64) = (0xcbf2_9ce4_8422_2325, 0x0000_0100_0000_01b3);

/// The hash of a name, the same on every machine.
pub fn hash(name: &str) -> u64 {
    name.bytes().fold(FNV.0, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV.1))
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn it_is_that_of_the_rfc() {
        // RFC 9923 appendix C.
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
