//! Whether a request may come in through a channel.
//!
//! A channel that is not there is checked like any other, against a token and a secret that nobody has. One thing takes longer: the
//! first request of an instance to a channel with a signature, whose secret is opened then.

use axum::http::{HeaderMap, header};
use events::channel::Channel;
use events::signature::{Algorithm, SignatureRule, token_hash};
use platform::config::Secret;
use platform::sealing::Place;
use platform::{Error, Result, Tenant};
use subtle::ConstantTimeEq as _;

use crate::{Ingest, refused};

/// The header of a token beside `Authorization`.
const TOKEN_HEADER: &str = "x-service-ingest-token";
/// The SHA-256 of no token.
const NO_TOKEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a request shows of itself.
pub struct Shown<'a> {
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its query, where it has one.
    pub query: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// The channel, for a request that may come in through it. 401 for any other, for each reason the same.
pub async fn admitted(
    ingest: &Ingest,
    tenant: Option<&Tenant>,
    channel: Option<Channel>,
    shown: Shown<'_>,
) -> Result<Channel> {
    let token = token(&shown);
    let known = channel
        .as_ref()
        .map_or(NO_TOKEN, |channel| channel.token_hash.as_str());
    let hash = token_hash(token.as_deref().unwrap_or_default());
    let is_token = bool::from(hash.as_bytes().ct_eq(known.as_bytes()));
    let rule = channel.as_ref().and_then(|channel| channel.signature.clone());
    let mut is_signed = false;
    // With each algorithm, so that the time does not tell which one the channel has.
    for algorithm in [Algorithm::Sha256, Algorithm::Sha1] {
        match (&rule, &channel, tenant) {
            (Some(rule), Some(channel), Some(tenant)) if rule.algorithm == algorithm => {
                let secret = secret(ingest, tenant, channel).await?;
                is_signed = verifies(rule, &secret, &shown);
            }
            _ => {
                let rule = SignatureRule {
                    header: TOKEN_HEADER.to_owned(),
                    algorithm,
                    encoding: Default::default(),
                    prefix: None,
                };
                verifies(&rule, &Secret::new(NO_TOKEN), &shown);
            }
        }
    }
    // Who signs needs no token, but a wrong one is wrong.
    let may_enter = match rule {
        Some(_) => is_signed && (is_token || token.is_none()),
        None => is_token,
    };
    channel.filter(|_| may_enter).ok_or_else(refused)
}

fn verifies(rule: &SignatureRule, secret: &Secret, shown: &Shown<'_>) -> bool {
    let header = shown.headers.get(rule.header.as_str());
    let header = header.and_then(|value| value.to_str().ok()).unwrap_or_default();
    rule.verifies(secret, shown.body, header)
}

async fn secret(ingest: &Ingest, tenant: &Tenant, channel: &Channel) -> Result<Secret> {
    let name = Channel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    let sealed = channel.signing_secret.as_deref();
    let sealed = sealed.ok_or_else(|| Error::internal("a channel that is signed has no secret"))?;
    ingest.sealer.open(place, sealed).await
}

/// The token: as bearer, in a header of its own, or in the query.
fn token(shown: &Shown<'_>) -> Option<String> {
    let text = |name: &str| shown.headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    if let Some(token) = bearer.or_else(|| text(TOKEN_HEADER)) {
        return Some(token.to_owned());
    }
    let mut pairs = url::form_urlencoded::parse(shown.query?.as_bytes());
    let (_, token) = pairs.find(|(name, _)| name == "token")?;
    Some(token.into_owned())
}
