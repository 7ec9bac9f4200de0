//! Names become addresses inside the connector, and an answer that holds one bad address is no answer: what was checked is
//! what is connected to, at every connection anew.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Policy;
use crate::queue::BoxFuture;

/// Looks up names.
pub(super) trait Lookup: Send + Sync {
    /// The addresses of a host.
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
pub(super) struct System;

impl Lookup for System {
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Some address of a name may not be asked.
#[derive(Debug)]
pub(super) struct NotPublic;

impl std::fmt::Display for NotPublic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an address of the name is not public")
    }
}

impl std::error::Error for NotPublic {}

/// A resolver that answers with allowed addresses alone.
pub(super) struct Checked {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: Policy,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, policy) = (Arc::clone(&self.lookup), self.policy);
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await?;
            if found.iter().any(|address| !policy.allows(*address)) {
                return Err(NotPublic.into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
