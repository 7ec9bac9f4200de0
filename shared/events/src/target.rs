//! Targets of subscriptions: where matching events go.

use std::borrow::Cow;
use std::collections::BTreeMap;

use platform::http::parse_part;
use platform::outbound::Outbound;
use platform::{Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::path::{self, MAX_PATH_CHARACTERS};

/// The headers that a subscription may set; whatever carries credentials is none of them.
pub const ALLOWED_HEADERS: [&str; 6] = [
    "accept",
    "content-type",
    "user-agent",
    "x-request-id",
    "x-correlation-id",
    "x-service-correlation-id",
];
/// Longest value of such a header, in bytes.
const MAX_HEADER_BYTES: usize = 500;
/// How long a receiver may take where the subscription does not say, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// The least and the most that it may say.
const TIMEOUT_MS: std::ops::RangeInclusive<u64> = 1_000..=50_000;
/// Longest name of a workflow type, in characters.
const MAX_ENDPOINT: usize = 200;
/// Largest `vars`, in bytes of JSON.
const MAX_VARS_BYTES: usize = 65_536;
/// The warning for a webhook that is not signed.
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
    /// Whether requests are signed. Default: unsigned. `signed` is recommended: without a signature the receiver cannot tell a
    /// delivery from a forged request.
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
    /// Headers to set: accept, content-type, user-agent, x-request-id, x-correlation-id and x-service-correlation-id, each of
    /// at most 500 bytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// A workflow run that is started for each event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = of_type_workflow)]
pub struct WorkflowTarget {
    /// Workflow type of the run; 1 to 200 characters.
    pub endpoint: String,
    /// Label that goes into the run's memo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_class: Option<String>,
    /// Path into the event to the run's workflow id, such as `details.payload.order_id`: a text or an integer. Events with the
    /// same id start one run in all. Default: an id for each event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    pub workflow_id: Option<String>,
    /// Values that the run's input has under `vars`; at most 65,536 bytes of JSON.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub vars: Map<String, Value>,
}

/// Receiver of the events of a subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Target {
    /// Posted to a URL.
    Webhook(WebhookTarget),
    /// Handed to a run that is started for them.
    Workflow(WorkflowTarget),
}

/// By hand, because the derived schema repeats each target inline, without a name for generated code.
impl JsonSchema for Target {
    fn schema_name() -> Cow<'static, str> {
        "Target".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Receiver of the events of a subscription.",
            "oneOf": [
                generator.subschema_for::<WebhookTarget>(),
                generator.subschema_for::<WorkflowTarget>(),
            ],
        })
    }
}

/// Adds the `type` of webhooks to a schema.
pub fn of_type_webhook(schema: &mut Schema) {
    add_type(schema, "webhook");
}

fn of_type_workflow(schema: &mut Schema) {
    add_type(schema, "workflow");
}

fn add_type(schema: &mut Schema, kind: &str) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("type".to_owned(), json!({ "type": "string", "const": kind }));
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Value::Array(required) = required {
        required.push(json!("type"));
    }
}

impl Target {
    /// Reads the field `target` of a body. 400 that says what is wrong with it.
    pub fn parse(mut fields: Map<String, Value>) -> Result<Self> {
        let Some(Value::String(kind)) = fields.remove("type") else {
            return Err(Error::invalid(
                "The field 'target.type' must say what kind of target it is: webhook or workflow.",
            ));
        };
        let fields = Value::Object(fields);
        match kind.as_str() {
            "webhook" => parse_part("target", fields).map(Self::Webhook),
            "workflow" => parse_part("target", fields).map(Self::Workflow),
            "agent" | "process" => Err(Error::invalid(format!(
                "This installation delivers to targets of the types webhook and workflow, and not to '{kind}'."
            ))),
            other => Err(Error::invalid(format!(
                "The field 'target.type' names '{other}'; there are webhook and workflow."
            ))),
        }
    }

    /// Its type, as in `target.type`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Workflow(_) => "workflow",
        }
    }

    /// The workflow type that it starts; None for a webhook.
    pub fn endpoint(&self) -> Option<&str> {
        match self {
            Self::Webhook(_) => None,
            Self::Workflow(workflow) => Some(&workflow.endpoint),
        }
    }

    /// 400 for a target that breaks a rule of its type.
    pub async fn check(&self, outbound: &Outbound) -> Result<()> {
        match self {
            Self::Webhook(webhook) => webhook.check(outbound).await,
            Self::Workflow(workflow) => workflow.check(),
        }
    }

    /// 400 for a workflow target whose type is not one of `names`.
    pub fn check_endpoint(&self, names: &[String]) -> Result<()> {
        match self.endpoint() {
            Some(endpoint) if !names.iter().any(|name| name == endpoint) => Err(Error::invalid(format!(
                "The field 'target.endpoint' names the workflow type '{endpoint}', which does not exist; there are {}.",
                names.join(", ")
            ))),
            _ => Ok(()),
        }
    }

    /// What a caller should change although the target is taken.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Self::Webhook(webhook) if !webhook.is_signed() => vec![UNSIGNED.to_owned()],
            _ => Vec::new(),
        }
    }
}

impl WebhookTarget {
    async fn check(&self, outbound: &Outbound) -> Result<()> {
        outbound.check_now(&self.url).await.map_err(|why| {
            Error::invalid(format!("The field 'target.url' cannot be delivered to: {why}."))
        })?;
        if self
            .timeout_ms
            .is_some_and(|timeout| !TIMEOUT_MS.contains(&timeout))
        {
            return Err(Error::invalid(format!(
                "The field 'target.timeout_ms' must be from {} to {}.",
                TIMEOUT_MS.start(),
                TIMEOUT_MS.end()
            )));
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

    /// Whether deliveries are signed.
    pub fn is_signed(&self) -> bool {
        self.signing_mode == Some(SigningMode::Signed)
    }

    /// How long the receiver may take.
    pub fn timeout(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS))
    }
}

impl WorkflowTarget {
    fn check(&self) -> Result<()> {
        if !(1..=MAX_ENDPOINT).contains(&self.endpoint.chars().count()) {
            return Err(Error::invalid(format!(
                "The field 'target.endpoint' names a workflow type in 1 to {MAX_ENDPOINT} characters."
            )));
        }
        let class = self.workflow_class.as_ref();
        if class.is_some_and(|class| class.chars().count() > MAX_ENDPOINT) {
            return Err(Error::invalid(format!(
                "The field 'target.workflow_class' has at most {MAX_ENDPOINT} characters."
            )));
        }
        if let Some(path) = &self.workflow_id {
            path::check("target.workflow_id", path)?;
        }
        let bytes = serde_json::to_vec(&self.vars).map_err(Error::internal)?.len();
        if bytes > MAX_VARS_BYTES {
            return Err(Error::invalid(format!(
                "The field 'target.vars' has at most {MAX_VARS_BYTES} bytes."
            )));
        }
        Ok(())
    }
}
