//! `GET /events/channels/{channel_id}`: returns one channel.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::StoredChannel;
use platform::auth::Permission;
use platform::auth::permission::ReadEvents;
use platform::http::openapi::tagged;
use platform::http::{Call, Path, Reply};
use platform::sealing::Place;
use platform::{Result, Tenant};

use crate::App;
use crate::channel_model::{Channel, ChannelPath};

/// Time for which a secret of a handshake is shown, in milliseconds: an hour.
const RECEIVED_SECRET_MS: u64 = 3_600_000;

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getChannel")
        .tag("channels")
        .summary("Get an ingest channel")
        .description(
            "Reads one channel, and what it refused. It shows the last characters of the token, never the token, and a signing secret \
             only for an hour after a handshake brought it.",
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
    let stored = StoredChannel::from_record(&record)?;
    let refusals = app.refusals.find(&tenant, &stored.id).await?;
    let received_secret = received_secret(&app, &call, &tenant, &stored).await?;
    let channel = Channel {
        refusals: (!refusals.counts.is_empty()).then_some(refusals),
        received_secret,
        ..Channel::new(&tenant, stored)
    };
    Ok(Reply::ok(channel).etag(&record.revision.to_string()))
}

/// Returns the secret that a handshake has just brought, for who may change the channel.
async fn received_secret(
    app: &App,
    call: &Call<ReadEvents>,
    tenant: &Tenant,
    channel: &StoredChannel,
) -> Result<Option<String>> {
    let is_recent = channel
        .secret_received_at
        .is_some_and(|at| call.now.millis_since(at) < RECEIVED_SECRET_MS);
    let may_see = call.principal.require(&[Permission::WorkflowAdmin]).is_ok();
    let Some(sealed) = channel.signing_secret.as_deref().filter(|_| is_recent && may_see) else {
        return Ok(None);
    };
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    let secret = app.subscribing.sealer.open(place, sealed).await?;
    Ok(Some(secret.expose().to_owned()))
}
