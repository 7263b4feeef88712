//! No cryptography, for speed and equal bytes: packets of the same sizes, in plain text.
//!
//! The handshake has the messages and the encryption levels of TLS (RFC 9001 section 4.1.4), padded
//! to typical sizes. It carries the transport parameters alone. Only both ends of a simulation
//! understand it.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;

use super::cipher::{Cipher, Key};
use super::crypto::Crypto;
use super::dialect::{self, Cid, Config, Path, proto};
use proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use proto::transport_parameters::TransportParameters;
use proto::{ConnectError, Side, TransportError, TransportErrorCode};

/// Length of an AEAD tag, as AES-128-GCM has (RFC 9001 section 5.3).
const TAG: usize = 16;
/// Size of a message without transport parameters: of `ServerHello`, and of the client's
/// `Finished`.
const SERVER_HELLO: usize = 90;
const FINISHED: usize = 36;
/// Size of `ClientHello`, and of the server's messages from `EncryptedExtensions` to `Finished`,
/// beside the transport parameters.
const CLIENT_HELLO: usize = 180;
const SERVER_FLIGHT: usize = 550;

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

/// The next action of an end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The client writes `ClientHello`.
    Hello,
    /// Wait for the peer's first message.
    AwaitHello,
    /// Give the Handshake keys; the server writes `ServerHello`.
    HandshakeKeys,
    /// The client waits for the server's other messages.
    AwaitFlight,
    /// Give the 1-RTT keys, and write the last messages.
    DataKeys,
    /// The server waits for the client's `Finished`.
    AwaitFinished,
    Done,
}

struct PlainSession {
    side: Side,
    step: Step,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Received bytes that are not yet a whole message.
    received: Vec<u8>,
    is_handshaking: bool,
}

impl PlainSession {
    fn boxed(side: Side, params: &TransportParameters) -> Box<dyn Session> {
        let mut own = Vec::new();
        params.write(&mut own);
        let step = if side == Side::Client { Step::Hello } else { Step::AwaitHello };
        let (peer, received) = (None, Vec::new());
        Box::new(PlainSession { side, step, own, peer, received, is_handshaking: true })
    }

    /// A whole message has arrived.
    fn on_message(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let has_params = matches!(
            (self.side, self.step),
            (Side::Server, Step::AwaitHello) | (Side::Client, Step::AwaitFlight)
        );
        if has_params {
            let len = usize::from(u16::from_be_bytes([message[0], message[1]]));
            let mut params = message.get(2..2 + len).ok_or_else(malformed)?;
            let params = TransportParameters::read(self.side, &mut params);
            self.peer = Some(params.map_err(|_| malformed())?);
        }
        match (self.side, self.step) {
            (_, Step::AwaitHello) => self.step = Step::HandshakeKeys,
            (Side::Client, Step::AwaitFlight) => {
                (self.step, self.is_handshaking) = (Step::DataKeys, false);
            }
            (Side::Server, Step::AwaitFinished) => {
                (self.step, self.is_handshaking) = (Step::Done, false);
            }
            _ => return Err(malformed()),
        }
        Ok(())
    }

    /// Writes a message: its length, the length of the transport parameters, these, and padding.
    fn write(buf: &mut Vec<u8>, params: &[u8], padding: usize) {
        let len = 2 + params.len() + padding;
        buf.extend((len as u16).to_be_bytes());
        buf.extend((params.len() as u16).to_be_bytes());
        buf.extend(params);
        buf.resize(buf.len() + padding, 0);
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
        self.is_handshaking
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.received.extend(buf);
        while let [high, low, rest @ ..] = &self.received[..] {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            if len < 2 {
                return Err(malformed());
            }
            let Some(message) = rest.get(..len).map(<[u8]>::to_vec) else { break };
            self.received.drain(..2 + len);
            self.on_message(&message)?;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let is_client = self.side == Side::Client;
        match self.step {
            Step::Hello => {
                PlainSession::write(buf, &self.own, CLIENT_HELLO);
                self.step = Step::AwaitHello;
                None
            }
            Step::HandshakeKeys => {
                if !is_client {
                    PlainSession::write(buf, &[], SERVER_HELLO);
                }
                self.step = if is_client { Step::AwaitFlight } else { Step::DataKeys };
                Some(keys())
            }
            Step::DataKeys => {
                match is_client {
                    true => PlainSession::write(buf, &[], FINISHED),
                    false => PlainSession::write(buf, &self.own, SERVER_FLIGHT),
                }
                self.step = if is_client { Step::Done } else { Step::AwaitFinished };
                Some(keys())
            }
            Step::AwaitHello | Step::AwaitFlight | Step::AwaitFinished | Step::Done => None,
        }
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
