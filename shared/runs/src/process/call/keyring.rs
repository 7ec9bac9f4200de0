//! Opens the secrets of a call for the definition that names them, and keeps them from all but their hosts.

use std::collections::BTreeMap;

use platform::Tenant;
use platform::outbound::HeaderValue;
use process::Data;
use url::Url;

use super::answer::Response;
use super::error::{CallError, Ended, ErrorKind};
use crate::hosts::has_host;
use crate::process::definitions::Origin;
use crate::process::services::ProcessServices;
use crate::records::process_secrets::Holder;
use crate::redaction::Redaction;
use crate::secrets::Withheld;

/// Secrets of one call.
pub(super) struct Keyring<'a> {
    pub services: &'a ProcessServices,
    pub tenant: &'a Tenant,
    origin: Option<&'a Origin>,
    /// Hosts of each secret of the next request, by name.
    hosts: BTreeMap<String, Vec<String>>,
    /// Secrets of all requests of the call.
    redaction: Redaction,
}

fn withheld(detail: impl Into<String>) -> CallError {
    CallError::new(ErrorKind::Authorization, detail)
}

impl<'a> Keyring<'a> {
    pub fn new(services: &'a ProcessServices, tenant: &'a Tenant, origin: Option<&'a Origin>) -> Self {
        Self {
            services,
            tenant,
            origin,
            hosts: BTreeMap::new(),
            redaction: Redaction::default(),
        }
    }

    /// Opens a secret for the next request.
    pub async fn open(&mut self, name: &str) -> Result<Data, Ended> {
        let Some(origin) = self.origin else {
            return Err(withheld(format!("The definition does not name the secret '{name}'.")).into());
        };
        let definitions = &self.services.definitions;
        if !origin.is_stored && !definitions.allows_inline_secrets(self.tenant).await? {
            return Err(withheld(format!(
                "The secret '{name}' is for stored processes, and the definition of this run is not stored as '{}'; the operator \
                 stores it with 'ops process load', or allows secrets in inline definitions with 'ops project inline-secrets allow'.",
                origin.process
            ))
            .into());
        }
        let holder = Holder::Process(&origin.process);
        let opened = self.services.secrets.open(self.tenant, name, holder).await?;
        let secret = opened.map_err(|Withheld(why)| withheld(why))?;
        // The error of the parser could quote the secret.
        let value = Data::parse(secret.json.expose()).map_err(|_| {
            withheld(format!(
                "The secret '{name}' is not JSON; the operator sets it again."
            ))
        })?;
        self.redaction.add_secret(&value.to_value());
        self.hosts.insert(name.to_owned(), secret.hosts);
        Ok(value)
    }

    /// Remembers what is made of a secret and must not come back either.
    pub fn remember(&mut self, text: &str) {
        self.redaction.add(text);
    }

    /// Begins another request of the call, with secrets of its own.
    pub fn next_request(&mut self) {
        self.hosts.clear();
    }

    /// Fails where a secret of the request is not for the host of its address.
    pub fn check_host(&self, url: &Url) -> Result<(), CallError> {
        match self.hosts.iter().find(|(_, hosts)| !has_host(hosts, url)) {
            None => Ok(()),
            Some((name, _)) => Err(withheld(format!(
                "The secret '{name}' is not for the host of the call; the operator binds it anew with 'ops secret bind {name}', with '--host' \
                 beside what it is for now."
            ))),
        }
    }

    /// Strikes the secrets out of a text.
    pub fn struck(&self, text: String) -> String {
        self.redaction.text(text)
    }

    /// Strikes the secrets out of an output: its request and the names of headers may hold them as well.
    pub async fn struck_output(&self, output: Data) -> Result<Data, Ended> {
        let text = output.as_raw().get().to_owned();
        let struck = self.redaction.aside(|redaction| redaction.text(text)).await?;
        if struck == output.as_raw().get() {
            return Ok(output);
        }
        let error = "The answer holds a secret where it cannot be struck out.";
        Data::parse(&struck).map_err(|_| CallError::new(ErrorKind::Communication, error).into())
    }

    /// Strikes the secrets out of an answer.
    pub async fn struck_answer(&self, mut answer: Response) -> Result<Response, Ended> {
        let struck = self.redaction.aside(move |redaction| {
            answer.body = redaction.bytes(answer.body);
            for value in answer.headers.values_mut() {
                let bytes = redaction.bytes(value.as_bytes().to_vec());
                if bytes != value.as_bytes() {
                    *value = HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static(""));
                }
            }
            answer
        });
        Ok(struck.await?)
    }
}
