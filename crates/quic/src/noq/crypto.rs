//! The reader of ECN counts: a wrapper of noq's cryptography.
//!
//! noq reports that there were marks, not how many, and its validation of ECN accepts counts of
//! ECT(0) alone. The wrapper sees each packet after its decryption. It reads the counts, and
//! exchanges those of ECT(0) and ECT(1) if the packets carry ECT(1). noq, which takes its own
//! packets for ECT(0), then validates the path as usual.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};
use sojourn_units::Ecn;

use super::Kit;
use crate::frames;
use crate::tally::{Space, Tally};

/// The cryptography of a client.
pub(super) struct Client {
    pub(super) inner: Arc<dyn ClientConfig>,
    pub(super) kit: Kit,
}

impl ClientConfig for Client {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.inner.start_session(version, server_name, params)?;
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
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Counting::session(self.inner.start_session(version, params), &self.kit)
    }
}

/// A session whose keys for received packets count.
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

    fn key(&self, space: Space, inner: Box<dyn PacketKey>) -> Box<dyn PacketKey> {
        Box::new(CountingKey { inner, space, tally: Arc::clone(&self.tally), swaps: self.swaps })
    }

    fn keys(&self, space: Space, keys: Keys) -> Keys {
        let KeyPair { local, remote } = keys.packet;
        let packet = KeyPair { local, remote: self.key(space, remote) };
        Keys { header: keys.header, packet }
    }
}

impl Session for Counting {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
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
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        // RFC 9001 section 4.1.4: Handshake keys come first, then 1-RTT keys.
        let space = if self.given == 0 { Space::Handshake } else { Space::Data };
        self.given += 1;
        Some(self.keys(space, keys))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let KeyPair { local, remote } = self.inner.next_1rtt_keys()?;
        Some(KeyPair { local, remote: self.key(Space::Data, remote) })
    }

    fn is_valid_retry(&self, orig_dst_cid: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
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

/// A key for received packets.
struct CountingKey {
    inner: Box<dyn PacketKey>,
    space: Space,
    tally: Arc<Tally>,
    swaps: bool,
}

impl PacketKey for CountingKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(path_id, packet, buf, header_len);
    }

    fn decrypt(
        &self,
        path_id: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(path_id, packet, header, payload)?;
        frames::for_each_ack(payload, |ack, payload| {
            self.tally.report(self.space, ack.largest, &ack.counts);
            if self.swaps {
                ack.swap(payload);
            }
        });
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
