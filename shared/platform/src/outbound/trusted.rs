//! Sends requests to URLs that the operator sets, such as that of a language model.

use std::sync::Arc;
use std::time::Duration;

use super::resolver::System;
use super::rules::{OwnServers, Policy, Rules};
use super::{Opened, Outbound, OutboundError, Request, Reuse};

/// Client for URLs of the operator: no address is refused. A type of its own, so that no URL of a caller is
/// sent through it by mistake.
#[derive(Clone)]
pub struct Trusted(Outbound);

impl Trusted {
    /// `connect` is the maximum time of a connection, including the handshake.
    pub fn new(connect: Duration, reuse: Reuse) -> Self {
        let rules = Rules::new(Policy::Any, OwnServers::default());
        Self(Outbound {
            connect,
            reuse,
            ..Outbound::over(Arc::new(System), rules)
        })
    }

    /// Sends a request, and returns once the head of its answer has arrived.
    pub async fn send(&self, request: Request<'_>) -> Result<Opened, OutboundError> {
        self.0.send(request).await
    }
}
