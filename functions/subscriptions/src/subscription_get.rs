//! `GET /events/subscriptions/{subscription_id}`: returns one subscription.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::subscription::StoredSubscription;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::tagged;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::subscription_model::{Subscription, SubscriptionPath};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getSubscription")
        .tag("subscriptions")
        .summary("Get an event subscription")
        .description(
            "Reads one subscription. It shows the last characters of the signing secret, never the secret itself.",
        )
        .response_with::<200, axum::Json<Subscription>, _>(|response| response.description("The subscription."))
        .with(tagged)
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
) -> Result<Reply<Subscription>> {
    let tenant = call.tenant()?;
    let record = app.subscriptions.get(&tenant, &path.subscription_id).await?;
    let subscription = Subscription::new(&tenant, StoredSubscription::from_record(&record)?);
    Ok(Reply::ok(subscription).etag(&record.revision.to_string()))
}
