//! The shares of a server's places, so that one client cannot hold all.
//!
//! One network may hold as many places as are free: the dynamic thresholds of Choudhury and Hahne
//! ("Dynamic queue length thresholds for shared-memory packet switches", 1998). Alone, it gets half
//! of them, and at most three quarters if it opens connections before it proves its address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Places of connections by the client's network: an IPv4 address, or 64 bits of an IPv6 address,
/// since one host has all addresses of such a prefix (RFC 6177 section 2).
#[derive(Debug, Default)]
pub struct Shares(BTreeMap<IpAddr, Held>);

/// The places of one network.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    /// Those of clients that have proved their address.
    proved: usize,
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
    }
}

impl Shares {
    /// Whether a client may take one of `free` places. One that has proved its address competes with
    /// others that have: spoofed datagrams take nothing from it.
    pub fn admit(&self, from: IpAddr, is_proved: bool, free: usize) -> bool {
        let Some(held) = self.0.get(&network(from)) else { return free > 0 };
        let own = if is_proved { held.proved } else { held.all };
        // The last place is for another network.
        own + 1 < free
    }

    /// A client takes a place.
    pub fn open(&mut self, from: IpAddr, is_proved: bool) {
        let held = self.0.entry(network(from)).or_default();
        held.all += 1;
        held.proved += usize::from(is_proved);
    }

    /// A client that holds a place has proved its address.
    pub fn prove(&mut self, from: IpAddr) {
        if let Some(held) = self.0.get_mut(&network(from)) {
            held.proved += 1;
        }
    }

    /// A client leaves its place.
    pub fn close(&mut self, from: IpAddr, is_proved: bool) {
        let network = network(from);
        let Some(held) = self.0.get_mut(&network) else { return };
        held.all -= 1;
        held.proved -= usize::from(is_proved);
        if held.all == 0 {
            self.0.remove(&network);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_ipv6_network_has_64_bits() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3::1"), network("2001:db8:1:2:ffff::"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }

    proptest! {
        /// One client opens and proves connections as it likes. Another still finds a place, and
        /// closed connections leave no trace.
        #[test]
        fn one_network_never_holds_all_places(
            places in 2_usize..100,
            steps in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..400),
        ) {
            let (own, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
            let mut shares = Shares::default();
            let mut open: Vec<bool> = Vec::new();
            for (opens, is_proved) in steps {
                if opens {
                    // One that is not admitted without a proof is asked for it.
                    let free = places - open.len();
                    let is_proved = is_proved || !shares.admit(own, false, free);
                    if shares.admit(own, is_proved, free) {
                        shares.open(own, is_proved);
                        open.push(is_proved);
                    }
                } else if let Some(first) = open.iter_mut().find(|one| !**one) {
                    *first = true;
                    shares.prove(own);
                }
                prop_assert!(shares.admit(other, false, places - open.len()));
                prop_assert!(open.len() <= places * 3 / 4 + 1);
            }
            open.iter().for_each(|is_proved| shares.close(own, *is_proved));
            prop_assert!(shares.0.is_empty());
        }
    }
}
