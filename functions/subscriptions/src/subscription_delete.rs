//! `DELETE /events/subscriptions/{subscription_id}`: nothing is delivered any longer, what is under way included.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscription::Subscription as StoredSubscription;
use platform::Result;
use platform::auth::permission::WriteEvents;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::subscription_model::{Deleted, SubscriptionPath};

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("deleteSubscription")
        .tag("subscriptions")
        .summary("Delete an event subscription")
        .response::<200, axum::Json<Deleted>>()
}

pub async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
) -> Result<Reply<Deleted>> {
    let tenant = call.tenant()?;
    let record = app.subscriptions.get(&tenant, &path.subscription_id).await?;
    let subscription = StoredSubscription::of(&record)?;
    subscription.check_unprotected()?;
    let replaces = subscription.overrides_system_subscription_id.as_deref();
    app.subscriptions
        .remove(&tenant, &subscription.id, replaces)
        .await?;
    Ok(Reply::ok(Deleted::one(path.subscription_id)))
}
