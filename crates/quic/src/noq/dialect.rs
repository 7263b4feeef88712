//! noq's interface, in the words of the sources that both stacks share.

use bytes::BytesMut;
pub(crate) use noq_proto as proto;
use proto::crypto::{CryptoError, PacketKey};
use proto::{ConnectionId, PathId, TransportConfig};
use sojourn_transport::Lacks;

use super::cipher::{Cipher, Key};
use crate::kit::Dialect;

/// The stack noq, as a type.
#[derive(Debug)]
pub enum Stack {}

impl Dialect for Stack {
    const NAME: &'static str = "noq";
    const LACKS: Lacks = Lacks { every_packet: false, receive_times: true };
}

/// noq reports the numbers of packets to the controller.
pub(super) const READS_NUMBERS: bool = false;

/// A connection ID as an argument.
pub(crate) type Cid<'a> = ConnectionId;
/// The receiver of the methods of a configuration.
pub(crate) type Config<'a, T> = &'a T;
/// The path of a packet.
pub(crate) type Path = PathId;

impl<T: Cipher> PacketKey for Key<T> {
    fn encrypt(&self, path: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.0.encrypt(path, packet, buf, header_len);
    }

    fn decrypt(
        &self,
        path: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.0.decrypt(path, packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.limits().0
    }

    fn integrity_limit(&self) -> u64 {
        self.0.limits().1
    }
}

pub(super) fn encrypt(
    key: &dyn PacketKey,
    path: Path,
    packet: u64,
    buf: &mut [u8],
    header_len: usize,
) {
    key.encrypt(path, packet, buf, header_len);
}

pub(super) fn decrypt(
    key: &dyn PacketKey,
    path: Path,
    packet: u64,
    header: &[u8],
    payload: &mut BytesMut,
) -> Result<(), CryptoError> {
    key.decrypt(path, packet, header, payload)
}

/// The reader of ECN counts has one path.
pub(super) fn use_one_path(config: &mut TransportConfig) {
    config.max_concurrent_multipath_paths(0);
}
