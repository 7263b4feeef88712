//! Packet protection in one form for both stacks, whose traits differ in a path identifier.

use bytes::BytesMut;

use super::dialect::{Path, proto};
use proto::crypto::CryptoError;

/// The protection of packets with one key.
pub(crate) trait Cipher: Send + Sync {
    /// Encrypts a packet in place; `packet` is its number.
    fn encrypt(&self, path: Path, packet: u64, buf: &mut [u8], header_len: usize);

    /// Decrypts a payload in place, and removes its tag.
    fn decrypt(
        &self,
        path: Path,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError>;

    /// Length of the tag.
    fn tag_len(&self) -> usize;

    /// Packets that one key may encrypt, and packets whose decryption may fail (RFC 9001 section
    /// 6.6).
    fn limits(&self) -> (u64, u64);
}

/// A [`Cipher`] as the stack's key.
pub(crate) struct Key<T>(pub(crate) T);
