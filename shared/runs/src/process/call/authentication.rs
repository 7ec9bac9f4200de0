//! Authenticates a call, with credentials that may be secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use platform::outbound::HeaderValue;
use process::Data;
use process::definition::{self, Credential};
use serde::{Deserialize, Serialize};

use super::error::{CallError, Ended, ErrorKind};
use super::keyring::Keyring;
use super::part::Part;
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;

#[derive(Debug, Serialize, Deserialize)]
pub struct Authentication {
    scheme: Scheme,
    credential: Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Scheme {
    Basic,
    Bearer,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given {
    Secret(String),
    Values { username: Option<Part>, secret: Part },
}

impl Authentication {
    /// Evaluates the parts of the credentials that contain no secrets.
    pub async fn evaluate(
        process: &Process,
        view: &View<'_>,
        dot: &Data,
        authentication: Option<&definition::Authentication>,
    ) -> Result<Option<Self>, Fault> {
        let Some(authentication) = authentication else {
            return Ok(None);
        };
        let (scheme, credential) = match authentication {
            definition::Authentication::Basic(credential) => (Scheme::Basic, credential),
            definition::Authentication::Bearer(credential) => (Scheme::Bearer, credential),
        };
        let credential = match credential {
            Credential::Secret(name) => Given::Secret(name.clone()),
            Credential::Values { username, secret } => Given::Values {
                username: Part::optional(process, view, dot, username.as_ref()).await?,
                secret: Part::evaluate(process, view, dot, secret).await?,
            },
        };
        Ok(Some(Self { scheme, credential }))
    }

    fn has_secrets(&self) -> bool {
        match &self.credential {
            Given::Secret(_) => true,
            Given::Values { username, secret } => {
                !secret.is_plain() || username.as_ref().is_some_and(|username| !username.is_plain())
            }
        }
    }

    /// Builds the value of the header `Authorization`.
    pub(super) async fn header(&self, keyring: &mut Keyring<'_>) -> Result<HeaderValue, Ended> {
        let (username, password) = match &self.credential {
            Given::Secret(name) => {
                let value = keyring.open(name).await?;
                match self.scheme {
                    Scheme::Basic => (
                        Some(field(&value, name, "username")?),
                        field(&value, name, "password")?,
                    ),
                    // A secret that is one text is the token itself.
                    Scheme::Bearer => match value.as_text() {
                        Some(token) => (None, token),
                        None => (None, field(&value, name, "token")?),
                    },
                }
            }
            Given::Values { username, secret } => {
                let username = match username {
                    Some(username) => Some(text(&username.resolve(keyring).await?)?),
                    None => None,
                };
                (username, text(&secret.resolve(keyring).await?)?)
            }
        };
        let header = match self.scheme {
            Scheme::Basic => {
                let pair = format!("{}:{password}", username.unwrap_or_default());
                let credentials = STANDARD.encode(&pair);
                if self.has_secrets() {
                    keyring.remember(&pair);
                    keyring.remember(&credentials);
                }
                format!("Basic {credentials}")
            }
            Scheme::Bearer => format!("Bearer {password}"),
        };
        let mut header = HeaderValue::try_from(header).map_err(|_| {
            CallError::new(
                ErrorKind::Authorization,
                "The credentials hold a character that no header takes.",
            )
        })?;
        header.set_sensitive(true);
        Ok(header)
    }
}

fn field(secret: &Data, name: &str, field: &str) -> Result<String, CallError> {
    let value = secret.field(field).and_then(|value| value.as_text());
    value.ok_or_else(|| {
        CallError::new(
            ErrorKind::Authorization,
            format!("The secret '{name}' has no text '{field}'."),
        )
    })
}

fn text(value: &Data) -> Result<String, CallError> {
    let text = value.as_text();
    text.ok_or_else(|| CallError::new(ErrorKind::Expression, "The credentials are not texts."))
}
