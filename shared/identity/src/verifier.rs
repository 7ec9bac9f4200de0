//! Verifies access tokens: JWTs checked against the key set of their issuer, with audience, expiry and
//! not-before.
//!
//! `alg: none` is never accepted, and HS256 only where a shared secret is configured. A key of the
//! set has one algorithm, so a token that uses a public key as an HS256 secret matches no key.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::{Error as JwtError, ErrorKind as JwtErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, Header, decode_header};
use platform::auth::Principal;
use platform::clock::Clock;
use platform::error::{Error, Result};
use platform::http::strict;
use platform::signing::SigningKey;
use serde_json::{Map, Value};

use crate::claims::Claims;
use crate::jwks::Jwks;
use crate::service::ServiceVerifier;
use crate::settings::Provider;
use crate::subject::Subject;
use crate::times;
use crate::verified::{Checked, Verified};

/// What a verified token says about its bearer.
pub enum Bearer {
    /// A workflow run, by a service token.
    Run(Box<Principal>),
    /// A user of an identity provider.
    User(Arc<Subject>),
}

/// An identity provider and its keys.
pub struct Issuer {
    pub provider: Provider,
    pub jwks: Jwks,
}

pub struct Verifier {
    issuers: Vec<Issuer>,
    service: ServiceVerifier,
    verified: Verified,
    clock: Clock,
}

impl Verifier {
    /// Creates a verifier that reads the providers' keys at their first use, and the service key at each.
    pub fn new(providers: Vec<Provider>, service_key: Arc<dyn SigningKey>, clock: Clock) -> Self {
        let issuers = providers.into_iter().map(|provider| Issuer {
            jwks: Jwks::new(provider.jwks.clone(), clock.clone()),
            provider,
        });
        Self {
            issuers: issuers.collect(),
            service: ServiceVerifier::new(service_key),
            verified: Verified::default(),
            clock,
        }
    }

    /// Returns the bearer of a token. 401 for an invalid token, 503 where the keys cannot be read.
    pub async fn verify(&self, token: &str) -> Result<Bearer> {
        let subject = match self
            .verified
            .find(token)
            .filter(|checked| self.is_current(checked))
        {
            Some(checked) => checked.subject,
            None => {
                let header = header(token)?;
                if ServiceVerifier::is_meant(&header) {
                    let principal = self.service.verify(token, &header, self.clock.now()).await?;
                    return Ok(Bearer::Run(Box::new(principal)));
                }
                self.check(token, &header).await?
            }
        };
        times::check(subject.exp, subject.nbf, self.clock.now())?;
        Ok(Bearer::User(subject))
    }

    /// Returns whether the provider of this subject has memberships.
    pub fn has_memberships(&self, subject: &Subject) -> bool {
        let issuer = self.issuers.get(subject.provider);
        issuer.is_some_and(|issuer| issuer.provider.memberships)
    }

    /// Returns the provider of a token, whose signature is not checked yet.
    pub fn issuer_of(&self, token: &str) -> Result<&Issuer> {
        self.position_of(token).map(|(_, issuer)| issuer)
    }

    pub fn issuers(&self) -> &[Issuer] {
        &self.issuers
    }

    fn is_current(&self, checked: &Checked) -> bool {
        let issuer = self.issuers.get(checked.subject.provider);
        issuer.and_then(|issuer| issuer.jwks.generation()) == Some(checked.generation)
    }

    async fn check(&self, token: &str, header: &Header) -> Result<Arc<Subject>> {
        let (position, issuer) = self.position_of(token)?;
        let before = issuer.jwks.generation();
        let claims = claims(issuer, token, header).await?;
        let subject = Arc::new(Subject::read(&claims, &issuer.provider, position)?);
        let after = issuer.jwks.generation();
        // Only if the keys were not read again during the check. The first check of all reads them.
        if let Some(generation) = after.filter(|after| before.is_none_or(|before| before == *after)) {
            let checked = Checked {
                subject: Arc::clone(&subject),
                generation,
            };
            self.verified.keep(token, checked);
        }
        Ok(subject)
    }

    fn position_of(&self, token: &str) -> Result<(usize, &Issuer)> {
        let claimed = part(token, 1);
        let claimed = claimed.ok_or_else(|| no_token("its claims are not JSON"))?;
        let issuer = claimed.get("iss").and_then(Value::as_str);
        let is_of =
            |issuers: &[String]| issuer.is_some_and(|issuer| issuers.iter().any(|known| known == issuer));
        let mut issuers = self.issuers.iter().enumerate();
        issuers
            .find(|(_, issuer)| is_of(&issuer.provider.issuers))
            .ok_or_else(|| Error::unauthenticated("The access token is of another issuer."))
    }
}

