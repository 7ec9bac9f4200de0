//! States which addresses requests may reach, and at which ports.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use hyper::Uri;

use super::address;
use crate::config::AwsEnvironment;

/// Addresses that requests may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// Public ones, over https.
    Public,
    /// Also this machine, and plain http; for development.
    Local,
    /// All of them, over https or plain http; for URLs that the operator sets.
    Any,
}

/// Servers of the service itself that listen on this machine. They trust callers for being on it, so no
/// request of a caller's reaches them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnServers {
    pub ports: Vec<u16>,
    /// Host names and addresses that lead to them from outside, such as through a proxy.
    pub names: Vec<String>,
}

impl OwnServers {
    /// Returns the emulator of AWS on this machine, which holds the records and objects; none outside of one.
    pub(super) fn of_emulator(machine: &AwsEnvironment) -> Self {
        let endpoint = machine.endpoint_url.as_deref().filter(|_| machine.is_emulated());
        let endpoint = endpoint.and_then(|endpoint| endpoint.parse::<Uri>().ok());
        Self {
            ports: endpoint.iter().map(port).collect(),
            names: Vec::new(),
        }
    }
}

/// Returns the port of a URL, as a connection uses it.
pub(super) fn port(uri: &Uri) -> u16 {
    let default = if uri.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    uri.port_u16().unwrap_or(default)
}

/// A host that requests may not reach. The text is the end of a sentence about the URL.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotAllowed(pub String);

#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub policy: Policy,
    own: Arc<OwnServers>,
}

impl Rules {
    pub fn new(policy: Policy, own: OwnServers) -> Self {
        Self {
            policy,
            own: Arc::new(own),
        }
    }

    /// Returns the same rules, with more servers of the service itself.
    #[must_use]
    pub fn excluding(&self, more: OwnServers) -> Self {
        let mut own = self.own.as_ref().clone();
        own.ports.extend(more.ports);
        own.names.extend(more.names);
        Self::new(self.policy, own)
    }

    /// Checks one address of a host.
    pub fn check(&self, host: &str, address: IpAddr, port: u16) -> Result<(), NotAllowed> {
        if address::is_public(address) {
            return Ok(());
        }
        match self.policy {
            Policy::Any => Ok(()),
            Policy::Local if address.is_loopback() && self.own.ports.contains(&port) => Err(NotAllowed(
                format!("port {port} of this machine is the service's own, which no request reaches"),
            )),
            Policy::Local if address.is_loopback() => Ok(()),
            Policy::Local | Policy::Public => {
                Err(NotAllowed(format!("the address of '{host}' is not public")))
            }
        }
    }

    /// Checks a host before any lookup: its address where it is one, and whether it is a name of the service
    /// itself.
    pub fn check_host(&self, host: &url::Host<&str>, port: u16) -> Result<(), NotAllowed> {
        let text = host.to_string();
        let name = text.strip_suffix('.').unwrap_or(&text);
        let is_own = |own: &String| own.trim_end_matches('.').eq_ignore_ascii_case(name);
        if self.own.names.iter().any(is_own) {
            return Err(NotAllowed(format!(
                "'{name}' is the service's own name, which no request reaches"
            )));
        }
        let address = match host {
            url::Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            url::Host::Ipv6(address) => Some(IpAddr::V6(*address)),
            // RFC 6761, section 6.3: these names stand for the loopback interface, whatever a resolver says.
            url::Host::Domain(_) if name == "localhost" || name.ends_with(".localhost") => {
                Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
            }
            url::Host::Domain(_) => None,
        };
        address.map_or(Ok(()), |address| self.check(name, address, port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_of_an_emulator_is_the_services_own() {
        let ports = |endpoint: Option<&str>| {
            let machine = AwsEnvironment {
                endpoint_url: endpoint.map(str::to_owned),
                ..AwsEnvironment::default()
            };
            OwnServers::of_emulator(&machine).ports
        };
        assert_eq!(ports(Some("http://127.0.0.1:4566")), [4_566]);
        assert_eq!(ports(Some("http://localhost")), [80]);
        assert_eq!(ports(Some("https://[::1]/")), [443]);
        assert_eq!(
            ports(Some("https://sqs.eu-central-1.amazonaws.com:8443")),
            [0_u16; 0]
        );
        assert_eq!(ports(None), [0_u16; 0]);
    }
}
