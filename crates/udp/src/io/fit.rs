//! Packets that fit the path.

use std::net::SocketAddr;

use sojourn_transport::Config;
use sojourn_units::Bytes;

use crate::error::Error;
use crate::wire::HEADER;

const UDP: u64 = 8;
const IPV4: u64 = 20;
const IPV6: u64 = 40;

/// Reduces the payload so that a packet has the size that the settings give, `mss` and `header`, and
/// fits the path, as TCP derives its segments from the path (RFC 9293 section 3.7.1): over IPv6 the
/// payload is 20 bytes less. The headers of this format need at least 52 bytes of `header`.
pub(super) fn fit(config: &mut Config, to: SocketAddr, mtu: Option<u64>) -> Result<(), Error> {
    let ip = if to.is_ipv6() { IPV6 } else { IPV4 };
    let own = config.header.0.saturating_sub(UDP + IPV4).max(HEADER as u64);
    let overhead = ip + UDP + own;
    let size = (config.mss.0 + own + UDP + IPV4).min(mtu.unwrap_or(u64::MAX)).min(65_535);
    let mss = size.saturating_sub(overhead);
    if mss == 0 {
        return Err(Error::TooLarge { address: to, size: size.max(overhead + 1), most: 0 });
    }
    config.mss = config.mss.min(Bytes(mss));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_transport::Profile;

    fn payload(profile: Profile, to: &str, mtu: Option<u64>) -> u64 {
        let mut config = Config::new(profile);
        fit(&mut config, to.parse().unwrap(), mtu).unwrap();
        config.mss.0
    }

    #[test]
    fn packets_have_the_size_of_the_settings() {
        assert_eq!(payload(Profile::Tcp, "192.0.2.1:1", Some(1500)), 1448);
        assert_eq!(payload(Profile::Tcp, "[2001:db8::1]:1", None), 1428);
        assert_eq!(payload(Profile::Quic, "192.0.2.1:1", Some(1500)), 1420);
        assert_eq!(payload(Profile::Tcp, "192.0.2.1:1", Some(1400)), 1348);
    }
}
