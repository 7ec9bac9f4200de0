//! Verifies access tokens: JWTs checked against a key set, with issuer, audience, expiry and not-before.
//!
//! `alg: none` is never accepted, and HS256 only where a shared secret is configured. A key of the
//! set has one algorithm, so a token that uses a public key as an HS256 secret matches no key.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::{Error as JwtError, ErrorKind as JwtErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::jwks::{Jwks, JwksSource};
use crate::auth::principal::{Principal, PrincipalKind};
use crate::auth::service::ServiceVerifier;
use crate::auth::verified::Verified;
use crate::clock::{Clock, UtcTime};
use crate::config::{ConfigError, Environment, Secret, variables};
use crate::error::{Error, Result};
use crate::signing::SigningKey;
use crate::tenant::check_id;

/// Tolerated difference between the issuer's clock and ours, in seconds.
const LEEWAY_SECONDS: i64 = 30;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// User id.
    pub sub: String,
    pub account_id: String,
    /// Absent for an account-scoped principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Present only where the issuer knows a tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub roles: Vec<String>,
    /// Individual permissions, in addition to those of the roles.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// Readable name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// Expiry, in seconds since the Unix epoch.
    pub exp: i64,
    /// Not valid before, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    pub iss: String,
    pub aud: Audience,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    One(String),
    Many(Vec<String>),
}

/// Expectations that a token is checked against.
#[derive(Clone, Debug)]
pub struct VerifierConfig {
    pub jwks: JwksSource,
    /// Required `iss`.
    pub issuer: String,
    /// Required `aud`.
    pub audience: String,
    /// Secret with which HS256 tokens are also accepted.
    pub shared_secret: Option<Secret>,
}

impl VerifierConfig {
    /// Reads `MILLRACE_JWKS`, `MILLRACE_TOKEN_ISSUER`, `MILLRACE_TOKEN_AUDIENCE` and
    /// `MILLRACE_TOKEN_SHARED_SECRET`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            jwks: JwksSource::parse(&environment.required(variables::JWKS)?)?,
            issuer: environment.required(variables::TOKEN_ISSUER)?,
            audience: environment.required(variables::TOKEN_AUDIENCE)?,
            shared_secret: environment
                .optional(variables::TOKEN_SHARED_SECRET)
                .map(Secret::new),
        })
    }
}

pub struct Verifier {
    config: VerifierConfig,
    jwks: Jwks,
    service: ServiceVerifier,
    verified: Verified,
    clock: Clock,
}

impl Verifier {
    /// Creates a verifier that reads the issuer's keys and the service key at their first use.
    pub fn new(config: VerifierConfig, service_key: Arc<dyn SigningKey>, clock: Clock) -> Self {
        let jwks = Jwks::new(config.jwks.clone(), clock.clone());
        Self {
            config,
            jwks,
            service: ServiceVerifier::new(service_key),
            verified: Verified::default(),
            clock,
        }
    }

    /// Returns the principal of a token. 401 for an invalid token, 503 where the keys cannot be read.
    pub async fn verify(&self, token: &str) -> Result<Principal> {
        let generation = self.jwks.generation();
        let claims = match generation.and_then(|generation| self.verified.find(token, generation)) {
            Some(claims) => claims,
            None => {
                let header = header(token)?;
                if ServiceVerifier::is_meant(&header) {
                    return self.service.verify(token, self.clock.now()).await;
                }
                self.check(token, &header, generation).await?
            }
        };
        check_times(claims.exp, claims.nbf, self.clock.now())?;
        principal(&claims)
    }

    async fn check(&self, token: &str, header: &Header, generation: Option<u64>) -> Result<Arc<Claims>> {
        let claims = Arc::new(self.claims(token, header).await?);
        // Only if the keys were not read again during the check.
        if let Some(generation) = generation.filter(|before| self.jwks.generation() == Some(*before)) {
            self.verified.keep(token, generation, Arc::clone(&claims));
        }
        Ok(claims)
    }

    async fn claims(&self, token: &str, header: &Header) -> Result<Claims> {
        if matches!(header.alg, Algorithm::HS256) && self.config.shared_secret.is_some() {
            let secret = self.config.shared_secret.as_ref().map_or("", Secret::expose);
            return self.decode(
                token,
                &DecodingKey::from_secret(secret.as_bytes()),
                Algorithm::HS256,
            );
        }
        match self.jwks.find(header.kid.as_deref()).await? {
            Some(key) if key.algorithm == header.alg => self.decode(token, &key.key, key.algorithm),
            _ => Err(Error::unauthenticated(
                "The access token is not signed by a key of this service's issuer.",
            )),
        }
    }

    fn decode(&self, token: &str, key: &DecodingKey, algorithm: Algorithm) -> Result<Claims> {
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // The caller checks the expiry, against the clock that was passed in.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        decode::<Claims>(token, key, &validation)
            .map(|data| data.claims)
            .map_err(refusal)
    }
}

/// 401 for a token that has expired or is not valid yet. `exp` and `nbf` are in seconds since the Unix epoch.
pub(super) fn check_times(exp: i64, nbf: Option<i64>, now: UtcTime) -> Result<()> {
    let now = now.as_seconds();
    if exp.saturating_add(LEEWAY_SECONDS) <= now {
        return Err(Error::unauthenticated(
            "The access token has expired; get a new one.",
        ));
    }
    if nbf.is_some_and(|not_before| not_before.saturating_sub(LEEWAY_SECONDS) > now) {
        return Err(Error::unauthenticated("The access token is not valid yet."));
    }
    Ok(())
}

/// Returns the time from which on a token with this `exp` is refused. None for a time that no clock shows.
pub(super) fn end_of(exp: i64) -> Option<UtcTime> {
    UtcTime::from_millis(exp.checked_add(LEEWAY_SECONDS)?.checked_mul(1_000)?)
}

/// 401 for a rejected token.
pub(super) fn refusal(error: JwtError) -> Error {
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

/// Parses the header of a token. Rejects headers that the library accepts although they are invalid.
fn header(token: &str) -> Result<Header> {
    let is_no_token = || Error::unauthenticated("The access token is not a JWT.");
    let header = decode_header(token).map_err(|error| is_no_token().with_source(error))?;
    let raw = token
        .split('.')
        .next()
        .and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let raw: Map<String, Value> = raw
        .and_then(|raw| serde_json::from_slice(&raw).ok())
        .ok_or_else(is_no_token)?;
    if !raw.get("alg").is_some_and(Value::is_string) {
        return Err(is_no_token());
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

fn principal(claims: &Claims) -> Result<Principal> {
    let named = |what, id: &str| {
        check_id(what, id)
            .map_err(|error| Error::unauthenticated(format!("The access token: {}", error.message())))
    };
    named("account", &claims.account_id)?;
    named("user", &claims.sub)?;
    if let Some(project) = &claims.project_id {
        named("project", project)?;
    }
    Ok(Principal {
        permissions: Principal::expand(&claims.roles, &claims.permissions),
        kind: PrincipalKind::User(claims.sub.clone()),
        account_id: claims.account_id.clone(),
        project_id: claims.project_id.clone(),
        tenant_id: claims.tenant_id.clone(),
        account_name: claims.account_name.clone(),
        project_name: claims.project_name.clone(),
        roles: claims.roles.clone(),
        valid_until: end_of(claims.exp),
    })
}
