//! quinn's interface, in the words of the sources that both stacks share.

use std::sync::Arc;

use bytes::BytesMut;
use proto::crypto::{CryptoError, PacketKey};
use proto::{ConnectionId, TransportConfig};
pub(crate) use quinn_proto as proto;
use sojourn_transport::Lacks;

use super::cipher::{Cipher, Key};
use crate::kit::Dialect;

/// The stack quinn, as a type.
#[derive(Debug)]
pub enum Stack {}

impl Dialect for Stack {
    const NAME: &'static str = "quinn";
    const LACKS: Lacks = Lacks { every_packet: false, receive_times: true };
}

/// quinn reports sizes and times to the controller. The keys see the numbers of packets.
pub(super) const READS_NUMBERS: bool = true;

/// A connection ID as an argument.
pub(crate) type Cid<'a> = &'a ConnectionId;
/// The receiver of the methods of a configuration.
pub(crate) type Config<'a, T> = Arc<T>;
/// The path of a packet: quinn has one.
pub(crate) type Path = ();

impl<T: Cipher> PacketKey for Key<T> {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.0.encrypt((), packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.0.decrypt((), packet, header, payload)
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
    (): Path,
    packet: u64,
    buf: &mut [u8],
    header_len: usize,
) {
    key.encrypt(packet, buf, header_len);
}

pub(super) fn decrypt(
    key: &dyn PacketKey,
    (): Path,
    packet: u64,
    header: &[u8],
    payload: &mut BytesMut,
) -> Result<(), CryptoError> {
    key.decrypt(packet, header, payload)
}

/// quinn has no multipath.
pub(super) fn use_one_path(_: &mut TransportConfig) {}
