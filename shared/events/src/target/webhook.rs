//! Defines the target that posts events to a URL.

use std::collections::BTreeMap;

use platform::outbound::Outbound;
use platform::{Error, Result};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::{add_type, check_value_size};
use super::retry::Retry;
use crate::path::{self, MAX_PATH_CHARACTERS};
use crate::template::{self, warnings};

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
/// Allowed numbers of requests a second.
const RATE: std::ops::RangeInclusive<u32> = 1..=1_000;
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
    /// The filled `template`, such as the text that a chat's incoming webhook takes.
    Template,
}

/// A URL that events are posted to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Body of the requests, for the `payload_mode` `template`: any JSON with event templates, such as
    /// `{"text": "Order {{ event.resource_id }}"}`, at most 65,536 bytes. A text is sent as `text/plain`,
    /// anything else as JSON; `headers` may set another content type. Signatures are over the filled body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<Value>,
    /// How often and after which statuses a delivery is retried. Default: 10 attempts within about 16 hours,
    /// after 408, 425, 429, 5xx, and where there is no answer.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "platform::http::strict::optional_object"
    )]
    pub retry: Option<Retry>,
    /// Maximum number of requests in a second of the clock, over all deliveries of the subscription. A
    /// delivery above it waits for a later second. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub rate_per_second: Option<u32>,
    /// Path into the event to a key, such as `details.payload.order_id`: deliveries with the same key are
    /// made one after the other, in the order in which their events arrived, at least 1.5 seconds after the
    /// event. One that is retried holds up the later ones of its key alone; one that has failed lets them go
    /// on. An event without the key is delivered at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub ordered_by: Option<String>,
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
        if self.rate_per_second.is_some_and(|rate| !RATE.contains(&rate)) {
            return Err(Error::invalid_field(
                "target.rate_per_second",
                format!("must be from {} to {}.", RATE.start(), RATE.end()),
            ));
        }
        if let Some(path) = &self.ordered_by {
            path::check("target.ordered_by", path)?;
        }
        if let Some(retry) = &self.retry {
            retry.check()?;
        }
        self.check_template()
    }

    fn check_template(&self) -> Result<()> {
        match (self.payload_mode, &self.template) {
            (PayloadMode::EventEnvelope, None) => Ok(()),
            (PayloadMode::Template, Some(template)) => {
                check_value_size("target.template", template)?;
                template::check("target.template", template)
            }
            (PayloadMode::Template, None) => Err(Error::invalid_field(
                "target.template",
                "is missing; it is the body of requests whose 'target.payload_mode' is 'template'.",
            )),
            (PayloadMode::EventEnvelope, Some(_)) => Err(Error::invalid_field(
                "target.template",
                "is not used; set 'target.payload_mode' to 'template', or leave it out.",
            )),
        }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let reason = "the address and the headers of a webhook have no templates, and its body has the event";
        let unsigned = (!self.is_signed()).then(|| UNSIGNED.to_owned());
        let url = warnings::of_constant("target.url", &self.url, reason);
        let headers = self.headers.iter().filter_map(|(name, value)| {
            warnings::of_constant(&format!("target.headers.{name}"), value, reason)
        });
        let template = self.template.iter();
        let template = template.flat_map(|template| warnings::of_template_value("target.template", template));
        let key = self.ordered_by.iter();
        let key = key.filter_map(|path| warnings::of_path("target.ordered_by", path));
        let texts = url.into_iter().chain(headers).chain(template).chain(key);
        unsigned.into_iter().chain(texts).collect()
    }

    pub fn is_signed(&self) -> bool {
        self.signing_mode == Some(SigningMode::Signed)
    }

    pub fn timeout(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS))
    }
}
