//! Defines what the subscription endpoints share: the API shape of a subscription.

use std::borrow::Cow;
use std::collections::BTreeMap;

use events::filter::Filter;
use events::subscription::{
    AgentTarget, PayloadMode, Priority, ProcessTarget, RunAsRole, Scope, SigningMode, StoredSubscription,
    Target, WorkflowTarget, of_type_webhook,
};
use events::target::Retry;
use platform::config::Secret;
use platform::{Tenant, UtcTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The subscription in the path.
#[derive(Deserialize, JsonSchema)]
pub struct SubscriptionPath {
    /// Id of the subscription, as its creation answered it.
    pub subscription_id: String,
}

/// A URL that events are posted to, without its secret.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = of_type_webhook)]
pub struct SubscriptionWebhook {
    /// Address that deliveries are posted to.
    pub url: String,
    /// Whether deliveries are signed; left out means unsigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_mode: Option<SigningMode>,
    /// Form of the request body.
    pub payload_mode: PayloadMode,
    /// Time that the receiver has to answer, in milliseconds; left out means 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Request headers that the subscription sets; left out when there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Body of the requests with event templates, where `payload_mode` is `template`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Value>,
    /// How often and after which statuses a delivery is retried; left out means the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Maximum number of requests in a second; left out means unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_second: Option<u32>,
    /// Path into the event to the key whose deliveries are made one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered_by: Option<String>,
    /// Whether a signing key is stored.
    pub has_secret: bool,
    /// Last four characters of the signing key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_hint: Option<String>,
}

/// Receiver of the events of a subscription, without its secret.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum SubscriptionTarget {
    Webhook(SubscriptionWebhook),
    Workflow(WorkflowTarget),
    Agent(AgentTarget),
    Process(ProcessTarget),
}

/// Implemented by hand, like the schema of [`Target`].
impl JsonSchema for SubscriptionTarget {
    fn schema_name() -> Cow<'static, str> {
        "SubscriptionTarget".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Receiver of the events of a subscription, without its secret.",
            "oneOf": [
                generator.subschema_for::<SubscriptionWebhook>(),
                generator.subschema_for::<WorkflowTarget>(),
                generator.subschema_for::<AgentTarget>(),
                generator.subschema_for::<ProcessTarget>(),
            ],
        })
    }
}

/// An event subscription.
#[derive(Serialize, JsonSchema)]
pub struct Subscription {
    /// Generated when the subscription was created.
    pub id: String,
    /// Account that owns the subscription.
    pub account_id: String,
    /// Project whose events are matched.
    pub project_id: String,
    /// For people; not unique.
    pub name: String,
    /// Purpose of the subscription, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Range of the events: `project`, the only one.
    pub scope: Scope,
    /// Whether matching events are delivered.
    pub enabled: bool,
    /// Why the service disabled the subscription, such as an answer of 410; left out where it is enabled or a
    /// caller disabled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<String>,
    /// Time at which the service disabled the subscription; present with `disabled_reason`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<UtcTime>,
    /// Order of its deliveries among those of the project.
    pub priority: Priority,
    /// Role of the service identity that a delivery runs with.
    pub run_as_role: RunAsRole,
    /// Conditions that an event must meet to be delivered.
    pub filter: Filter,
    /// Receiver of the matching events.
    pub target: SubscriptionTarget,
    /// Whether the operator made it for the project.
    pub is_system: bool,
    /// Whether updates and deletion are refused with 403.
    pub protected: bool,
    /// Id of the system subscription that this one replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides_system_subscription_id: Option<String>,
    /// Time of creation.
    pub created_at: UtcTime,
    /// Time of the last change.
    pub updated_at: UtcTime,
    /// Principal that created the subscription, such as `user:<user_id>`.
    pub created_by: String,
    /// Principal of the last change.
    pub updated_by: String,
}

impl Subscription {
    pub fn new(tenant: &Tenant, stored: StoredSubscription) -> Self {
        let (disabled_reason, disabled_at) = match stored.disabled {
            Some(disabled) => (Some(disabled.reason), Some(disabled.at)),
            None => (None, None),
        };
        let secret_hint = stored.signing.map(|signing| signing.hint);
        let target = match stored.target {
            Target::Webhook(webhook) => SubscriptionTarget::Webhook(SubscriptionWebhook {
                url: webhook.url,
                signing_mode: webhook.signing_mode,
                payload_mode: webhook.payload_mode,
                timeout_ms: webhook.timeout_ms,
                headers: webhook.headers,
                template: webhook.template,
                retry: webhook.retry,
                rate_per_second: webhook.rate_per_second,
                ordered_by: webhook.ordered_by,
                has_secret: secret_hint.is_some(),
                secret_hint,
            }),
            Target::Workflow(workflow) => SubscriptionTarget::Workflow(workflow),
            Target::Agent(agent) => SubscriptionTarget::Agent(agent),
            Target::Process(process) => SubscriptionTarget::Process(process),
        };
        Self {
            id: stored.id,
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            name: stored.name,
            description: stored.description,
            scope: stored.scope,
            enabled: stored.enabled,
            disabled_reason,
            disabled_at,
            priority: stored.priority,
            run_as_role: stored.run_as_role,
            filter: stored.filter,
            target,
            is_system: stored.is_system,
            protected: stored.protected,
            overrides_system_subscription_id: stored.overrides_system_subscription_id,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            created_by: stored.created_by,
            updated_by: stored.updated_by,
        }
    }
}

/// A subscription, the signing secret that this request made, which no other answer shows, and warnings.
#[derive(Serialize, JsonSchema)]
pub struct SubscriptionWithSecret {
    /// The subscription.
    #[serde(flatten)]
    pub subscription: Subscription,
    /// Key of the signatures, `whsec_` and 32 bytes in base64, where this request made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// What the caller should change although the request is carried out, such as a webhook without
    /// signatures, or a condition that reads a field that no event has; left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl SubscriptionWithSecret {
    pub fn new(tenant: &Tenant, stored: StoredSubscription, secret: Option<Secret>) -> Self {
        let mut warnings = stored.target.warnings();
        warnings.extend(stored.filter.warnings());
        Self {
            warnings,
            subscription: Subscription::new(tenant, stored),
            signing_secret: secret.map(|secret| secret.expose().to_owned()),
        }
    }
}

/// Removes fields that only answers have, so that a caller can send an answer back.
pub fn without_read_only(target: &mut Map<String, Value>) {
    target.remove("has_secret");
    target.remove("secret_hint");
}
