//! `GET /events/subscriptions`: the subscriptions of the project, oldest first; those that came with the platform too.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscription::Subscription as StoredSubscription;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::with_errors;
use platform::http::{Call, Reply};

use crate::App;
use crate::subscription_model::Subscription;

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("subscription_list")
        .tag("events")
        .summary("List event subscriptions")
        .response::<200, axum::Json<Vec<Subscription>>>()
}

pub async fn handler(call: Call<ReadEvents>, State(app): State<App>) -> Result<Reply<Vec<Subscription>>> {
    let tenant = call.tenant()?;
    let records = app.subscriptions.list(&tenant).await?;
    let subscriptions = records
        .iter()
        .map(|record| Ok(Subscription::new(&tenant, StoredSubscription::of(record)?)));
    Ok(Reply::ok(subscriptions.collect::<Result<_>>()?))
}
