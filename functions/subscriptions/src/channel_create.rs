//! `POST /events/channels`: creates a channel. Only this answer shows its token, and its signing secret if it
//! has one.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::StoredChannel;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{created, problem};
use platform::http::{Call, Json, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::channel_model::{
    Channel, ChannelWithSecrets, GivenSettings, SecretChoice, check, new_token, settle_secret,
};

/// A new channel.
#[derive(Deserialize, JsonSchema)]
pub struct CreateChannel {
    /// Name for people, 1 to 200 characters; not unique.
    pub name: String,
    /// Label of the sender: events carry `external:<source>` as their `source`. At most 200 characters and
    /// 400 bytes.
    pub source: String,
    /// Action of events that name none themselves; at most 200 characters and 400 bytes. Default: `received`.
    pub default_action: Option<String>,
    /// Resource type of events that name none themselves; at most 200 characters and 400 bytes. Default:
    /// `external_event`.
    pub default_resource_type: Option<String>,
    /// What the sender sends.
    #[serde(flatten)]
    pub settings: GivenSettings,
    /// Secret that the sender has made, at least 8 bytes; only with a `signature`. Default: the service makes
    /// one.
    pub signing_secret: Option<String>,
    /// Whether the channel accepts events. Default: true.
    pub enabled: Option<bool>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Create, "event_channel").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createChannel")
        .tag("channels")
        .summary("Create an ingest channel")
        .description(
            "Creates a channel through which an external system pushes events. This answer alone shows the ingest token, and the \
             signing secret where the channel has a `signature`. A project has at most 10,000 channels.\n\n\
             Side effects: an audit record of the action `create`.",
        )
        .response_with::<201, axum::Json<ChannelWithSecrets>, _>(|response| {
            response.description("The new channel with its credentials, which no other answer shows.")
        })
        .with(created)
        .with(problem(
            ErrorKind::Conflict,
            "The project has 10,000 channels.",
            "The project has 10000 channels, which is the most; delete one before you create another.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Json(body): Json<CreateChannel>,
) -> Result<Reply<ChannelWithSecrets>> {
    let tenant = call.tenant()?;
    let author = call.principal.reference();
    let mut channel = StoredChannel {
        id: call.new_id(),
        name: body.name,
        source: body.source,
        enabled: body.enabled.unwrap_or(true),
        ..StoredChannel::new(call.now, author)
    };
    body.settings.apply(&mut channel)?;
    channel.default_action = body.default_action.or(channel.default_action);
    channel.default_resource_type = body.default_resource_type.or(channel.default_resource_type);
    check(&channel)?;
    let token = new_token(&mut channel, None);
    let choice = body
        .signing_secret
        .map_or(SecretChoice::Keep, SecretChoice::Given);
    let secret = settle_secret(&app, &tenant, &mut channel, choice, None).await?;
    app.channels.insert(&tenant, &channel.record(1)?).await?;
    let id = channel.id.clone();
    let answer = ChannelWithSecrets {
        warnings: channel.warnings(),
        channel: Channel::new(&tenant, channel),
        ingest_token: Some(token.expose().to_owned()),
        signing_secret: secret.map(|secret| secret.expose().to_owned()),
    };
    Ok(Reply::created(&id, &format!("/events/channels/{id}"), answer).etag("1"))
}
