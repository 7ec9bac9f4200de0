//! Resolves names inside the connector, and refuses a name if any of its addresses is not allowed. So the
//! checked addresses are those that are connected to, for every connection.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use tower::{BoxError, Service};

use super::rules::Rules;

#[async_trait]
pub(super) trait Lookup: Send + Sync {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
pub(super) struct System;

#[async_trait]
impl Lookup for System {
    async fn lookup(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }
}

/// Resolver that returns only addresses that are allowed at a port.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) rules: Rules,
    pub(super) port: u16,
}

impl Service<Name> for Checked {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { lookup, rules, port } = self.clone();
        Box::pin(async move {
            let found = lookup.lookup(name.as_str()).await?;
            for address in &found {
                rules.check(name.as_str(), *address, port)?;
            }
            let addresses: Vec<_> = found
                .into_iter()
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            Ok(addresses.into_iter())
        })
    }
}
