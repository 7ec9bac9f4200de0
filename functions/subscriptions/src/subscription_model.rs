//! What the subscription endpoints have in common: a subscription as it is shown, and its secrets.

use std::collections::BTreeMap;

use events::filter::Filter;
use events::signature::new_signing_secret;
use events::subscription::{
    PayloadMode, Priority, RunAsRole, SECRET_OVERLAP_MS, Scope, SigningMode, SigningSecrets,
    Subscription as StoredSubscription, Target, WorkflowTarget,
};
use platform::config::Secret;
use platform::http::text::{check_description, check_name};
use platform::sealing::Place;
use platform::{Result, Tenant, UtcTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;

/// The subscription in the path.
#[derive(Deserialize, JsonSchema)]
pub struct SubscriptionPath {
    /// The subscription's id.
    pub subscription_id: String,
}

/// What was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Deleted {
    /// Its id.
    pub id: String,
    /// Always 1.
    pub count: u32,
}

impl Deleted {
    /// One thing.
    pub fn one(id: String) -> Self {
        Self { id, count: 1 }
    }
}

/// A webhook, as it is shown.
#[derive(Serialize, JsonSchema)]
pub struct WebhookView {
    /// Where deliveries are posted to.
    pub url: String,
    /// Whether they are signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_mode: Option<SigningMode>,
    /// What is sent.
    pub payload_mode: PayloadMode,
    /// How long the receiver may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether there is a secret to sign with.
    pub has_secret: bool,
    /// The end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_hint: Option<String>,
}

/// A target, as it is shown.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum TargetView {
    /// Posted to a URL.
    Webhook(WebhookView),
    /// Handed to a run that is started for them.
    Workflow(WorkflowTarget),
}

/// An event subscription.
#[derive(Serialize, JsonSchema)]
pub struct Subscription {
    /// Its id.
    pub id: String,
    /// Its account.
    pub account_id: String,
    /// Its project.
    pub project_id: String,
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whose events.
    pub scope: Scope,
    /// Whether anything is delivered.
    pub enabled: bool,
    /// How soon it matters.
    pub priority: Priority,
    /// As whom a delivery runs.
    pub run_as_role: RunAsRole,
    /// Which events.
    pub filter: Filter,
    /// Where to.
    pub target: TargetView,
    /// Whether it came with the platform.
    pub is_system: bool,
    /// Whether nobody in the project may change it.
    pub protected: bool,
    /// The system subscription that it takes the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides_system_subscription_id: Option<String>,
    /// When it was made.
    pub created_at: UtcTime,
    /// When it was changed last.
    pub updated_at: UtcTime,
    /// Who made it.
    pub created_by: String,
    /// Who changed it last.
    pub updated_by: String,
}

impl Subscription {
    /// Of a project.
    pub fn new(tenant: &Tenant, stored: StoredSubscription) -> Self {
        let secret_hint = stored.signing.map(|signing| signing.hint);
        let target = match stored.target {
            Target::Webhook(webhook) => TargetView::Webhook(WebhookView {
                url: webhook.url,
                signing_mode: webhook.signing_mode,
                payload_mode: webhook.payload_mode,
                timeout_ms: webhook.timeout_ms,
                headers: webhook.headers,
                has_secret: secret_hint.is_some(),
                secret_hint,
            }),
            Target::Workflow(workflow) => TargetView::Workflow(workflow),
        };
        Self {
            id: stored.id,
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            name: stored.name,
            description: stored.description,
            scope: stored.scope,
            enabled: stored.enabled,
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

/// A subscription, and beside it what is shown this once.
#[derive(Serialize, JsonSchema)]
pub struct SubscriptionWithSecret {
    /// The subscription.
    #[serde(flatten)]
    pub subscription: Subscription,
    /// Its new signing secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
}

impl SubscriptionWithSecret {
    /// Of a project.
    pub fn new(tenant: &Tenant, stored: StoredSubscription, secret: Option<Secret>) -> Self {
        Self {
            subscription: Subscription::new(tenant, stored),
            signing_secret: secret.map(|secret| secret.expose().to_owned()),
        }
    }
}

/// Takes away what only answers have, so that an answer can be sent back.
pub fn without_read_only(target: &mut Map<String, Value>) {
    target.remove("has_secret");
    target.remove("secret_hint");
}

/// 400 for what no subscription is.
pub async fn check(app: &App, subscription: &StoredSubscription) -> Result<()> {
    check_name("name", &subscription.name)?;
    check_description("description", subscription.description.as_deref())?;
    subscription.target.check(&app.outbound).await
}

/// How the signing secret is to be replaced.
#[derive(Clone, Copy, Default)]
pub struct Rotation {
    /// Whether it is.
    pub wanted: bool,
    /// Whether the old one stops signing at once.
    pub at_once: bool,
}

/// Gives a subscription that signs the secret that it is to have; the secret, where it is new. One that does not sign loses it.
pub async fn settle_secret(
    app: &App,
    tenant: &Tenant,
    subscription: &mut StoredSubscription,
    rotation: Rotation,
    now: UtcTime,
) -> Result<Option<Secret>> {
    let is_signed = matches!(&subscription.target, Target::Webhook(webhook) if webhook.is_signed());
    if !is_signed {
        subscription.signing = None;
        return Ok(None);
    }
    if subscription.signing.is_some() && !rotation.wanted {
        return Ok(None);
    }
    let secret = new_signing_secret();
    let name = StoredSubscription::secret_place(&subscription.id);
    let place = Place { tenant, name: &name };
    let sealed = app.sealer.seal(place, &secret).await?;
    subscription.signing = Some(match subscription.signing.take() {
        None => SigningSecrets::new(sealed, &secret),
        Some(before) => {
            let until = (!rotation.at_once).then(|| now.plus_ms(SECRET_OVERLAP_MS));
            before.replaced(sealed, &secret, until)
        }
    });
    Ok(Some(secret))
}
