//! `GET /events/channels`: the channels of the project, oldest first.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::Channel as StoredChannel;
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::with_errors;
use platform::http::{Call, Reply};

use crate::App;
use crate::channel_model::Channel;

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    with_errors(operation)
        .id("channel_list")
        .tag("events")
        .summary("List ingest channels")
        .response::<200, axum::Json<Vec<Channel>>>()
}

pub async fn handler(call: Call<ReadEvents>, State(app): State<App>) -> Result<Reply<Vec<Channel>>> {
    let tenant = call.tenant()?;
    let records = app.channels.list(&tenant).await?;
    let channels = records
        .iter()
        .map(|record| Ok(Channel::new(&tenant, StoredChannel::of(record)?)));
    Ok(Reply::ok(channels.collect::<Result<_>>()?))
}
