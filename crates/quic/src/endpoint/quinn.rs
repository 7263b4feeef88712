//! quinn in virtual time.

use crate::quinn as kit;
use crate::quinn::cipher;

#[path = "shared/crypto.rs"]
mod crypto;
#[path = "shared/end.rs"]
mod end;
#[path = "shared/keys.rs"]
mod keys;
#[path = "shared/plain.rs"]
mod plain;
#[path = "shared/stack.rs"]
pub(super) mod stack;

pub use crypto::{Crypto, SERVER_NAME, cryptography, key_log};

/// quinn's interface, in the words of the sources that both stacks share.
mod dialect {
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

    use bytes::{Bytes, BytesMut};
    use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey};
    use quinn_proto::{
        Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream,
        ServerConfig, Transmit, TransportError, TransportErrorCode,
    };

    use super::keys::Random;
    pub(super) use crate::quinn::dialect::{Cid, Config, Path, proto};

    pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(Arc::new(config), server, false, None)
    }

    pub(super) fn error(code: TransportErrorCode, reason: String) -> TransportError {
        TransportError { code, frame: None, reason }
    }

    pub(super) fn draw_ids_from(config: &mut EndpointConfig, random: Random) {
        config.cid_generator(move || Box::new(random.clone()));
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        from: SocketAddr,
        ecn: Option<EcnCodepoint>,
        bytes: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, from, None, ecn, bytes, answer)
    }

    pub(super) fn poll_transmit(
        connection: &mut Connection,
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, 1, out)
    }

    /// Writes to a stream; returns the bytes that it has taken.
    pub(super) fn write(stream: &mut SendStream<'_>, bytes: &'static [u8]) -> Option<usize> {
        let mut chunk = [Bytes::from_static(bytes)];
        stream.write_chunks(&mut chunk).ok().map(|written| written.bytes)
    }

    /// No address validation tokens (RFC 9000 section 8.1): the server sends none.
    pub(super) struct NoTokens;

    impl HandshakeTokenKey for NoTokens {
        fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
            Box::new(NoTokens)
        }
    }

    impl AeadKey for NoTokens {
        fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
            Err(CryptoError)
        }

        fn open<'a>(&self, _: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
            Err(CryptoError)
        }
    }
}
