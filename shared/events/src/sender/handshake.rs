//! Answers the requests by which senders ask whether a URL wants their events. They make no event.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderName, HeaderValue};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::Sha256;
use url::Url;

use super::certificate::{as_allowed_url, check_hosts};
use super::content::pieces;
use super::source::{self, Fields};

pub const MAX_HANDSHAKES: usize = 10;
/// Longest echoed text, in bytes.
const MAX_ECHO_BYTES: usize = 4_096;
const HMAC: &str = "hmac:";

/// Method of a handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HandshakeMethod {
    /// A POST, told from events by `when`.
    #[default]
    Post,
    /// A GET.
    Get,
    /// A HEAD.
    Head,
    /// An OPTIONS.
    Options,
}

impl HandshakeMethod {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Post => "POST",
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }
}

/// Answer to a handshake. Texts are templates over values of the request, as in `{{ challenge }}` or
/// `{{ header:x-hook-secret }}`; `{{ hmac:payload.plainToken }}` is the HMAC-SHA256 of a value with the
/// signing secret, in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandshakeAnswer {
    /// Status. Default: 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 200, max = 299))]
    pub status: Option<u16>,
    /// Headers that the sender wants to see, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Body as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
}

/// A request by which a sender asks whether the URL wants its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Handshake {
    /// Method of the request. Default: `post`.
    #[serde(deserialize_with = "platform::http::strict::name")]
    pub method: HandshakeMethod,
    /// What tells the request from others: values such as `type`, `header:x-hook-secret` or
    /// `query:hub.mode`, each with the text that it must have, or null for any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Option<String>>,
    /// Where the request has the channel's token, such as `query:hub.verify_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Whether the request needs the channel's credentials. Default: false, which is for requests that only
    /// get an answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub verified: bool,
    /// The answer. Default: the status 200 without a body.
    pub answer: HandshakeAnswer,
    /// Where the request has a URL to visit for a confirmation, such as `SubscribeURL`; only with
    /// `verified`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<String>,
    /// Hosts that may be visited, over https.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Where the request has the secret of later signatures, such as `header:x-hook-secret`. It is taken
    /// while the channel has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A filled answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Content type and body.
    pub body: Option<(&'static str, String)>,
}

impl Handshake {
    /// Fails with 400 for an invalid handshake.
    pub fn check(&self) -> Result<()> {
        let field = |name: &str| format!("handshakes.{name}");
        for text in self.when.keys() {
            source::check(&field("when"), text)?;
        }
        for (name, text) in [
            ("token", &self.token),
            ("visit", &self.visit),
            ("secret", &self.secret),
        ] {
            if let Some(text) = text {
                source::check(&field(name), text)?;
            }
        }
        if self.method == HandshakeMethod::Post && self.when.is_empty() {
            return Err(Error::invalid_field(
                &field("when"),
                "is missing: say what tells the request from an event.",
            ));
        }
        if self.answer.has_hmac() && !self.verified {
            return Err(Error::invalid_field(
                &field("verified"),
                "must be true where the answer has an hmac: anyone could have what they want signed.",
            ));
        }
        if self.visit.is_some() {
            if !self.verified {
                return Err(Error::invalid_field(&field("visit"), "needs 'verified'."));
            }
            check_hosts(&field("hosts"), &self.hosts)?;
        }
        self.answer.check()
    }

    /// Whether a request is this handshake.
    pub fn is(&self, fields: Fields<'_>) -> bool {
        self.method.as_str() == fields.request.method
            && self.when.iter().all(|(place, text)| match text {
                None => source::find(place, fields).is_some(),
                Some(text) => source::find_text(place, fields).as_ref() == Some(text),
            })
    }

    /// Returns the URL that a request asks to visit. An error says why it is not visited.
    pub fn address(&self, fields: Fields<'_>) -> Option<std::result::Result<Url, String>> {
        let place = self.visit.as_ref()?;
        let url = source::find_text(place, fields).and_then(|text| as_allowed_url(&text, &self.hosts));
        Some(url.ok_or_else(|| format!("'{place}' is no https URL of {}", self.hosts.join(", "))))
    }
}

