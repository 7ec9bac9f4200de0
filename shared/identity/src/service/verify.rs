//! Verifies service tokens.

use std::sync::Arc;

use jsonwebtoken::errors::{ErrorKind as JwtErrorKind, Result as JwtResult};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};

use super::claims::{AUDIENCE, ISSUER, LIFETIME_SECONDS, ServiceClaims};
use crate::times;
use crate::verifier::refusal;
use platform::auth::Principal;
use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::signing::{EarlierKey, NamedKey, SigningKey, fingerprint, public_key_pem};

/// Verifies tokens with the public half of the signing key, and of those that it replaced while their tokens
/// are valid.
pub(crate) struct ServiceVerifier {
    key: Arc<dyn SigningKey>,
}

impl ServiceVerifier {
    pub(crate) fn new(key: Arc<dyn SigningKey>) -> Self {
        Self { key }
    }

    /// Whether a token claims to be a service token.
    pub(crate) fn is_meant(header: &Header) -> bool {
        named(header).is_some()
    }

    /// Returns the principal of a service token. 401 for an invalid token, 503 if the public key cannot be
    /// read.
    pub(crate) async fn verify(&self, token: &str, header: &Header, now: UtcTime) -> Result<Principal> {
        let mut reason = JwtErrorKind::InvalidSignature.into();
        let Some(named) = named(header) else {
            return Err(refusal(reason));
        };
        for key in self.keys(named, now).await? {
            match claims(token, &decoding_key(&key)?) {
                Ok(claims) => {
                    times::check(claims.exp, Some(claims.nbf), now)?;
                    return Ok(claims.principal());
                }
                Err(error) => reason = error,
            }
        }
        Err(refusal(reason))
    }

    /// Returns the public keys that a token may be signed with: the one that it names, or each where it names
    /// none.
    async fn keys(&self, named: NamedKey<'_>, now: UtcTime) -> Result<Vec<Vec<u8>>> {
        let current = self.key.public_key().await?;
        // Most tokens: the earlier keys need not be read.
        if named == NamedKey::Fingerprint(&fingerprint(&current)) {
            return Ok(vec![current]);
        }
        let mut earlier = self.key.earlier_keys().await?;
        earlier.retain(|key| may_have_valid_tokens(key, now));
        let keys = std::iter::once(current).chain(earlier.into_iter().map(|key| key.public_key));
        Ok(keys.filter(|key| named.is(&fingerprint(key))).collect())
    }
}

fn named(header: &Header) -> Option<NamedKey<'_>> {
    NamedKey::read(ISSUER, header.kid.as_deref()?)
}

/// A replaced key signed its last token when it was replaced. The holder of a stolen one could sign tokens
/// with any times.
fn may_have_valid_tokens(key: &EarlierKey, now: UtcTime) -> bool {
    let end = key
        .replaced_at
        .and_then(|time| times::end_of(time.as_seconds() + LIFETIME_SECONDS));
    end.is_none_or(|end| now < end)
}

fn claims(token: &str, key: &DecodingKey) -> JwtResult<ServiceClaims> {
    let mut validation = Validation::new(Algorithm::RS256);
    validation.set_issuer(&[ISSUER]);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    // The caller checks them, against the clock that was passed in.
    validation.validate_exp = false;
    validation.validate_nbf = false;
    Ok(decode::<ServiceClaims>(token, key, &validation)?.claims)
}

fn decoding_key(public_key: &[u8]) -> Result<DecodingKey> {
    DecodingKey::from_rsa_pem(public_key_pem(public_key).as_bytes()).map_err(Error::internal)
}
