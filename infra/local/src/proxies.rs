//! Finds the address of a caller behind proxies.
//!
//! Any caller can send `X-Forwarded-For`. So an entry counts only if the next address towards this process is
//! that of a trusted proxy, which wrote it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;
use platform::config::ConfigError;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Parses addresses and networks, comma-joined.
    pub fn parse(list: &str) -> Result<Self, ConfigError> {
        let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let network = |entry: &str| {
            let address = entry.parse::<IpAddr>().map(IpNet::from);
            address.or_else(|_| entry.parse::<IpNet>()).map_err(|_| {
                ConfigError::new(format!(
                    "The variable MILLRACE_TRUSTED_PROXIES has '{entry}'. Set it to addresses and networks, such as 127.0.0.1,10.0.0.0/8."
                ))
            })
        };
        entries.map(network).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the address of the caller: of the last one in the chain of proxies that is not trusted.
    pub fn caller(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let mut caller = peer.ip().to_canonical();
        let lines = headers.get_all(&FORWARDED_FOR).iter().rev();
        let entries = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
        for entry in entries {
            if !self.trusts(caller) {
                break;
            }
            match address(entry.trim()) {
                Some(address) => caller = address,
                None => break,
            }
        }
        caller
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Returns an address, without the port that some proxies add.
fn address(entry: &str) -> Option<IpAddr> {
    let literal = entry.strip_prefix('[').and_then(|entry| entry.strip_suffix(']'));
    let address = literal.unwrap_or(entry).parse::<IpAddr>();
    let address = address.or_else(|_| entry.parse::<SocketAddr>().map(|address| address.ip()));
    address.ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(proxies: &str, peer: &str, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let proxies = TrustedProxies::parse(proxies).unwrap();
        let peer = SocketAddr::new(peer.parse().unwrap(), 1);
        proxies.caller(peer, &headers).to_string()
    }

    #[test]
    fn header_of_another_sender_does_not_count() {
        assert_eq!(caller("", "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(caller("10.0.0.0/8", "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        assert_eq!(caller("10.0.0.0/8", "10.1.2.3", &[]), "10.1.2.3");
    }

    #[test]
    fn caller_is_the_last_address_that_is_not_a_trusted_proxy() {
        let proxies = "10.0.0.0/8, ::1,fd00::/8";
        for (lines, expected) in [
            (&["198.51.100.7"][..], "198.51.100.7"),
            (&["6.6.6.6, 198.51.100.7"], "198.51.100.7"),
            (&["6.6.6.6", "198.51.100.7,10.0.0.2"], "198.51.100.7"),
            (&["6.6.6.6, 198.51.100.7, fd00::2, 10.0.0.2"], "198.51.100.7"),
            (&["198.51.100.7:4711"], "198.51.100.7"),
            (&["[2001:db8::1]:4711"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["::ffff:198.51.100.7"], "198.51.100.7"),
            (&["10.0.0.3"], "10.0.0.3"),
            (&["198.51.100.7, unknown"], "10.0.0.1"),
            (&["198.51.100.7, \u{e9}"], "10.0.0.1"),
            (&[""], "10.0.0.1"),
        ] {
            assert_eq!(caller(proxies, "10.0.0.1", lines), expected, "{lines:?}");
        }
        assert_eq!(
            caller(proxies, "::ffff:10.0.0.1", &["198.51.100.7"]),
            "198.51.100.7"
        );
    }
}
