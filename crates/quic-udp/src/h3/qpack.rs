//! Header compression (RFC 9204) with the static table alone: the dynamic table has no capacity.

use super::huffman;
use super::static_table::STATIC;

/// A header field.
pub type Field = (Vec<u8>, Vec<u8>);

/// The reason for which a field section has no fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// It cannot be decoded, which ends the connection (`QPACK_DECOMPRESSION_FAILED`).
    Malformed,
    /// Its fields exceed the limit, which ends the request alone (RFC 9114 section 4.2.2).
    TooLarge,
}

use DecodeError::Malformed;

/// Greatest sum of the decoded names and values in bytes.
const LARGEST: usize = 64 << 10;

/// The fields of a section.
///
/// # Errors
/// If the section is malformed, refers to the dynamic table, or has more than 64 KiB.
pub fn decode(mut section: &[u8]) -> Result<Vec<Field>, DecodeError> {
    // RFC 9204 section 4.5.1: the required insert count, and the base.
    if integer(&mut section, 8)? != 0 {
        return Err(Malformed);
    }
    integer(&mut section, 7)?;
    let (mut fields, mut total) = (Vec::new(), 0);
    while let Some(first) = section.first().copied() {
        let (name, value) = match first {
            // Section 4.5.2: an indexed line of the static table.
            0xc0.. => {
                let (name, value) = entry(&mut section)?;
                (name.as_bytes().to_vec(), value.as_bytes().to_vec())
            }
            // Section 4.5.4: a literal line with a name of the static table.
            0x40..=0x7f if first & 0x10 != 0 => {
                let index = integer(&mut section, 4)?;
                let (name, _) = lookup(index)?;
                (name.as_bytes().to_vec(), string(&mut section, 7)?)
            }
            // Section 4.5.6: a literal line with a literal name.
            0x20..=0x3f => (string(&mut section, 3)?, string(&mut section, 7)?),
            _ => return Err(Malformed),
        };
        // Section 4.1.1.3 of RFC 9114 adds 32 bytes for each field.
        total += name.len() + value.len() + 32;
        if total > LARGEST {
            return Err(DecodeError::TooLarge);
        }
        fields.push((name, value));
    }
    Ok(fields)
}

fn entry(section: &mut &[u8]) -> Result<(&'static str, &'static str), DecodeError> {
    lookup(integer(section, 6)?)
}

fn lookup(index: u64) -> Result<(&'static str, &'static str), DecodeError> {
    usize::try_from(index).ok().and_then(|index| STATIC.get(index)).copied().ok_or(Malformed)
}

/// An integer with a prefix of `bits` bits (RFC 7541 section 5.1), of at most 62 bits.
pub(super) fn integer(from: &mut &[u8], bits: u32) -> Result<u64, DecodeError> {
    let (first, mut rest) = from.split_first().ok_or(Malformed)?;
    let mask = (1_u64 << bits) - 1;
    let mut value = u64::from(*first) & mask;
    if value == mask {
        for shift in (0..).step_by(7) {
            let (octet, after) = rest.split_first().ok_or(Malformed)?;
            rest = after;
            if shift > 55 {
                return Err(Malformed);
            }
            value += u64::from(octet & 0x7f) << shift;
            if octet & 0x80 == 0 {
                break;
            }
        }
    }
    *from = rest;
    Ok(value)
}

/// A string whose length has a prefix of `bits` bits, after the bit for Huffman's code.
fn string(from: &mut &[u8], bits: u32) -> Result<Vec<u8>, DecodeError> {
    let is_coded = from.first().ok_or(Malformed)? >> bits & 1 == 1;
    let len = usize::try_from(integer(from, bits)?).map_err(|_| Malformed)?;
    let (text, rest) = from.split_at_checked(len).ok_or(Malformed)?;
    *from = rest;
    if is_coded { huffman::decode(text).ok_or(Malformed) } else { Ok(text.to_vec()) }
}

/// The section with these fields.
pub fn encode(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0, 0];
    for (name, value) in fields {
        let same_name = STATIC.iter().position(|(known, _)| known == name);
        match STATIC.iter().position(|field| field == &(*name, *value)) {
            Some(index) => put_integer(&mut out, 0xc0, 6, index),
            None => {
                match same_name {
                    Some(index) => put_integer(&mut out, 0x50, 4, index),
                    None => {
                        put_integer(&mut out, 0x20, 3, name.len());
                        out.extend_from_slice(name.as_bytes());
                    }
                }
                put_integer(&mut out, 0, 7, value.len());
                out.extend_from_slice(value.as_bytes());
            }
        }
    }
    out
}

fn put_integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let most = (1_usize << bits) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 & 0x7f | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 9204 appendix B.1.
    #[test]
    fn the_example_of_the_rfc_decodes() {
        let section = [
            0x00, 0x00, 0x51, 0x0b, 0x2f, 0x69, 0x6e, 0x64, 0x65, 0x78, 0x2e, 0x68, 0x74, 0x6d,
            0x6c,
        ];
        let fields = decode(&section).expect("the RFC's");
        assert_eq!(fields, [(b":path".to_vec(), b"/index.html".to_vec())]);
        assert_eq!(encode(&[(":path", "/index.html")]), section);
    }

    #[test]
    fn references_to_the_dynamic_table_are_refused() {
        for section in [&[1, 0][..], &[0, 0, 0x80], &[0, 0, 0x40, 0], &[0, 0, 0x10], &[0, 0, 0]] {
            assert_eq!(decode(section), Err(Malformed), "{section:?}");
        }
        assert_eq!(decode(&[0, 0, 0xff, 36]), Err(Malformed), "index 99");
    }

    #[test]
    fn many_fields_are_too_large_but_not_malformed() {
        let mut section = vec![0, 0];
        section.resize(LARGEST / 32 + 2, 0xc0 | 1);
        assert_eq!(decode(&section), Err(DecodeError::TooLarge));
    }

    proptest! {
        #[test]
        fn fields_survive(fields: Vec<(String, String)>) {
            let borrowed: Vec<_> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            let bytes = |(name, value): &(String, String)| {
                (name.clone().into_bytes(), value.clone().into_bytes())
            };
            let expected: Vec<_> = fields.iter().map(bytes).collect();
            prop_assert_eq!(decode(&encode(&borrowed)), Ok(expected));
        }

        #[test]
        fn no_section_panics(section: Vec<u8>) {
            let _ = decode(&section);
        }
    }
}
