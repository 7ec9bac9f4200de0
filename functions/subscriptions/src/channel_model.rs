//! Defines what the channel endpoints share: the API shape of a channel, its rules, and its secrets.

use std::borrow::Cow;
use std::marker::PhantomData;

use events::channel::StoredChannel;
use events::records::refusals::ChannelRefusals;
use events::sender::body::Arrays;
use events::sender::handshake::{Handshake, MAX_HANDSHAKES};
use events::sender::preset::{self, SenderSettings};
use events::sender::signature::{SecretSource, SignatureRule};
use events::sender::source::{self, is_header_name};
use events::signature::{hint, new_signing_secret};
use events::transform::Transform;
use platform::config::Secret;
use platform::http::text::check_name;
use platform::http::{parse_part, strict};
use platform::sealing::Place;
use platform::{Error, Result, Tenant, UtcTime};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;

/// Shortest signing secret that a sender may provide, in bytes.
const LEAST_SECRET_BYTES: usize = 8;
/// Longest label of events, in bytes. With the prefix `external:` it must still be a valid source of an
/// event.
const MAX_LABEL_BYTES: usize = 400;
/// Largest transform, in bytes of JSON.
const MAX_TRANSFORM_BYTES: usize = 65_536;
/// Most headers that the events of a channel keep.
const MAX_HEADERS: usize = 30;
/// Largest body that a channel may take, in KiB.
const MAX_BODY_KB: u32 = 1_024;
/// Headers that carry credentials.
const CREDENTIALS: [&str; 4] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-service-ingest-token",
];
/// Longest time for which replaced credentials count, in seconds: a week.
const MAX_OVERLAP_SECONDS: u32 = 7 * 24 * 3_600;

/// The channel in the path.
#[derive(Deserialize, JsonSchema)]
pub struct ChannelPath {
    /// Id of the channel, as its creation answered it.
    pub channel_id: String,
}

/// How the sender of a channel signs its requests.
#[derive(Serialize, JsonSchema)]
#[schemars(transform = open)]
pub struct ChannelSignature {
    /// The rule as it was sent, or as the preset has it.
    #[serde(flatten)]
    pub rule: SignatureRule,
    /// Whether a secret is stored that signatures are verified with.
    pub has_secret: bool,
}

/// Allows the field that only answers have: the rule itself has no others.
fn open(schema: &mut Schema) {
    schema.remove("additionalProperties");
    schema.remove("unevaluatedProperties");
}

/// Schema of an object, where an empty object means none.
pub struct OrEmpty<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for OrEmpty<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}OrEmpty", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<T>(), { "type": "object", "title": "None", "maxProperties": 0 }],
        })
    }
}

/// An ingest channel.
#[derive(Serialize, JsonSchema)]
pub struct Channel {
    /// Generated when the channel was created; part of its ingest URL.
    pub id: String,
    /// Account that owns the channel.
    pub account_id: String,
    /// Project whose event bus receives the events.
    pub project_id: String,
    /// Name for people; not unique.
    pub name: String,
    /// Label of the sender: events carry `external:<source>`.
    pub source: String,
    /// Action of events that name none; without it `received`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_action: Option<String>,
    /// Resource type of events that name none; without it `external_event`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_resource_type: Option<String>,
    /// Paths to the parts of an event in the sender's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transform: Option<Transform>,
    /// How the sender signs its bodies; without it senders show the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<ChannelSignature>,
    /// Name of the preset that the settings were taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Requests by which the sender asks whether the URL wants its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handshakes: Vec<Handshake>,
    /// Header in which the sender has the token, besides the usual places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_header: Option<String>,
    /// Path in the body to the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_path: Option<String>,
    /// Headers that the events keep under `details.headers`, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// What an array in a body means.
    pub arrays: Arrays,
    /// Status of the answer to an accepted event; left out for 202.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_status: Option<u16>,
    /// Largest body, in KiB; left out where the installation's limit counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_body_kb: Option<u32>,
    /// Whether the first 200 bytes of refused bodies are kept.
    pub keep_refused_bodies: bool,
    /// Time at which a handshake brought the signing secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_received_at: Option<UtcTime>,
    /// The signing secret that a handshake brought, for the hour after it and callers with `workflow:admin`:
    /// some senders want to see it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_secret: Option<String>,
    /// Time until which the replaced token counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_token_until: Option<UtcTime>,
    /// Time until which the replaced signing secret counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_secret_until: Option<UtcTime>,
    /// What the channel refused in the last 30 days; only in the answer that reads one channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusals: Option<ChannelRefusals>,
    /// Whether the channel accepts events; a disabled one answers 403.
    pub enabled: bool,
    /// Always true: every channel has a token.
    pub has_token: bool,
    /// Last four characters of the ingest credential.
    pub token_hint: String,
    /// Time of creation.
    pub created_at: UtcTime,
    /// Time of the last change.
    pub updated_at: UtcTime,
    /// Principal that created the channel, such as `user:<user_id>`.
    pub created_by: String,
    /// Principal of the last change, such as `user:<user_id>`.
    pub updated_by: String,
}

