//! `PUT /events/channels/{channel_id}`: changes some fields of a channel.
//!
//! Only this answer shows a new token or signing secret. What it replaces stops at once, or after the time
//! that the caller sets.

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use events::channel::StoredChannel;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{conditional_write, tagged};
use platform::http::{Call, OptionalJson, Path, Reply, audited, if_match, strict};
use platform::races::{RacePolicy, Races};
use platform::records::Written;
use platform::records::audit::AuditAction;
use platform::{Error, Platform, Result, UtcTime};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::App;
use crate::channel_model::{
    Channel, ChannelPath, ChannelWithSecrets, GivenSettings, SecretChoice, check, new_token, overlap,
    settle_secret,
};

/// Changes of a channel. A field that is left out keeps its value; null removes an optional one.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateChannel {
    /// New name, 1 to 200 characters.
    pub name: Option<String>,
    /// New label of later events, at most 200 characters and 400 bytes.
    pub source: Option<String>,
    /// New action of events that name none; null restores `received`.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>")]
    pub default_action: Option<Option<String>>,
    /// New resource type of events that name none; null restores `external_event`.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>")]
    pub default_resource_type: Option<Option<String>>,
    /// What the sender sends: a field that is left out keeps its value, and null removes it. A `preset`
    /// replaces all of them.
    #[serde(flatten)]
    pub settings: GivenSettings,
    /// Secret that the sender has made, at least 8 bytes; replaces the present one.
    pub signing_secret: Option<String>,
    /// Whether the channel accepts events; a disabled one answers 403.
    pub enabled: Option<bool>,
    /// True makes a new secret, shown in this answer. Default: false.
    pub rotate_signing_secret: bool,
    /// True makes a new ingest credential, shown in this answer. Default: false.
    pub rotate_token: bool,
    /// Seconds for which replaced credentials still count, 0 to 604,800. Default: 0, they stop at once.
    #[schemars(range(max = 604_800))]
    pub rotation_overlap_seconds: Option<u32>,
}

impl UpdateChannel {
    fn apply(&self, channel: &mut StoredChannel, now: UtcTime, author: &str) -> Result<()> {
        strict::set(&mut channel.name, &self.name);
        strict::set(&mut channel.source, &self.source);
        self.settings.clone().apply(channel)?;
        strict::set(&mut channel.default_action, &self.default_action);
        strict::set(&mut channel.default_resource_type, &self.default_resource_type);
        strict::set(&mut channel.enabled, &self.enabled);
        channel.updated_at = now.max(channel.updated_at);
        author.clone_into(&mut channel.updated_by);
        check(channel)
    }

    /// 400 for both a given and a new secret.
    fn choice(&self) -> Result<SecretChoice> {
        match (&self.signing_secret, self.rotate_signing_secret) {
            (Some(_), true) => Err(Error::invalid(
                "The fields 'signing_secret' and 'rotate_signing_secret' exclude each other: send one of them.",
            )),
            (Some(given), false) => Ok(SecretChoice::Given(given.clone())),
            (None, true) => Ok(SecretChoice::New),
            (None, false) => Ok(SecretChoice::Keep),
        }
    }
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "event_channel").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateChannel")
        .tag("channels")
        .summary("Update an ingest channel")
        .description(
            "Changes the given fields; a field that is left out keeps its value. `rotate_token` and `rotate_signing_secret` make new \
             credentials, which this answer alone shows; the old ones stop at once, or after `rotation_overlap_seconds`. Removing the `signature` removes its secret.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<ChannelWithSecrets>, _>(|response| {
            response.description("The changed channel, with the credentials that this request made.")
        })
        .with(tagged)
        .with(conditional_write)
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<ChannelPath>,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson<UpdateChannel>,
) -> Result<Reply<ChannelWithSecrets>> {
    let tenant = call.tenant()?;
    let mut races = Races::new(&RacePolicy::RECORD, "a channel");
    loop {
        let record = app.channels.get(&tenant, &path.channel_id).await?;
        if_match(&headers, &record.revision.to_string())?;
        let mut channel = StoredChannel::from_record(&record)?;
        body.apply(&mut channel, call.now, &call.principal.reference())?;
        let overlap = overlap(body.rotation_overlap_seconds, call.now)?;
        let token = body.rotate_token.then(|| new_token(&mut channel, overlap));
        let secret = settle_secret(&app, &tenant, &mut channel, body.choice()?, overlap).await?;
        let next = channel.record(record.revision + 1)?;
        if app.channels.save(&tenant, &next).await? == Written::Done {
            let answer = ChannelWithSecrets {
                warnings: channel.warnings(),
                channel: Channel::new(&tenant, channel),
                ingest_token: token.map(|token| token.expose().to_owned()),
                signing_secret: secret.map(|secret| secret.expose().to_owned()),
            };
            return Ok(Reply::ok(answer).etag(&next.revision.to_string()));
        }
        races.lost().await?;
    }
}
