//! Sends HTTP requests: [`Outbound`] to URLs of callers (webhooks, the files of imports, calls of processes
//! and agents), [`Trusted`] to those that the operator sets.
//!
//! A caller must not reach through this service what it cannot reach itself. So: https to a port of web
//! servers; no address outside public space, in any notation, checked where the connection is made; in
//! development this machine as well, but no port of the service itself; no header that a receiver takes as
//! the word of a browser or a proxy; no redirect; no proxy; a body up to a cap, undecoded, and one deadline
//! for everything. The operator's URLs may lead anywhere, also by plain http; the rest holds for them too.
//!
//! **Invariant:** no connection for a caller is made to an address that was not checked at that moment.

mod address;
mod client;
mod error;
mod headers;
mod opened;
mod request;
mod resolver;
mod retry_after;
mod rules;
mod sse;
mod target;
mod trusted;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use client::HttpClient;
use resolver::{Lookup, System};
use rules::{Policy, Rules};
use tokio::time::{Instant, timeout_at};

use crate::config::{AwsEnvironment, ConfigError, Environment, variables};
use crate::deployment::Deployment;

pub use client::Reuse;
pub use error::OutboundError;
pub use headers::is_refused_header;
pub use hyper::Method;
pub use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use opened::Opened;
pub use request::Request;
pub use retry_after::retry_after_ms;
pub use rules::OwnServers;
pub use sse::{Event, Events};
pub use target::MAX_URL_BYTES;
pub use trusted::Trusted;

/// Maximum time of a connection to a URL of a caller, including the handshake. A connection may outlive the
/// request that opened it.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum time of a name lookup while its URL is checked.
const LOOKUP_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct Outbound {
    /// Created for the first request; otherwise each cold start of a function would read the system's
    /// certificates.
    client: Arc<OnceLock<HttpClient>>,
    lookup: Arc<dyn Lookup>,
    rules: Rules,
    connect: Duration,
    reuse: Reuse,
}

impl Outbound {
    /// Allows only public services; for the cloud.
    pub fn public() -> Self {
        Self::over(
            Arc::new(System),
            Rules::new(Policy::Public, OwnServers::default()),
        )
    }

    /// As [`from_environment`](Self::from_environment), except the servers of the deployment itself.
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        let outbound = Self::from_environment(deployment.environment(), &AwsEnvironment::read())?;
        Ok(outbound.excluding(deployment.own_servers()))
    }

    /// Allows only public services, or also this machine where `MILLRACE_LOCAL_TARGETS` is `true`.
    pub fn from_environment(
        environment: &Environment,
        machine: &AwsEnvironment,
    ) -> Result<Self, ConfigError> {
        let outbound = match environment.optional(variables::LOCAL_TARGETS) {
            None | Some("false") => Self::public(),
            Some("true") => Self::local(machine)?,
            Some(other) => {
                return Err(ConfigError::new(format!(
                    "The variable MILLRACE_LOCAL_TARGETS is '{other}'. Set it to true or false."
                )));
            }
        };
        let reuse = Reuse::of(machine);
        Ok(Self { reuse, ..outbound })
    }

    /// Also allows this machine and plain http, for development. Refused in a Lambda function unless an
    /// emulator on this machine runs it.
    pub fn local(machine: &AwsEnvironment) -> Result<Self, ConfigError> {
        if machine.function_name.is_some() && !machine.is_emulated() {
            return Err(ConfigError::new(
                "Requests to this very machine are for development; a Lambda function makes none: remove MILLRACE_LOCAL_TARGETS.",
            ));
        }
        let rules = Rules::new(Policy::Local, OwnServers::of_emulator(machine));
        Ok(Self::over(Arc::new(System), rules))
    }

    /// Returns a client with the same settings that reaches none of these servers either.
    #[must_use]
    pub fn excluding(&self, own: OwnServers) -> Self {
        Self {
            client: Arc::default(),
            lookup: Arc::clone(&self.lookup),
            rules: self.rules.excluding(own),
            connect: self.connect,
            reuse: self.reuse,
        }
    }

    fn over(lookup: Arc<dyn Lookup>, rules: Rules) -> Self {
        Self {
            client: Arc::default(),
            lookup,
            rules,
            connect: CONNECT_PATIENCE,
            reuse: Reuse::Kept,
        }
    }

    fn client(&self) -> Result<&HttpClient, OutboundError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = HttpClient::new(&self.lookup, &self.rules, self.connect, self.reuse)?;
        // If two callers create a client at the same time, both use the first.
        Ok(self.client.get_or_init(|| client))
    }

    /// Checks whether a URL is allowed, without using the network.
    pub fn check(&self, url: &str) -> Result<(), OutboundError> {
        target::parse(url, &self.rules).map(drop)
    }

    /// As [`check`](Self::check), and looks the name up once. An unknown name, or one not resolved within a
    /// second, is allowed, because the name is looked up again for every connection.
    pub async fn check_now(&self, url: &str) -> Result<(), OutboundError> {
        let uri = target::parse(url, &self.rules)?;
        let (host, port) = (uri.host().unwrap_or_default(), rules::port(&uri));
        if host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return Ok(());
        }
        let found = tokio::time::timeout(LOOKUP_PATIENCE, self.lookup.lookup(host)).await;
        let Ok(Ok(addresses)) = found else {
            return Ok(());
        };
        let mut checks = addresses.into_iter();
        checks.try_for_each(|address| Ok(self.rules.check(host, address, port)?))
    }

    /// Checks a request, sends it, and returns once the head of its answer has arrived.
    pub async fn send(&self, request: Request<'_>) -> Result<Opened, OutboundError> {
        let (max_bytes, deadline) = (request.max_bytes, request.deadline);
        let request = request.checked(&self.rules)?;
        let ends_at = Instant::now() + deadline;
        let sent = timeout_at(ends_at, self.client()?.send(request)).await;
        let response = sent.unwrap_or(Err(OutboundError::TooSlow(deadline)))?;
        Ok(Opened::new(response, max_bytes, ends_at, deadline))
    }
}

#[cfg(test)]
mod body_tests;
#[cfg(test)]
mod environment_tests;
#[cfg(test)]
mod own_tests;
#[cfg(test)]
mod reuse_tests;
#[cfg(test)]
mod tests;
