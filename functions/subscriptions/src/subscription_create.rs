//! `POST /events/subscriptions`: a new subscription. Its signing secret, where it signs, is in this answer alone.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::filter::Filter;
use events::subscription::{Priority, RunAsRole, Scope, Subscription as StoredSubscription, Target};
use platform::auth::permission::WriteEvents;
use platform::http::text::MAX_DESCRIPTION_LENGTH;
use platform::http::{Call, Json, Reply, strict};
use platform::{Error, Result, Tenant};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::subscription_model::{Rotation, SubscriptionWithSecret, check, settle_secret, without_read_only};

/// A new subscription.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSubscription {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Whose events: those of the project.
    #[serde(default, deserialize_with = "strict::name")]
    pub scope: Scope,
    /// Whether anything is delivered; it is where this is left out.
    pub enabled: Option<bool>,
    /// How soon it matters.
    #[serde(default, deserialize_with = "strict::name")]
    pub priority: Priority,
    /// As whom a delivery runs; never as who caused the event.
    #[serde(deserialize_with = "strict::name")]
    pub run_as_role: RunAsRole,
    /// Which events.
    #[schemars(with = "Filter")]
    pub filter: strict::Json,
    /// Where to.
    #[serde(deserialize_with = "strict::json_object")]
    #[schemars(with = "Target")]
    pub target: Map<String, Value>,
    /// The system subscription that it takes the place of.
    pub overrides_system_subscription_id: Option<String>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createSubscription")
        .tag("subscriptions")
        .summary("Create an event subscription")
        .response::<201, axum::Json<SubscriptionWithSecret>>()
}

pub async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Json(mut body): Json<CreateSubscription>,
) -> Result<Reply<SubscriptionWithSecret>> {
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    without_read_only(&mut body.target);
    let mut subscription = StoredSubscription {
        id: call.new_id(),
        name: body.name,
        description: body.description,
        scope: body.scope,
        enabled: body.enabled.unwrap_or(true),
        priority: body.priority,
        run_as_role: body.run_as_role,
        filter: Filter::parse(body.filter.0)?,
        target: Target::parse(body.target)?,
        signing: None,
        is_system: false,
        protected: false,
        overrides_system_subscription_id: body.overrides_system_subscription_id,
        created_at: call.now,
        updated_at: call.now,
        created_by: author.clone(),
        updated_by: author,
    };
    check(&app, &subscription).await?;
    let replaces = subscription.overrides_system_subscription_id.clone();
    if let Some(system) = &replaces {
        check_system(&app, &tenant, system).await?;
    }
    let secret = settle_secret(&app, &tenant, &mut subscription, Rotation::default(), call.now).await?;
    let record = subscription.record(1)?;
    app.subscriptions
        .insert(&tenant, &record, replaces.as_deref())
        .await?;
    let answer = SubscriptionWithSecret::new(&tenant, subscription, secret);
    let path = format!("/events/subscriptions/{}", record.id);
    Ok(Reply::created(&record.id, &path, answer).etag("1"))
}

/// 400 where what is to be replaced is no system subscription of the project.
async fn check_system(app: &App, tenant: &Tenant, id: &str) -> Result<()> {
    let record = match id.len() {
        1..=200 => app.subscriptions.find(tenant, id).await?,
        _ => None,
    };
    let is_system = match &record {
        Some(record) => StoredSubscription::of(record)?.is_system,
        None => false,
    };
    if is_system {
        return Ok(());
    }
    Err(Error::invalid(
        "The field 'overrides_system_subscription_id' does not name a system subscription of the project.",
    ))
}