impl Channel {
    pub fn new(tenant: &Tenant, stored: StoredChannel) -> Self {
        let has_secret = stored.signing_secret.is_some();
        Self {
            id: stored.id,
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            name: stored.name,
            source: stored.source,
            default_action: stored.default_action,
            default_resource_type: stored.default_resource_type,
            transform: stored.transform,
            signature: stored.signature.map(|rule| ChannelSignature { rule, has_secret }),
            preset: stored.preset,
            handshakes: stored.handshakes,
            token_header: stored.token_header,
            token_path: stored.token_path,
            headers: stored.headers,
            arrays: stored.arrays,
            accepted_status: stored.accepted_status,
            max_body_kb: stored.max_body_kb,
            keep_refused_bodies: stored.keep_refused_bodies,
            secret_received_at: stored.secret_received_at,
            previous_token_until: stored.previous_token.map(|(_, until)| until),
            previous_secret_until: stored.previous_secret.map(|(_, until)| until),
            received_secret: None,
            refusals: None,
            enabled: stored.enabled,
            has_token: true,
            token_hint: stored.token_hint,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            created_by: stored.created_by,
            updated_by: stored.updated_by,
        }
    }
}

/// A channel, the credentials that this request made, which no other answer shows, and warnings.
#[derive(Serialize, JsonSchema)]
pub struct ChannelWithSecrets {
    /// The channel.
    #[serde(flatten)]
    pub channel: Channel,
    /// Credential of the sender, where this request made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingest_token: Option<String>,
    /// Secret of the sender's signatures, where this request made or took one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<String>,
    /// What the caller should change although the request is carried out, such as a default that looks like
    /// a template; left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

pub fn transform(value: Value) -> Result<Transform> {
    if !value.is_object() {
        return Err(Error::invalid_field("transform", "must be an object."));
    }
    let bytes = serde_json::to_vec(&value).map_err(Error::internal)?.len();
    if bytes > MAX_TRANSFORM_BYTES {
        return Err(Error::invalid_field(
            "transform",
            format!("has at most {MAX_TRANSFORM_BYTES} bytes."),
        ));
    }
    let transform: Transform = parse_part("transform", value)?;
    transform.check()?;
    Ok(transform)
}

/// Parses the field `signature` of a body. Ignores fields that only answers have, so that a caller can send
/// an answer back.
pub fn signature(value: Value) -> Result<SignatureRule> {
    let Value::Object(mut fields) = value else {
        return Err(Error::invalid_field("signature", "must be an object."));
    };
    fields.remove("has_secret");
    let rule: SignatureRule = parse_part("signature", Value::Object(fields))?;
    rule.check()?;
    Ok(rule)
}

/// Settings of a channel about its sender, as a caller gives them: all of them optional, null removes one.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GivenSettings {
    /// Name of a preset, as `GET /events/presets` lists them: sets what the sender signs, its handshakes, the
    /// form of its bodies, the paths and the kept headers. Fields beside it are put over those of the preset.
    pub preset: Option<String>,
    /// Paths to the parts of an event in a request of the sender; at most 65,536 bytes of JSON.
    #[serde(deserialize_with = "strict::given_json")]
    #[schemars(with = "Option<Transform>")]
    pub transform: Option<Option<Value>>,
    /// How the sender signs its requests. The channel then needs no token.
    #[serde(deserialize_with = "strict::given_json")]
    #[schemars(with = "Option<OrEmpty<SignatureRule>>")]
    pub signature: Option<Option<Value>>,
    /// Requests by which the sender asks whether the URL wants its events; at most 10. The first that fits
    /// is answered, and makes no event.
    #[serde(deserialize_with = "strict::given_json")]
    #[schemars(with = "Option<Vec<Handshake>>")]
    pub handshakes: Option<Option<Value>>,
    /// Header in which the sender has the channel's token, besides the usual places.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>")]
    pub token_header: Option<Option<String>>,
    /// Path in the body to the channel's token.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>")]
    pub token_path: Option<Option<String>>,
    /// Names of headers that the events keep under `details.headers`; at most 30.
    pub headers: Option<Vec<String>>,
    /// What an array in a body means. Default: `split`, an event for each element, all or none.
    pub arrays: Option<Arrays>,
    /// Status of the answer to an accepted event, 200 to 299, for senders that take no 202. Default: 202.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<u16>", range(min = 200, max = 299))]
    pub accepted_status: Option<Option<u16>>,
    /// Largest body, in KiB, 1 to 1,024. Default: the installation's limit, 256 KiB unless it set another.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<u32>", range(min = 1, max = 1_024))]
    pub max_body_kb: Option<Option<u32>>,
    /// Whether the first 200 bytes of refused bodies are kept for the channel's owner. Default: false.
    pub keep_refused_bodies: Option<bool>,
}

