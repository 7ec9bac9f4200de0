//! `GET /events/channels/{channel_id}`: returns one channel.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::StoredChannel;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::tagged;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::channel_model::{Channel, ChannelPath};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getChannel")
        .tag("channels")
        .summary("Get an ingest channel")
        .description(
            "Reads one channel. It shows the last characters of the token, never the token or the signing secret.",
        )
        .response_with::<200, axum::Json<Channel>, _>(|response| response.description("The channel."))
        .with(tagged)
}

async fn handler(
    call: Call<ReadEvents>,
    State(app): State<App>,
    Path(path): Path<ChannelPath>,
) -> Result<Reply<Channel>> {
    let tenant = call.tenant()?;
    let record = app.channels.get(&tenant, &path.channel_id).await?;
    let channel = Channel::new(&tenant, StoredChannel::from_record(&record)?);
    Ok(Reply::ok(channel).etag(&record.revision.to_string()))
}