impl HandshakeAnswer {
    fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<_> = self
            .text
            .iter()
            .chain(self.headers.values())
            .map(String::as_str)
            .collect();
        if let Some(json) = &self.json {
            collect(json, &mut texts);
        }
        texts
    }

    /// Whether the answer needs the signing secret.
    pub fn has_hmac(&self) -> bool {
        let mut names = self
            .texts()
            .into_iter()
            .flat_map(pieces)
            .filter(|piece| piece.is_name);
        names.any(|piece| piece.text.starts_with(HMAC))
    }

    fn check(&self) -> Result<()> {
        const FIELD: &str = "handshakes.answer";
        if self.status.is_some_and(|status| !(200..=299).contains(&status)) {
            return Err(Error::invalid_field(
                "handshakes.answer.status",
                "must be from 200 to 299.",
            ));
        }
        if self.text.is_some() && self.json.is_some() {
            return Err(Error::invalid_field(FIELD, "has 'text' or 'json', and not both."));
        }
        for name in self.headers.keys() {
            let is_allowed = HeaderName::try_from(name.as_str())
                .is_ok_and(|name| !REFUSED_HEADERS.contains(&name.as_str()));
            if !is_allowed {
                return Err(Error::invalid_field(
                    "handshakes.answer.headers",
                    format!("cannot have the header '{name}'."),
                ));
            }
        }
        for name in self
            .texts()
            .into_iter()
            .flat_map(pieces)
            .filter(|piece| piece.is_name)
        {
            source::check(FIELD, name.text.strip_prefix(HMAC).unwrap_or(name.text))?;
        }
        Ok(())
    }

    /// Fills the answer to a request; None where the request lacks a value, or the channel the secret.
    pub fn fill(&self, fields: Fields<'_>, secret: Option<&str>) -> Option<Reply> {
        let fill = |text: &str| fill(text, fields, secret);
        let mut headers = Vec::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name.as_str()).ok()?;
            headers.push((name, HeaderValue::from_str(&fill(value)?).ok()?));
        }
        let body = match (&self.text, &self.json) {
            (Some(text), _) => Some(("text/plain; charset=utf-8", fill(text)?)),
            (_, Some(json)) => Some(("application/json", fill_json(json, &fill)?.to_string())),
            (None, None) => None,
        };
        let status = self.status.unwrap_or(200);
        Some(Reply {
            status,
            headers,
            body,
        })
    }
}

/// Headers that would change how the answer is carried or read.
const REFUSED_HEADERS: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "location",
    "set-cookie",
    "transfer-encoding",
];

fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

fn fill_json(value: &Value, fill: &impl Fn(&str) -> Option<String>) -> Option<Value> {
    Some(match value {
        Value::String(text) => Value::String(fill(text)?),
        Value::Array(items) => items
            .iter()
            .map(|item| fill_json(item, fill))
            .collect::<Option<_>>()?,
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| Some((name.clone(), fill_json(value, fill)?)));
            Value::Object(fields.collect::<Option<Map<_, _>>>()?)
        }
        other => other.clone(),
    })
}

fn fill(template: &str, fields: Fields<'_>, secret: Option<&str>) -> Option<String> {
    let mut text = String::new();
    for piece in pieces(template) {
        match (piece.is_name, piece.text.strip_prefix(HMAC)) {
            (false, _) => text.push_str(piece.text),
            (true, None) => text.push_str(&source::find_text(piece.text, fields)?),
            (true, Some(place)) => {
                let value = source::find_text(place, fields)?;
                let mut mac = Hmac::<Sha256>::new_from_slice(secret?.as_bytes()).ok()?;
                mac.update(value.as_bytes());
                text.push_str(&hex::encode(mac.finalize().into_bytes()));
            }
        }
        if text.len() > MAX_ECHO_BYTES {
            return None;
        }
    }
    Some(text)
}