impl GivenSettings {
    /// Applies the settings to a channel. Fails with 400 for an invalid one.
    pub fn apply(self, channel: &mut StoredChannel) -> Result<()> {
        let preset = self.preset.as_deref().map(preset::get).transpose()?;
        if let Some(preset) = preset {
            Self::take(&preset.settings, channel);
            channel.preset = Some(preset.name.clone());
        }
        if let Some(value) = self.transform {
            let base = preset.and_then(|preset| preset.settings.transform.as_ref());
            let value = value.map(|value| preset::merged(&base, value)).transpose()?;
            channel.transform = object_or_null(value).map(transform).transpose()?;
        }
        if let Some(value) = self.signature {
            let base = preset.and_then(|preset| preset.settings.signature.as_ref());
            let value = value.map(|value| preset::merged(&base, value)).transpose()?;
            channel.signature = object_or_null(value).map(signature).transpose()?;
        }
        if let Some(value) = self.handshakes {
            channel.handshakes = match value {
                Some(value) => parse_part("handshakes", value)?,
                None => Vec::new(),
            };
        }
        strict::set(&mut channel.token_header, &self.token_header);
        strict::set(&mut channel.token_path, &self.token_path);
        strict::set(&mut channel.headers, &self.headers);
        strict::set(&mut channel.arrays, &self.arrays);
        strict::set(&mut channel.accepted_status, &self.accepted_status);
        strict::set(&mut channel.max_body_kb, &self.max_body_kb);
        strict::set(&mut channel.keep_refused_bodies, &self.keep_refused_bodies);
        for name in channel.headers.iter_mut().chain(&mut channel.token_header) {
            name.make_ascii_lowercase();
        }
        Ok(())
    }

    fn take(settings: &SenderSettings, channel: &mut StoredChannel) {
        let settings = settings.clone();
        channel.signature = settings.signature;
        channel.handshakes = settings.handshakes;
        channel.token_header = settings.token_header;
        channel.token_path = settings.token_path;
        channel.arrays = settings.arrays.unwrap_or_default();
        channel.accepted_status = settings.accepted_status;
        channel.headers = settings.headers;
        channel.transform = settings.transform;
        channel.default_action = settings.default_action;
        channel.default_resource_type = settings.default_resource_type;
    }
}

fn check_settings(channel: &StoredChannel) -> Result<()> {
    // A preset's rule may lack what only the owner knows, such as a public key.
    if let Some(rule) = &channel.signature {
        rule.check()?;
    }
    if channel.handshakes.len() > MAX_HANDSHAKES {
        return Err(Error::invalid_field(
            "handshakes",
            format!("has at most {MAX_HANDSHAKES}."),
        ));
    }
    channel.handshakes.iter().try_for_each(Handshake::check)?;
    if channel
        .token_header
        .as_ref()
        .is_some_and(|name| !is_header_name(name))
    {
        return Err(Error::invalid_field(
            "token_header",
            "is not the name of a header, such as x-gitlab-token.",
        ));
    }
    if let Some(path) = &channel.token_path {
        source::check("token_path", path)?;
    }
    if channel.headers.len() > MAX_HEADERS {
        return Err(Error::invalid_field(
            "headers",
            format!("has at most {MAX_HEADERS} names."),
        ));
    }
    for name in &channel.headers {
        let is_secret = CREDENTIALS.contains(&name.as_str()) || channel.token_header.as_ref() == Some(name);
        if !is_header_name(name) || is_secret {
            return Err(Error::invalid_field(
                "headers",
                format!("cannot have '{name}': write names of headers that carry no credentials."),
            ));
        }
    }
    if channel
        .accepted_status
        .is_some_and(|status| !(200..=299).contains(&status))
    {
        return Err(Error::invalid_field(
            "accepted_status",
            "must be from 200 to 299.",
        ));
    }
    match channel.max_body_kb {
        Some(kb) if !(1..=MAX_BODY_KB).contains(&kb) => Err(Error::invalid_field(
            "max_body_kb",
            format!("must be from 1 to {MAX_BODY_KB}."),
        )),
        _ => Ok(()),
    }
}

/// Refuses invalid texts with 400.
pub fn check(channel: &StoredChannel) -> Result<()> {
    check_settings(channel)?;
    check_name("name", &channel.name)?;
    for (field, text) in [
        ("source", Some(&channel.source)),
        ("default_action", channel.default_action.as_ref()),
        ("default_resource_type", channel.default_resource_type.as_ref()),
    ] {
        let Some(text) = text else { continue };
        check_name(field, text)?;
        if text.len() > MAX_LABEL_BYTES {
            return Err(Error::invalid_field(
                field,
                format!("is longer than {MAX_LABEL_BYTES} bytes."),
            ));
        }
    }
    Ok(())
}