/// Returns the claims of a token that is signed by a key of its issuer.
async fn claims(issuer: &Issuer, token: &str, header: &Header) -> Result<Claims> {
    if let (Algorithm::HS256, Some(secret)) = (header.alg, &issuer.provider.shared_secret) {
        let key = DecodingKey::from_secret(secret.expose().as_bytes());
        return decoded(token, &key, Algorithm::HS256);
    }
    match issuer.jwks.find(header.kid.as_deref()).await? {
        Some(key) if key.algorithm == header.alg => decoded(token, &key.key, key.algorithm),
        Some(key) => Err(Error::unauthenticated(format!(
            "The access token is signed with {:?}, and its key is for {:?}.",
            header.alg, key.algorithm
        ))),
        None => Err(Error::unauthenticated(
            "The access token is not signed by a key of this service's issuer.",
        )),
    }
}

/// Returns the claims of a token with a valid signature. What they must be is said by the settings of the
/// provider.
fn decoded(token: &str, key: &DecodingKey, algorithm: Algorithm) -> Result<Claims> {
    let (message, signature) = token.rsplit_once('.').unwrap_or_default();
    let is_valid = jsonwebtoken::crypto::verify(signature, message.as_bytes(), key, algorithm);
    if !is_valid.map_err(refusal)? {
        return Err(refusal(JwtErrorKind::InvalidSignature.into()));
    }
    part(token, 1).ok_or_else(|| no_token("its claims are not JSON"))
}

/// 401 for a rejected token.
pub fn refusal(error: JwtError) -> Error {
    let message = match error.kind() {
        JwtErrorKind::InvalidSignature => "The signature of the access token does not hold.".to_owned(),
        JwtErrorKind::InvalidIssuer => "The access token is of another issuer.".to_owned(),
        JwtErrorKind::InvalidAudience => "The access token is for another audience.".to_owned(),
        JwtErrorKind::MissingRequiredClaim(claim) => {
            format!("The access token has no claim '{claim}'.")
        }
        JwtErrorKind::Json(cause) => {
            format!("The claims of the access token are not as they must be: {cause}.")
        }
        _ => "The access token does not hold.".to_owned(),
    };
    Error::unauthenticated(message).with_source(error)
}

/// Returns a part of a token as JSON, unchecked: 0 is the header, 1 the claims. None for JSON with a name
/// that occurs twice, of which others may read another value.
pub fn part(token: &str, position: usize) -> Option<Map<String, Value>> {
    let encoded = token.split('.').nth(position)?;
    let json = URL_SAFE_NO_PAD.decode(encoded).ok()?;
    let mut json = serde_json::Deserializer::from_str(std::str::from_utf8(&json).ok()?);
    let object = strict::json_object(&mut json).ok()?;
    json.end().ok()?;
    Some(object)
}

/// Parses the header of a token. Rejects headers that the library accepts although they are invalid.
fn header(token: &str) -> Result<Header> {
    match token.split('.').count() {
        3 => {}
        5 => return Err(no_token("it is encrypted, and only its issuer can read it")),
        _ => return Err(no_token("it may be meant for the provider alone")),
    }
    let header =
        decode_header(token).map_err(|error| no_token("its header is malformed").with_source(error))?;
    let raw = part(token, 0).ok_or_else(|| no_token("its header is malformed"))?;
    if !raw.get("alg").is_some_and(Value::is_string) {
        return Err(no_token("its header names no algorithm"));
    }
    // OpenID Connect Back-Channel Logout 1.0, 2.4: not for access.
    if header
        .typ
        .as_deref()
        .is_some_and(|typ| typ.eq_ignore_ascii_case("logout+jwt"))
    {
        return Err(no_token("it is a logout token"));
    }
    // RFC 7515, 4.1.11: an unsupported critical extension makes the token invalid, and this service supports
    // none.
    if raw.contains_key("crit") {
        return Err(Error::unauthenticated(
            "The access token demands extensions ('crit') that this service does not have.",
        ));
    }
    Ok(header)
}

fn no_token(reason: &str) -> Error {
    Error::unauthenticated(format!(
        "The access token is not a signed JWT: {reason}. Ask the identity provider for a token with this service's audience."
    ))
}
