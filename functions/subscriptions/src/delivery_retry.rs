//! `POST /events/deliveries/{delivery_id}/retry`: makes another attempt of a delivery at once.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::records::deliveries::DeliveryRecord;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::problem;
use platform::http::{Call, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::delivery_get::DeliveryPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "event_delivery").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("retryDelivery")
        .tag("subscriptions")
        .summary("Retry a delivery")
        .description(
            "Makes another attempt now: instead of the one that a webhook's delivery waits for, or after the last one of a delivery that \
             has ended, also of one that succeeded. The schedule of pauses begins anew. The subscription counts as it is now, so a \
             corrected URL is used; the delivery id stays the same. For another target this starts another run, which repeats its \
             work. A delivery that its semantic condition stopped is made in spite of the verdict.\n\n\
             Side effects: the attempt, and an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<DeliveryRecord>, _>(|response| {
            response.description("The delivery, whose next attempt is under way.")
        })
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or one of those of the subscription's `run_as_role`.",
            "The role 'automation' is for callers who have its permissions themselves; this needs also content:write.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "The delivery cannot be made now: its subscription is disabled or deleted, its event is no longer kept, its run has not \
             ended, its semantic condition is being evaluated, or it was tried 400 times.",
            "Nothing is delivered to the subscription '0197f3c2-8a41-7d0e-9b1c-000000000005'. The subscription is disabled. Enable it \
             first, then retry the delivery.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<DeliveryPath>,
) -> Result<Reply<DeliveryRecord>> {
    let tenant = call.tenant()?;
    app.delivery_to_change(&call, &path.delivery_id).await?;
    app.redelivery_by(&call).retry(&tenant, &path.delivery_id).await?;
    let deliveries = &app.redelivery.parts.deliveries;
    deliveries.get(&tenant, &path.delivery_id).await.map(Reply::ok)
}
