//! `POST /events/subscriptions`: creates a subscription. Only this answer shows its signing secret, if it has
//! one.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscribing::{CreateSubscription, Origin};
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{created, problem};
use platform::http::{Call, Json, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::subscription_model::{SubscriptionWithSecret, without_read_only};

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
    without_read_only(&mut body.target);
    let origin = Origin {
        id: call.new_id(),
        created_at: call.now,
        created_by: call.principal.reference(),
        is_system: false,
        protected: false,
    };
    let new = app.subscribing.create(&tenant, body, origin).await?;
    let id = new.subscription.id.clone();
    let path = format!("/events/subscriptions/{id}");
    let answer = SubscriptionWithSecret::new(&tenant, new.subscription, new.secret);
    Ok(Reply::created(&id, &path, answer).etag("1"))
}
