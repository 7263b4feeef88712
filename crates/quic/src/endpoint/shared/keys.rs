//! Connection IDs and reset tokens that a seed decides.

use std::sync::{Arc, Mutex};

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::dialect::proto;
use crate::lock::lock;
use proto::crypto::{CryptoError, HmacKey};
use proto::{ConnectionId, ConnectionIdGenerator};

/// Length of connection IDs, which the stacks have by default.
const ID_LEN: usize = 8;

/// A source of random numbers, shared by the parts of one end.
#[derive(Clone)]
pub(super) struct Random(Arc<Mutex<Xoshiro256PlusPlus>>);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(Arc::new(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed))))
    }

    pub(super) fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        lock(&self.0).fill_bytes(&mut bytes);
        bytes
    }

    pub(super) fn connection_id(&self) -> ConnectionId {
        ConnectionId::new(&self.bytes::<ID_LEN>())
    }
}

impl ConnectionIdGenerator for Random {
    fn generate_cid(&mut self) -> ConnectionId {
        self.connection_id()
    }

    fn cid_len(&self) -> usize {
        ID_LEN
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Stateless reset tokens (RFC 9000 section 10.3). In virtual time, each token only has to differ
/// from the others.
pub(super) struct ResetKey(pub(super) u64);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let seed = data.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = [0; 32];
        self.sign(data, &mut own);
        if own == signature { Ok(()) } else { Err(CryptoError) }
    }
}
