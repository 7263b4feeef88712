//! Frames of HTTP/3 (RFC 9114 section 7), read as their bytes arrive.

/// Kinds of frames.
pub(crate) mod kind {
    pub(crate) const DATA: u64 = 0x00;
    pub(crate) const HEADERS: u64 = 0x01;
    pub(crate) const SETTINGS: u64 = 0x04;
    pub(crate) const PUSH_PROMISE: u64 = 0x05;
    pub(crate) const CANCEL_PUSH: u64 = 0x03;
    pub(crate) const GOAWAY: u64 = 0x07;
    pub(crate) const MAX_PUSH_ID: u64 = 0x0d;
    /// Frames of the control stream alone (sections 7.2.3, 7.2.4, 7.2.6 and 7.2.7).
    pub(crate) const CONTROL: [u64; 4] = [CANCEL_PUSH, SETTINGS, GOAWAY, MAX_PUSH_ID];
    /// Frames of HTTP/2 that HTTP/3 forbids (section 7.2.8).
    pub(crate) const FORBIDDEN: [u64; 4] = [0x02, 0x06, 0x08, 0x09];
}

/// Error codes (RFC 9114 section 8.1, RFC 9204 section 6).
pub(crate) mod code {
    pub(crate) const NO_ERROR: u32 = 0x100;
    pub(crate) const INTERNAL_ERROR: u32 = 0x102;
    pub(crate) const STREAM_CREATION_ERROR: u32 = 0x103;
    pub(crate) const CLOSED_CRITICAL_STREAM: u32 = 0x104;
    pub(crate) const FRAME_UNEXPECTED: u32 = 0x105;
    pub(crate) const FRAME_ERROR: u32 = 0x106;
    pub(crate) const EXCESSIVE_LOAD: u32 = 0x107;
    pub(crate) const ID_ERROR: u32 = 0x108;
    pub(crate) const SETTINGS_ERROR: u32 = 0x109;
    pub(crate) const MISSING_SETTINGS: u32 = 0x10a;
    pub(crate) const REQUEST_INCOMPLETE: u32 = 0x10d;
    pub(crate) const MESSAGE_ERROR: u32 = 0x10e;
    pub(crate) const DECOMPRESSION_FAILED: u32 = 0x200;
    pub(crate) const ENCODER_STREAM_ERROR: u32 = 0x201;
}

/// Greatest payload of a frame that is read as a whole, in bytes.
pub(crate) const LARGEST: u64 = 16 << 10;

/// A variable-length integer (RFC 9000 section 16), if `from` has all of it.
pub(crate) fn varint(from: &mut &[u8]) -> Option<u64> {
    let len = 1_usize << (from.first()? >> 6);
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some(value & (u64::MAX >> (66 - 8 * len as u32)))
}

/// Writes a variable-length integer below 2^62.
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// A frame with this payload.
pub(crate) fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 9);
    put_varint(&mut out, kind);
    put_varint(&mut out, payload.len() as u64);
    out.extend_from_slice(payload);
    out
}

/// A part of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// A frame begins.
    Begins {
        /// Its kind.
        kind: u64,
        /// The length of its payload.
        len: u64,
    },
    /// A piece of its payload.
    Payload(&'a [u8]),
}

/// Reads the frames of a stream.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// The incomplete head of a frame.
    head: Vec<u8>,
    /// Payload of the open frame that is still to come.
    left: u64,
}

impl Frames {
    /// The next part in `bytes`, which advance; `None` once they are used up.
    pub(crate) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Option<Part<'a>> {
        if self.left > 0 {
            let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            let (payload, rest) = bytes.split_at(len);
            *bytes = rest;
            self.left -= len as u64;
            return (len > 0).then_some(Part::Payload(payload));
        }
        while let Some((byte, rest)) = bytes.split_first() {
            self.head.push(*byte);
            *bytes = rest;
            let mut head = &self.head[..];
            if let (Some(kind), Some(len)) = (varint(&mut head), varint(&mut head)) {
                self.head.clear();
                self.left = len;
                return Some(Part::Begins { kind, len });
            }
        }
        None
    }

    /// Whether no frame is incomplete.
    pub(crate) fn is_whole(&self) -> bool {
        self.head.is_empty() && self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// However a stream is cut, its frames are the same.
        #[test]
        fn frames_survive_any_cuts(
            frames: Vec<(u32, Vec<u8>)>,
            cut in 1_usize..20,
        ) {
            let stream: Vec<u8> =
                frames.iter().flat_map(|(kind, payload)| frame(u64::from(*kind), payload)).collect();
            let (mut reader, mut found) = (Frames::default(), Vec::<(u32, Vec<u8>)>::new());
            for mut piece in stream.chunks(cut) {
                while let Some(part) = reader.next(&mut piece) {
                    match part {
                        Part::Begins { kind, .. } => found.push((kind as u32, Vec::new())),
                        Part::Payload(bytes) => {
                            found.last_mut().expect("it began").1.extend_from_slice(bytes);
                        }
                    }
                }
            }
            prop_assert!(reader.is_whole());
            prop_assert_eq!(found, frames);
        }

        #[test]
        fn integers_survive(value in 0..1_u64 << 62) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(varint(&mut &out[..]), Some(value));
        }
    }
}
