//! noq in virtual time.

use crate::noq as kit;
use crate::noq::cipher;

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

/// noq's interface, in the words of the sources that both stacks share.
mod dialect {
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::Instant;

    use bytes::{Bytes, BytesMut};
    use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
    use noq_proto::{
        Connection, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, SendStream,
        ServerConfig, Transmit, TransportError, TransportErrorCode,
    };

    use super::keys::Random;
    pub(super) use crate::noq::dialect::{Cid, Config, Path, proto};

    pub(super) fn endpoint(config: EndpointConfig, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(Arc::new(config), server, false)
    }

    pub(super) fn error(code: TransportErrorCode, reason: String) -> TransportError {
        TransportError::new(code, reason)
    }

    pub(super) fn draw_ids_from(config: &mut EndpointConfig, random: Random) {
        config.cid_generator(Arc::new(move || Box::new(random.clone())));
    }

    pub(super) fn handle(
        endpoint: &mut Endpoint,
        now: Instant,
        from: SocketAddr,
        ecn: Option<EcnCodepoint>,
        bytes: BytesMut,
        answer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(now, FourTuple::new(from, None), ecn, bytes, answer)
    }

    pub(super) fn poll_transmit(
        connection: &mut Connection,
        now: Instant,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        connection.poll_transmit(now, NonZeroUsize::MIN, out)
    }

    /// Writes to a stream; returns the bytes that it has taken.
    pub(super) fn write(stream: &mut SendStream<'_>, bytes: &'static [u8]) -> Option<usize> {
        let mut chunk = [Bytes::from_static(bytes)];
        stream.write_chunks(&mut &mut chunk[..]).ok()
    }

    /// No address validation tokens (RFC 9000 section 8.1): the server sends none.
    pub(super) struct NoTokens;

    impl HandshakeTokenKey for NoTokens {
        fn seal(&self, _: u128, _: &mut Vec<u8>) -> Result<(), CryptoError> {
            Err(CryptoError)
        }

        fn open<'a>(&self, _: u128, _: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
            Err(CryptoError)
        }
    }
}
