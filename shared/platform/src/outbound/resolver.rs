//! Names become addresses inside the connector, and an answer that holds one bad address is no answer: what was checked is
//! what is connected to, at every connection anew.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower::{BoxError, Service};

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

/// Some address of the host may not be asked.
#[derive(Debug, thiserror::Error)]
#[error("an address of the name is not public")]
pub(super) struct NotPublic(pub(super) String);

/// A resolver that answers with allowed addresses alone.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: Policy,
}

impl Service<Name> for Checked {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (lookup, policy) = (Arc::clone(&self.lookup), self.policy);
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await?;
            if found.iter().any(|address| !policy.allows(*address)) {
                return Err(NotPublic(name.as_str().to_owned()).into());
            }
            let addresses: Vec<_> = found
                .into_iter()
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            Ok(addresses.into_iter())
        })
    }
}
