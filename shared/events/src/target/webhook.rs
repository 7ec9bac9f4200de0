//! Defines the target that posts events to a URL.

use std::collections::BTreeMap;

use platform::outbound::Outbound;
use platform::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::fields::add_type;
use crate::template::warnings;

/// Type of the target, which a delivery to it records.
pub const WEBHOOK: &str = "webhook";
/// Headers that a subscription may set; none of them carries credentials.
pub const ALLOWED_HEADERS: [&str; 6] = [
    "accept",
    "content-type",
    "user-agent",
    "x-request-id",
    "x-correlation-id",
    "x-service-correlation-id",
];
/// Maximum length of the value of such a header, in bytes.
const MAX_HEADER_BYTES: usize = 500;
/// Default time limit of a receiver, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// Allowed time limits of a receiver, in milliseconds.
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 1_000..=50_000;
/// Warning for a webhook without signatures.
const UNSIGNED: &str = "The deliveries of this webhook are not signed, so its receiver cannot tell them from forged requests; set \
                        'target.signing_mode' to 'signed'.";

/// Whether deliveries are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SigningMode {
    /// Each request carries a signature made with the subscription's own secret.
    Signed,
    /// Requests carry no signature.
    LegacyUnsigned,
}

/// Form of a delivery's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayloadMode {
    /// An object with the event under `event` and the attempt under `delivery`.
    #[default]
    EventEnvelope,
}

/// A URL that events are posted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = of_type_webhook)]
pub struct WebhookTarget {
    /// URL of the receiver: https, a public host, a port of web servers.
    pub url: String,
    /// Whether requests are signed. Default: unsigned. `signed` is recommended: without a signature the
    /// receiver cannot tell a delivery from a forged request.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "platform::http::strict::optional_name"
    )]
    pub signing_mode: Option<SigningMode>,
    /// Form of the request body. Default: `event_envelope`.
    #[serde(default, deserialize_with = "platform::http::strict::name")]
    pub payload_mode: PayloadMode,
    /// Time that the receiver has to answer, in milliseconds. Default: 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 50_000))]
    pub timeout_ms: Option<u64>,
    /// Headers to set: accept, content-type, user-agent, x-request-id, x-correlation-id and
    /// x-service-correlation-id, each of at most 500 bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// Adds the `type` of webhooks to a schema.
pub fn of_type_webhook(schema: &mut Schema) {
    add_type(schema, WEBHOOK);
}

impl WebhookTarget {
    pub(super) async fn check(&self, outbound: &Outbound) -> Result<()> {
        outbound
            .check_now(&self.url)
            .await
            .map_err(|why| Error::invalid_field("target.url", format!("cannot be delivered to: {why}.")))?;
        if self
            .timeout_ms
            .is_some_and(|timeout| !TIMEOUT_MS.contains(&timeout))
        {
            return Err(Error::invalid_field(
                "target.timeout_ms",
                format!("must be from {} to {}.", TIMEOUT_MS.start(), TIMEOUT_MS.end()),
            ));
        }
        let mut names = Vec::new();
        for (name, value) in &self.headers {
            let folded = name.to_ascii_lowercase();
            if !ALLOWED_HEADERS.contains(&folded.as_str()) {
                return Err(Error::invalid(format!(
                    "The header '{name}' cannot be set on a webhook; allowed are {}. Receivers know who calls by the signature.",
                    ALLOWED_HEADERS.join(", ")
                )));
            }
            let plain = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
            if value.len() > MAX_HEADER_BYTES || !value.bytes().all(plain) {
                return Err(Error::invalid(format!(
                    "The header '{name}' has at most {MAX_HEADER_BYTES} printable ASCII characters."
                )));
            }
            if names.contains(&folded) {
                return Err(Error::invalid(format!("The header '{name}' is given twice.")));
            }
            names.push(folded);
        }
        Ok(())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let reason = "the address and the headers of a webhook have no templates, and its body has the event";
        let unsigned = (!self.is_signed()).then(|| UNSIGNED.to_owned());
        let url = warnings::of_constant("target.url", &self.url, reason);
        let headers = self.headers.iter().filter_map(|(name, value)| {
            warnings::of_constant(&format!("target.headers.{name}"), value, reason)
        });
        unsigned.into_iter().chain(url).chain(headers).collect()
    }

    pub fn is_signed(&self) -> bool {
        self.signing_mode == Some(SigningMode::Signed)
    }

    pub fn timeout(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS))
    }
}
