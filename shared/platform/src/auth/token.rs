//! Verifies access tokens: JWTs checked against a key set, with issuer, audience, expiry and not-before.
//!
//! `alg: none` is never accepted, and HS256 only where a shared secret is configured. A key of the
//! set has one algorithm, so a token that uses a public key as an HS256 secret matches no key.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use crate::auth::claims::{Claims, check_times, end_of, refusal};
use crate::auth::jwks::{Jwks, JwksSource};
use crate::auth::principal::{Principal, PrincipalKind};
use crate::auth::service::ServiceVerifier;
use crate::auth::verified::Verified;
use crate::clock::Clock;
use crate::config::{ConfigError, Environment, Secret, variables};
use crate::error::{Error, Result};
use crate::signing::SigningKey;
use crate::tenant::check_id;

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
