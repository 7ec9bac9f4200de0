//! Opens the credentials for an MCP server, and keeps them out of what comes back from it.

use platform::Tenant;
use platform::outbound::{HeaderMap, HeaderName, HeaderValue};
use prompts::records::interactions::McpServer;
use serde_json::{Map, Value};
use url::Url;

use super::super::super::fault::Refusal;
use super::super::super::services::Services;
use crate::hosts::has_host;
use crate::records::process_secrets::Holder;
use crate::redaction::Redaction;
use crate::secrets::Withheld;

/// Headers of the requests to a server, and what must not come back from it.
#[derive(Default)]
pub(super) struct Credentials {
    pub headers: HeaderMap,
    pub redaction: Redaction,
}

impl Credentials {
    /// Reads the headers from the server's secret, a JSON object of strings.
    pub async fn read(services: &Services, tenant: &Tenant, server: &McpServer) -> Result<Self, Refusal> {
        let Some(name) = &server.headers_secret else {
            return Ok(Self::default());
        };
        let refused = |what: &str| Refusal(format!("The secret '{name}' of the MCP server {what}."));
        let secret = services
            .secrets
            .open(tenant, name, Holder::McpServer(&server.name))
            .await
            .map_err(|_| refused("cannot be read for now"))?
            .map_err(|Withheld(why)| Refusal(why))?;
        if !Url::parse(&server.url).is_ok_and(|url| has_host(&secret.hosts, &url)) {
            return Err(refused(
                "is not for the host of its URL; the operator binds it with 'ops secret bind'",
            ));
        }
        let fields: Map<String, Value> = serde_json::from_str(secret.json.expose())
            .map_err(|_| refused("is not a JSON object of header names and values"))?;
        let mut credentials = Self::default();
        for (name, value) in fields {
            credentials.redaction.add_secret(&value);
            let value = value.as_str().and_then(|value| HeaderValue::from_str(value).ok());
            match (HeaderName::from_bytes(name.as_bytes()), value) {
                (Ok(name), Some(mut value)) => {
                    value.set_sensitive(true);
                    credentials.headers.insert(name, value);
                }
                _ => return Err(refused("has an entry that is no header")),
            }
        }
        Ok(credentials)
    }

    pub fn struck(&self, text: String) -> String {
        self.redaction.text(text)
    }

    pub fn broken(&self, error: &dyn std::error::Error) -> Refusal {
        let causes = std::iter::successors(Some(error), |error| error.source());
        let mut reasons: Vec<String> = causes.map(ToString::to_string).collect();
        reasons.dedup();
        // Struck before it is cut, because a part of a secret is not recognized.
        let reason: String = self.struck(reasons.join(": ")).chars().take(500).collect();
        Refusal(format!("The MCP server failed: {reason}"))
    }

    pub fn struck_refusal(&self, refusal: Refusal) -> Refusal {
        Refusal(self.struck(refusal.0))
    }
}
