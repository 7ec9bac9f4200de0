//! `DELETE /events/subscriptions/{subscription_id}`: deletes a subscription, and stops its deliveries, open
//! ones included.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscription::StoredSubscription;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::problem;
use platform::http::{Call, Deleted, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::subscription_model::SubscriptionPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "event_subscription").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("deleteSubscription")
        .tag("subscriptions")
        .summary("Delete an event subscription")
        .description(
            "Deletes a subscription for good. Deliveries that are under way end as `cancelled`; records of past deliveries stay.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .response_with::<200, axum::Json<Deleted>, _>(|response| response.description("The subscription is deleted."))
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or the subscription is protected.",
            "This needs the permission workflow:admin.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
) -> Result<Reply<Deleted>> {
    let tenant = call.tenant()?;
    let may_go = StoredSubscription::check_unprotected;
    app.subscriptions
        .remove(&tenant, &path.subscription_id, may_go)
        .await?;
    Ok(Reply::ok(Deleted::one(path.subscription_id)))
}
