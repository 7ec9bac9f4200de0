//! Checks the credentials of a request to a channel.
//!
//! A missing channel is checked like any other, against a token and a secret that no caller has, so that
//! timing does not reveal which channels exist. One case takes longer: the first request that an instance
//! gets for a signed channel, because it opens the channel's secret.

use axum::http::{HeaderMap, header};
use events::channel::StoredChannel;
use events::signature::{Algorithm, SignatureRule};
use platform::config::Secret;
use platform::sealing::Place;
use platform::secrets::secret_hash;
use platform::{Error, Result, Tenant};
use subtle::ConstantTimeEq as _;

use crate::{Ingest, refused};

/// Header for a token, besides `Authorization`.
const TOKEN_HEADER: &str = "x-service-ingest-token";
/// Hash that no token has.
const NO_TOKEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Parts of a request that its credentials are read from.
pub struct Shown<'a> {
    pub headers: &'a HeaderMap,
    pub query: Option<&'a str>,
    pub body: &'a [u8],
}

/// Returns the channel if the request may use it. Every other request gets the same 401, whatever the reason.
pub async fn admitted(
    ingest: &Ingest,
    tenant: Option<&Tenant>,
    channel: Option<StoredChannel>,
    shown: Shown<'_>,
) -> Result<StoredChannel> {
    let token = token(&shown);
    let stored = channel
        .as_ref()
        .map_or(NO_TOKEN, |channel| channel.token_hash.as_str());
    let hash = secret_hash(token.as_deref().unwrap_or_default());
    let is_token = bool::from(hash.as_bytes().ct_eq(stored.as_bytes()));
    let rule = channel.as_ref().and_then(|channel| channel.signature.clone());
    let mut is_signed = false;
    // Each algorithm runs once, so that timing does not reveal the channel's algorithm.
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
    // A signed request needs no token, but a wrong token is refused.
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

async fn secret(ingest: &Ingest, tenant: &Tenant, channel: &StoredChannel) -> Result<Secret> {
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    let sealed = channel.signing_secret.as_deref();
    let sealed = sealed.ok_or_else(|| Error::internal("a channel that is signed has no secret"))?;
    ingest.sealer.open(place, sealed).await
}

/// Reads the token from the bearer header, its own header, or the query.
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
    let (_, token) = pairs.find(|(name, token)| name == "token" && !token.is_empty())?;
    Some(token.into_owned())
}
