//! `POST /events/subscriptions`: creates a subscription. Only this answer shows its signing secret, if it has
//! one.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::filter::Filter;
use events::subscription::{Priority, RunAsRole, Scope, StoredSubscription, Target};
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{created, problem};
use platform::http::text::MAX_DESCRIPTION_LENGTH;
use platform::http::{Call, Json, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result, Tenant};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::subscription_model::{Rotation, SubscriptionWithSecret, check, settle_secret, without_read_only};

/// A new subscription.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSubscription {
    /// Name for people, 1 to 200 characters; not unique.
    pub name: String,
    /// Purpose of the subscription, for people; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Range of the events. Default: `project`, the only one.
    #[serde(default, deserialize_with = "strict::name")]
    pub scope: Scope,
    /// Whether matching events are delivered. Default: true.
    pub enabled: Option<bool>,
    /// Label for people; all deliveries are made at once. Default: `normal`.
    #[serde(default, deserialize_with = "strict::name")]
    pub priority: Priority,
    /// Role of the service identity that a delivery runs with; never that of the caller who caused the event.
    /// The caller needs each of its permissions.
    #[serde(deserialize_with = "strict::name")]
    pub run_as_role: RunAsRole,
    /// Conditions that an event must meet to be delivered.
    #[schemars(with = "Filter")]
    pub filter: strict::Json,
    /// Receiver of the matching events.
    #[serde(deserialize_with = "strict::json_object")]
    #[schemars(with = "Target")]
    pub target: Map<String, Value>,
    /// Id of the system subscription that this one replaces for as long as it exists, enabled or not; a
    /// protected one only while this one is enabled.
    pub overrides_system_subscription_id: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "event_subscription").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createSubscription")
        .tag("subscriptions")
        .summary("Create an event subscription")
        .description(
            "Creates a subscription: from now on each event that its filter matches is delivered to its target. Earlier events are not \
             delivered. A webhook with `signing_mode: signed` gets a signing secret, which this answer alone shows. Signing is \
             recommended: without it the receiver cannot tell a delivery from a forged request, and `warnings` says so. A project has at \
             most 10,000 subscriptions, each of at most 300,000 bytes. An inline definition of a process is checked: a 400 lists everything \
             that is wrong with it in `faults`.\n\n\
             Side effects: an audit record of the action `create`.",
        )
        .response_with::<201, axum::Json<SubscriptionWithSecret>, _>(|response| {
            response.description("The new subscription, with its signing secret where it signs.")
        })
        .with(created)
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or one of those of `run_as_role`.",
            "The role 'automation' is for callers who have its permissions themselves; this needs also content:write.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "Another subscription replaces the same system subscription, or the project has 10,000 subscriptions.",
            "The system subscription is replaced already; change or delete the subscription that replaces it.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Json(mut body): Json<CreateSubscription>,
) -> Result<Reply<SubscriptionWithSecret>> {
    let tenant = call.tenant()?;
    call.principal.require_role(body.run_as_role)?;
    let author = call.principal.reference();
    without_read_only(&mut body.target);
    let mut subscription = StoredSubscription {
        id: call.new_id(),
        name: body.name,
        description: body.description,
        scope: body.scope,
        enabled: body.enabled.unwrap_or(true),
        disabled: None,
        priority: body.priority,
        run_as_role: body.run_as_role,
        filter: Filter::parse(body.filter.0)?,
        target: Target::parse(body.target)?,
        definition_digest: None,
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
    subscription.target.check_endpoint(&app.workflow_types)?;
    subscription.settle_process(&tenant, &app.processes).await?;
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

/// Refuses with 400 an override of anything but a system subscription of the project.
async fn check_system(app: &App, tenant: &Tenant, id: &str) -> Result<()> {
    let record = match id.len() {
        1..=200 => app.subscriptions.find(tenant, id).await?,
        _ => None,
    };
    let is_system = match &record {
        Some(record) => StoredSubscription::from_record(record)?.is_system,
        None => false,
    };
    if is_system {
        return Ok(());
    }
    Err(Error::invalid_field(
        "overrides_system_subscription_id",
        "does not name a system subscription of the project.",
    ))
}
