//! Cookies: stateless proof that a client receives datagrams at its address (as RFC 9000 section
//! 8.1.2, and the SYN cookies of RFC 4987 section 3.6).

use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher24;
use sojourn_units::Instant;

use crate::wire::Cookie;

/// Time for which a cookie is valid, in seconds.
const LIFETIME_S: u32 = 10;

/// The key of a server's cookies and connection IDs.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 16]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A cookie for this client.
    pub(super) fn cookie(&self, now: Instant, client: SocketAddr, id: u64) -> Cookie {
        let made_s = seconds(now);
        Cookie { made_s, tag: self.tag(b'c', client, id, u64::from(made_s)) }
    }

    /// Whether `cookie` was made for this client, and recently.
    pub(super) fn accepts(
        &self,
        now: Instant,
        client: SocketAddr,
        id: u64,
        cookie: &Cookie,
    ) -> bool {
        let age = seconds(now).wrapping_sub(cookie.made_s);
        age <= LIFETIME_S && cookie.tag == self.tag(b'c', client, id, u64::from(cookie.made_s))
    }

    /// A connection ID that only this client learns. `count` differs between connections.
    pub(super) fn connection_id(&self, client: SocketAddr, id: u64, count: u64) -> u64 {
        self.tag(b'i', client, id, count)
    }

    fn tag(&self, purpose: u8, client: SocketAddr, id: u64, number: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u8(purpose);
        match client.ip() {
            IpAddr::V4(ip) => hasher.write(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => hasher.write(&ip.octets()),
        }
        hasher.write_u16(client.port());
        hasher.write_u64(id);
        hasher.write_u64(number);
        hasher.finish()
    }
}

fn seconds(now: Instant) -> u32 {
    (now.0 / 1_000_000_000) as u32
}
