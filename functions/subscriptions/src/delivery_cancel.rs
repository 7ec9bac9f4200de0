//! `POST /events/deliveries/{delivery_id}/cancel`: ends an open delivery.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::records::deliveries::DeliveryRecord;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::problem;
use platform::http::text::Act;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};

use crate::App;
use crate::delivery_get::DeliveryPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "event_delivery").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("cancelDelivery")
        .tag("subscriptions")
        .summary("Cancel a delivery")
        .description(
            "Asks an open delivery to end: no attempt follows, and in a moment its status is `cancelled`, with the reason in \
             `last_error`. A request that is under way is not called back. The run of a workflow, agent or process target is cancelled, \
             and its code may clean up first. `retry` makes a cancelled delivery after all.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<DeliveryRecord>, _>(|response| {
            response.description("The delivery as it was; its status changes in a moment.")
        })
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or one of those of the subscription's `run_as_role`.",
            "The role 'automation' is for callers who have its permissions themselves; this needs also content:write.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "The delivery has ended.",
            "The delivery '0197f3c2-8a41-7d0e-9b1c-000000000009' has ended; it is succeeded.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<DeliveryPath>,
    OptionalJson(body): OptionalJson<Act>,
) -> Result<Reply<DeliveryRecord>> {
    let tenant = call.tenant()?;
    let reason = body.reason()?;
    let delivery = app.delivery_to_change(&call, &path.delivery_id).await?;
    let redelivery = app.redelivery_by(&call);
    redelivery.cancel(&tenant, &path.delivery_id, reason).await?;
    Ok(Reply::ok(delivery))
}
