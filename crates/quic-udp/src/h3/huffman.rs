//! The Huffman code of header strings (RFC 7541 appendix B, RFC 9204 section 4.1.2).

/// Length of each symbol's code in bits; the last is that of the end of the string. The code is
/// canonical: codes of one length ascend with their symbols.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
const LONGEST: usize = 30;
const END: u16 = 256;

/// The symbols in the order of their codes, and for each length the first code and its place.
struct Canonical {
    symbols: [u16; 257],
    first: [u32; LONGEST + 2],
    place: [u16; LONGEST + 2],
}

const fn canonical() -> Canonical {
    let mut table =
        Canonical { symbols: [0; 257], first: [0; LONGEST + 2], place: [0; LONGEST + 2] };
    let (mut code, mut place, mut length) = (0_u32, 0, 1);
    while length <= LONGEST + 1 {
        table.first[length] = code;
        table.place[length] = place as u16;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                table.symbols[place] = symbol as u16;
                place += 1;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    table
}

static TABLE: Canonical = canonical();

/// The string that `coded` has; `None` if the code is invalid (RFC 7541 section 5.2).
pub(crate) fn decode(coded: &[u8]) -> Option<Vec<u8>> {
    // The shortest code has 5 bits.
    let mut out = Vec::with_capacity(coded.len() * 8 / 5);
    let (mut code, mut length) = (0_u32, 0);
    for bit in coded.iter().flat_map(|octet| (0..8).rev().map(move |at| octet >> at & 1)) {
        code = code << 1 | u32::from(bit);
        length += 1;
        let first = TABLE.first[length];
        let count = TABLE.place[length + 1] - TABLE.place[length];
        if code < first + u32::from(count) {
            let symbol = TABLE.symbols[usize::from(TABLE.place[length]) + (code - first) as usize];
            if symbol == END {
                return None;
            }
            out.push(symbol as u8);
            (code, length) = (0, 0);
        }
        if length == LONGEST {
            return None;
        }
    }
    // Less than one octet of padding, with the first bits of the end of the string: ones.
    (length < 8 && code == (1 << length) - 1).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541 appendices C.4.1 and C.6.1.
    #[test]
    fn the_examples_of_the_rfc_decode() {
        let coded = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(decode(&coded).as_deref(), Some(&b"www.example.com"[..]));
        assert_eq!(decode(&[0x64, 0x02]).as_deref(), Some(&b"302"[..]));
        let private = [0xae, 0xc3, 0x77, 0x1a, 0x4b];
        assert_eq!(decode(&private).as_deref(), Some(&b"private"[..]));
    }

    #[test]
    fn padding_of_other_bits_or_a_whole_octet_is_refused() {
        assert_eq!(decode(&[]), Some(Vec::new()));
        assert_eq!(decode(&[0x0f]).as_deref(), Some(&b"1"[..]));
        assert_eq!(decode(&[0x0e]), None);
        assert_eq!(decode(&[0x64, 0x02, 0xff]), None);
        assert_eq!(decode(&[0xff; 4]), None);
    }
}
