//! `DELETE /events/channels/{channel_id}`: deletes a channel. Later requests to it are refused; its events
//! stay.

use aide::axum::routing::{ApiMethodRouter, delete_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::WriteEvents;
use platform::http::{Call, Deleted, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Platform, Result};

use crate::App;
use crate::channel_model::ChannelPath;

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Delete, "event_channel").on(delete_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("deleteChannel")
        .tag("channels")
        .summary("Delete an ingest channel")
        .description(
            "Deletes a channel for good; its endpoint then answers 401. Events that came through it, and their deliveries, \
             stay.\n\n\
             Side effects: an audit record of the action `delete`.",
        )
        .response_with::<200, axum::Json<Deleted>, _>(|response| response.description("The channel is deleted."))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<ChannelPath>,
) -> Result<Reply<Deleted>> {
    app.channels.remove(&call.tenant()?, &path.channel_id).await?;
    Ok(Reply::ok(Deleted::one(path.channel_id)))
}
