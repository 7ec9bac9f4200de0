//! Defines what the channel endpoints share: the API shape of a channel, its rules, and its secrets.

use std::borrow::Cow;
use std::marker::PhantomData;

use events::channel::StoredChannel;
use events::signature::{Algorithm, Encoding, SignatureRule, hint, new_signing_secret};
use events::transform::Transform;
use platform::config::Secret;
use platform::http::parse_part;
use platform::http::text::check_name;
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

/// The channel in the path.
#[derive(Deserialize, JsonSchema)]
pub struct ChannelPath {
    /// Id of the channel, as its creation answered it.
    pub channel_id: String,
}

/// How the sender of a channel signs its bodies.
#[derive(Serialize, JsonSchema)]
pub struct ChannelSignature {
    /// Name of the request header that carries the signature.
    pub header: String,
    /// Hash function of the HMAC.
    pub algorithm: Algorithm,
    /// Notation of the signature in the header.
    pub encoding: Encoding,
    /// Text before the signature in the header, such as `sha256=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Whether a secret is stored that signatures are verified with.
    pub has_secret: bool,
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
            signature: stored.signature.map(|rule| ChannelSignature {
                header: rule.header,
                algorithm: rule.algorithm,
                encoding: rule.encoding,
                prefix: rule.prefix,
                has_secret,
            }),
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

/// Refuses invalid texts with 400.
pub fn check(channel: &StoredChannel) -> Result<()> {
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
/// a channel without a signature.
pub async fn settle_secret(
    app: &App,
    tenant: &Tenant,
    channel: &mut StoredChannel,
    choice: SecretChoice,
) -> Result<Option<Secret>> {
    if channel.signature.is_none() {
        if matches!(choice, SecretChoice::Given(_)) {
            return Err(Error::invalid_field(
                "signing_secret",
                "is for a channel with a 'signature'; say how what is sent is signed.",
            ));
        }
        if matches!(choice, SecretChoice::New) {
            return Err(Error::invalid_field(
                "rotate_signing_secret",
                "is for a channel with a 'signature'; this one has no signing secret.",
            ));
        }
        channel.signing_secret = None;
        return Ok(None);
    }
    let secret = match choice {
        SecretChoice::Keep if channel.signing_secret.is_some() => return Ok(None),
        SecretChoice::Keep | SecretChoice::New => new_signing_secret(),
        SecretChoice::Given(text) if text.len() < LEAST_SECRET_BYTES => {
            return Err(Error::invalid_field(
                "signing_secret",
                format!("must have at least {LEAST_SECRET_BYTES} bytes."),
            ));
        }
        SecretChoice::Given(text) => Secret::new(text),
    };
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    channel.signing_secret = Some(app.subscribing.sealer.seal(place, &secret).await?);
    Ok(Some(secret))
}

/// Gives a channel a new token, which only this answer shows.
pub fn new_token(channel: &mut StoredChannel) -> Secret {
    let token = events::signature::new_ingest_token();
    channel.token_hash = platform::secrets::secret_hash(token.expose());
    channel.token_hint = hint(&token);
    token
}

/// Turns null and the empty object into None, because answers show an object only where one was sent.
pub fn object_or_null(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_null() && *value != Value::Object(Map::new()))
}
