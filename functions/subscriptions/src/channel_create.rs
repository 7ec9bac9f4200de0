//! `POST /events/channels`: a new channel. Its token, and its signing secret where it has one, are in this answer alone.

use aide::transform::TransformOperation;
use axum::extract::State;
use events::channel::Channel as StoredChannel;
use platform::Result;
use platform::auth::permission::WriteEvents;
use platform::http::{Call, Json, Reply, strict};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::App;
use crate::channel_model::{
    Channel, ChannelWithSecrets, SecretChoice, check, new_token, object_or_null, settle_secret, signature,
    transform,
};

/// A new channel.
#[derive(Deserialize, JsonSchema)]
pub struct CreateChannel {
    /// Its name.
    pub name: String,
    /// The label that stands behind `external:` in its events.
    pub source: String,
    /// What happened, where nothing else says; `received` without it.
    pub default_action: Option<String>,
    /// What it happened to, where nothing else says; `external_event` without it.
    pub default_resource_type: Option<String>,
    /// Where the parts of an event are in what is sent.
    #[serde(default, deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<events::transform::Transform>")]
    pub transform: Option<Value>,
    /// How what is sent is signed; a token is not needed then.
    #[serde(default, deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<events::signature::SignatureRule>")]
    pub signature: Option<Value>,
    /// The secret that the sender signs with, where the sender has made it; one is made here otherwise.
    pub signing_secret: Option<String>,
    /// Whether it takes anything; it does where this is left out.
    pub enabled: Option<bool>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createChannel")
        .tag("channels")
        .summary("Create an ingest channel")
        .response::<201, axum::Json<ChannelWithSecrets>>()
}

pub async fn handler(
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
        default_action: body.default_action,
        default_resource_type: body.default_resource_type,
        transform: object_or_null(body.transform).map(transform).transpose()?,
        signature: object_or_null(body.signature).map(signature).transpose()?,
        signing_secret: None,
        enabled: body.enabled.unwrap_or(true),
        token_hash: String::new(),
        token_hint: String::new(),
        created_at: call.now,
        updated_at: call.now,
        created_by: author.clone(),
        updated_by: author,
    };
    check(&channel)?;
    let token = new_token(&mut channel);
    let choice = body
        .signing_secret
        .map_or(SecretChoice::Keep, SecretChoice::Given);
    let secret = settle_secret(&app, &tenant, &mut channel, choice).await?;
    app.channels.insert(&tenant, &channel.record(1)?).await?;
    let id = channel.id.clone();
    let answer = ChannelWithSecrets {
        channel: Channel::new(&tenant, channel),
        ingest_token: Some(token.expose().to_owned()),
        signing_secret: secret.map(|secret| secret.expose().to_owned()),
    };
    Ok(Reply::created(&id, &format!("/events/channels/{id}"), answer).etag("1"))
}
