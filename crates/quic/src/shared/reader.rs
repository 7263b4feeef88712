//! A wrapper of a stack's cryptography, for [`crate::inspection`].

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use sojourn_units::Ecn;

use super::cipher::{Cipher, Key};
use super::dialect::{self, Cid, Config, Path, proto};
use super::kit::Kit;
use crate::frames;
use crate::inspection::Inspection;
use crate::tally::{Space, Tally};
use proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use proto::transport_parameters::TransportParameters;
use proto::{ConnectError, Side, TransportError};

/// The cryptography of a client.
pub(super) struct Client {
    pub(super) inner: Arc<dyn ClientConfig>,
    pub(super) kit: Kit,
}

impl ClientConfig for Client {
    fn start_session(
        self: Config<'_, Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner);
        let session = inner.start_session(version, server_name, params)?;
        Ok(Counting::session(session, &self.kit))
    }
}

/// The cryptography of a server.
pub(super) struct Server {
    pub(super) inner: Arc<dyn ServerConfig>,
    pub(super) kit: Kit,
}

impl ServerConfig for Server {
    /// The first packet of a client, which has no ACK frame, is read with these keys.
    fn initial_keys(&self, version: u32, dst_cid: Cid<'_>) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: Cid<'_>, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Config<'_, Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = Arc::clone(&self.inner);
        Counting::session(inner.start_session(version, params), &self.kit)
    }
}

/// A session whose keys count, those for received packets and those for packets that leave.
struct Counting {
    inner: Box<dyn Session>,
    tally: Arc<Tally>,
    swaps: bool,
    /// Keys that the handshake has given so far.
    given: u32,
}

impl Counting {
    fn session(inner: Box<dyn Session>, kit: &Kit) -> Box<dyn Session> {
        let swaps = kit.codepoint() == Ecn::Ect1;
        Box::new(Counting { inner, tally: kit.begin_session(), swaps, given: 0 })
    }

    fn pair(&self, space: Space, keys: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        let key = |inner| -> Box<dyn PacketKey> {
            let (tally, swaps) = (Arc::clone(&self.tally), self.swaps);
            let reads_numbers = dialect::READS_NUMBERS;
            let inspection = Inspection { space, tally, swaps, reads_numbers };
            Box::new(Key(Inspected { inner, inspection }))
        };
        KeyPair { local: key(keys.local), remote: key(keys.remote) }
    }

    fn keys(&self, space: Space, Keys { header, packet }: Keys) -> Keys {
        Keys { header, packet: self.pair(space, packet) }
    }
}

impl Session for Counting {
    fn initial_keys(&self, dst_cid: Cid<'_>, side: Side) -> Keys {
        self.keys(Space::Initial, self.inner.initial_keys(dst_cid, side))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    /// 0-RTT packets have no ACK frames (RFC 9000 section 12.5).
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let params = self.inner.transport_parameters()?;
        if let Some(params) = &params {
            // The stacks show the parameters in their encoding alone.
            let mut encoded = Vec::new();
            params.write(&mut encoded);
            if let Some(most) = frames::max_ack_delay(&encoded) {
                self.tally.limit_ack_delay(most);
            }
        }
        Ok(params)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        // RFC 9001 section 4.1.4: Handshake keys come first, then 1-RTT keys.
        let space = if self.given == 0 { Space::Handshake } else { Space::Data };
        self.given += 1;
        Some(self.keys(space, keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.inner.next_1rtt_keys()?;
        Some(self.pair(Space::Data, keys))
    }

    fn is_valid_retry(&self, orig_dst_cid: Cid<'_>, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// A key whose packets are read.
struct Inspected {
    inner: Box<dyn PacketKey>,
    inspection: Inspection,
}

impl Cipher for Inspected {
    fn encrypt(&self, path: Path, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.tag_len());
        self.inspection.on_sent(packet, buf.len(), buf.get(header_len..end).unwrap_or(&[]));
        dialect::encrypt(&*self.inner, path, packet, buf, header_len);
    }

    fn decrypt(
        &self,
        path: Path,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = header.len() + payload.len();
        dialect::decrypt(&*self.inner, path, packet, header, payload)?;
        self.inspection.on_received(packet, length, payload);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn limits(&self) -> (u64, u64) {
        (self.inner.confidentiality_limit(), self.inner.integrity_limit())
    }
}
