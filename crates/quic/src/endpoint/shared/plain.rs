//! No cryptography, for speed and equal bytes: packets of the same sizes, in plain text. Only both
//! ends of a simulation understand it.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;

use super::cipher::{Cipher, Key};
use super::crypto::Crypto;
use super::dialect::{self, Cid, Config, Path, proto};
use crate::endpoint::handshake::Handshake;
use proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use proto::transport_parameters::TransportParameters;
use proto::{ConnectError, Side, TransportError, TransportErrorCode};

/// Length of an AEAD tag, as AES-128-GCM has (RFC 9001 section 5.3).
const TAG: usize = 16;
/// The configuration of both ends.
pub(super) fn plain() -> Crypto {
    Crypto { client: Arc::new(Plain), server: Arc::new(Plain) }
}

struct Plain;

impl ClientConfig for Plain {
    fn start_session(
        self: Config<'_, Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(PlainSession::boxed(Side::Client, params))
    }
}

impl ServerConfig for Plain {
    fn initial_keys(&self, _: u32, _: Cid<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: Cid<'_>, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Config<'_, Self>,
        _: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        PlainSession::boxed(Side::Server, params)
    }
}

struct PlainSession {
    side: Side,
    handshake: Handshake,
    peer: Option<TransportParameters>,
}

impl PlainSession {
    fn boxed(side: Side, params: &TransportParameters) -> Box<dyn Session> {
        let mut own = Vec::new();
        params.write(&mut own);
        let handshake = Handshake::new(side == Side::Client, own);
        Box::new(PlainSession { side, handshake, peer: None })
    }
}

fn malformed() -> TransportError {
    dialect::error(TransportErrorCode::PROTOCOL_VIOLATION, "malformed handshake".to_owned())
}

impl Session for PlainSession {
    fn initial_keys(&self, _: Cid<'_>, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.handshake.is_handshaking
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        if let Some(params) = self.handshake.read(buf).map_err(|_| malformed())? {
            let params = TransportParameters::read(self.side, &mut &params[..]);
            self.peer = Some(params.map_err(|_| malformed())?);
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(buf).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _: Cid<'_>, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(PlainKey), remote: Box::new(PlainKey) },
        packet: KeyPair { local: Box::new(Key(PlainKey)), remote: Box::new(Key(PlainKey)) },
    }
}

struct PlainKey;

impl HeaderKey for PlainKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl Cipher for PlainKey {
    fn encrypt(&self, _: Path, _: u64, buf: &mut [u8], _: usize) {
        let tag = buf.len() - TAG;
        buf[tag..].fill(0);
    }

    fn decrypt(
        &self,
        _: Path,
        _: u64,
        _: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn limits(&self) -> (u64, u64) {
        (u64::MAX, u64::MAX)
    }
}