/// Choice of a channel's signing secret.
pub enum SecretChoice {
    /// Keeps the current secret, or makes one if there is none.
    Keep,
    /// Makes a new secret.
    New,
    /// Uses this secret, which the sender made.
    Given(String),
}

/// Sets the signing secret of a channel with a signature, and returns it if it is new. Removes the secret of
/// a channel without a signature. A replaced secret counts until `overlap`.
pub async fn settle_secret(
    app: &App,
    tenant: &Tenant,
    channel: &mut StoredChannel,
    choice: SecretChoice,
    overlap: Option<UtcTime>,
) -> Result<Option<Secret>> {
    let Some(rule) = channel.signature.as_ref().filter(|rule| rule.needs_secret()) else {
        if matches!(choice, SecretChoice::Given(_)) {
            let fault = match channel.signature {
                None => "is for a channel with a 'signature'; say how what is sent is signed.",
                Some(_) => "is for a scheme with a secret; this one has the sender's public key.",
            };
            return Err(Error::invalid_field("signing_secret", fault));
        }
        if matches!(choice, SecretChoice::New) {
            return Err(Error::invalid_field(
                "rotate_signing_secret",
                "is for a channel with a 'signature'; this one has no signing secret.",
            ));
        }
        channel.signing_secret = None;
        channel.previous_secret = None;
        return Ok(None);
    };
    let comes_later = rule.secret_from != SecretSource::Channel;
    let secret = match choice {
        SecretChoice::Keep if channel.signing_secret.is_some() || comes_later => return Ok(None),
        SecretChoice::New if rule.secret_from == SecretSource::Sender => {
            return Err(Error::invalid_field(
                "rotate_signing_secret",
                "is for secrets that the service makes; rotate this one at the sender, and send it as 'signing_secret'.",
            ));
        }
        SecretChoice::New if comes_later => {
            channel.signing_secret = None;
            channel.previous_secret = None;
            channel.secret_received_at = None;
            return Ok(None);
        }
        SecretChoice::Keep | SecretChoice::New => new_secret(rule),
        SecretChoice::Given(text) => given_secret(rule, &text)?,
    };
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    let sealed = app.subscribing.sealer.seal(place, &secret).await?;
    let before = channel.signing_secret.replace(sealed);
    channel.previous_secret = before.zip(overlap);
    Ok(Some(secret))
}

fn new_secret(rule: &SignatureRule) -> Secret {
    use events::sender::signature::SecretEncoding;
    let secret = new_signing_secret();
    match rule.secret_encoding {
        SecretEncoding::Text | SecretEncoding::Whsec => secret,
        SecretEncoding::Base64 => Secret::new(secret.expose().trim_start_matches("whsec_")),
        SecretEncoding::Hex => Secret::new(hex::encode(rand::random::<[u8; 32]>())),
    }
}

/// Takes a secret that a person pasted, without the blanks around it.
fn given_secret(rule: &SignatureRule, text: &str) -> Result<Secret> {
    let text = text.trim();
    if text.len() < LEAST_SECRET_BYTES {
        return Err(Error::invalid_field(
            "signing_secret",
            format!("must have at least {LEAST_SECRET_BYTES} bytes."),
        ));
    }
    rule.check_secret(text)?;
    Ok(Secret::new(text))
}

/// Returns the time until which replaced credentials count; None for at once.
pub fn overlap(seconds: Option<u32>, now: UtcTime) -> Result<Option<UtcTime>> {
    match seconds {
        None | Some(0) => Ok(None),
        Some(seconds) if seconds <= MAX_OVERLAP_SECONDS => Ok(Some(now.plus_ms(u64::from(seconds) * 1_000))),
        Some(_) => Err(Error::invalid_field(
            "rotation_overlap_seconds",
            format!("must be from 0 to {MAX_OVERLAP_SECONDS}."),
        )),
    }
}

/// Gives a channel a new token, which only this answer shows. The replaced one counts until `overlap`.
pub fn new_token(channel: &mut StoredChannel, overlap: Option<UtcTime>) -> Secret {
    let token = events::signature::new_ingest_token();
    channel.previous_token = overlap.map(|until| (channel.token_hash.clone(), until));
    channel.token_hash = platform::secrets::secret_hash(token.expose());
    channel.token_hint = hint(&token);
    token
}

/// Turns null and the empty object into None, because answers show an object only where one was sent.
pub fn object_or_null(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_null() && *value != Value::Object(Map::new()))
}
