//! The shares of a server's places, so that one client cannot hold all.
//!
//! One network may hold as many places as are free: the dynamic thresholds of Choudhury and Hahne
//! ("Dynamic queue length thresholds for shared-memory packet switches", 1998). Alone, it gets half
//! of them, and at most three quarters if it opens connections before it proves its address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Places of connections by the client's network: an IPv4 address, or 56 bits of an IPv6 address. One
/// site has all addresses of such a prefix: RFC 6177 section 2 recommends more than a /64 for a home,
/// and names /56.
///
/// A client with several networks gets a share for each: of `n`, all but one part in `n + 1`. A site with
/// a /48 has 256, so that it can leave fewer than one place. Only a limit outside the server stops it,
/// such as a firewall's.
#[derive(Debug, Default)]
pub struct Shares(BTreeMap<IpAddr, Held>);

/// The places of one network.
#[derive(Debug, Default)]
struct Held {
    all: usize,
    /// Those of clients that have proved their address.
    proved: usize,
}

/// The 56 bits of a site's prefix.
const SITE: u128 = u128::MAX << (128 - 56);

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & SITE)),
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
    fn an_ipv6_network_has_56_bits() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:200::1"), network("2001:db8:1:2ff:ffff::"));
        assert_ne!(network("2001:db8:1:200::1"), network("2001:db8:1:300::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Open { is_proved: bool },
        Ping,
        Close,
        Remove,
    }

    struct Place {
        is_proved: bool,
        is_closed: bool,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => any::<bool>().prop_map(|is_proved| Step::Open { is_proved }),
            2 => Just(Step::Ping),
            2 => Just(Step::Close),
            1 => Just(Step::Remove),
        ]
    }

    proptest! {
        /// One client opens connections, proves them by PINGs, and sends CLOSE as it likes, after which
        /// a connection holds its place until it is removed. Another client still finds a place, and
        /// removed connections leave no trace.
        #[test]
        fn one_network_never_holds_all_places(
            places in 2_usize..100,
            steps in proptest::collection::vec(step(), 0..400),
        ) {
            let (own, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
            let mut shares = Shares::default();
            let mut held: Vec<Place> = Vec::new();
            for step in steps {
                match step {
                    Step::Open { is_proved } => {
                        // One that is not admitted without a proof is asked for it.
                        let free = places - held.len();
                        let is_proved = is_proved || !shares.admit(own, false, free);
                        if shares.admit(own, is_proved, free) {
                            shares.open(own, is_proved);
                            held.push(Place { is_proved, is_closed: false });
                        }
                    }
                    Step::Ping => {
                        if let Some(first) = held.iter_mut().find(|one| !one.is_proved) {
                            first.is_proved = true;
                            shares.prove(own);
                        }
                    }
                    Step::Close => {
                        if let Some(first) = held.iter_mut().find(|one| !one.is_closed) {
                            first.is_closed = true;
                        }
                    }
                    Step::Remove => {
                        if let Some(index) = held.iter().position(|one| one.is_closed) {
                            shares.close(own, held.remove(index).is_proved);
                        }
                    }
                }
                prop_assert!(shares.admit(other, false, places - held.len()));
                prop_assert!(held.len() <= places * 3 / 4 + 1);
            }
            held.iter().for_each(|place| shares.close(own, place.is_proved));
            prop_assert!(shares.0.is_empty());
        }
    }
}
