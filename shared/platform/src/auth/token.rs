//! Access tokens: JWTs checked against a key set, with issuer, audience, expiry and not-before.
//!
//! `alg: none` does not exist here, and HS256 only where a shared secret was configured explicitly: the algorithm comes
//! from the key, so a token signed with a public key as if it were a secret finds no key at all.

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
use crate::config::{ConfigError, Environment, Secret};
use crate::error::{Error, Result};
use crate::signing::SigningKey;
use crate::tenant::check_id;

/// How far the issuer's clock may differ from ours, in seconds.
const LEEWAY_SECONDS: i64 = 30;

/// The claims of an access token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claims {
    /// User id.
    pub sub: String,
    /// Account.
    pub account_id: String,
    /// Project; absent for an account-scoped principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Tenant, where the issuer knows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Role names.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Single permissions, beyond those of the roles.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// Readable name of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// Readable name of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// Expiry, in seconds since the Unix epoch.
    pub exp: i64,
    /// Not valid before, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// Issuer.
    pub iss: String,
    /// Audience.
    pub aud: Audience,
}

/// One audience or several.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

/// What a token is checked against.
#[derive(Clone, Debug)]
pub struct VerifierConfig {
    /// Where the public keys are.
    pub jwks: JwksSource,
    /// The `iss` it must carry.
    pub issuer: String,
    /// The `aud` it must carry.
    pub audience: String,
    /// Accepts HS256 tokens signed with this secret as well.
    pub shared_secret: Option<Secret>,
}

impl VerifierConfig {
    /// From `MILLRACE_JWKS`, `MILLRACE_TOKEN_ISSUER`, `MILLRACE_TOKEN_AUDIENCE`, `MILLRACE_TOKEN_SHARED_SECRET`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            jwks: JwksSource::parse(&environment.required("MILLRACE_JWKS")?)?,
            issuer: environment.required("MILLRACE_TOKEN_ISSUER")?,
            audience: environment.required("MILLRACE_TOKEN_AUDIENCE")?,
            shared_secret: environment
                .optional("MILLRACE_TOKEN_SHARED_SECRET")
                .map(Secret::new),
        })
    }
}

/// Turns a token into a [`Principal`], or says why not.
pub struct Verifier {
    config: VerifierConfig,
    jwks: Jwks,
    service: ServiceVerifier,
    verified: Verified,
    clock: Clock,
}

impl Verifier {
    /// A verifier that reads its keys at their first use: those of the issuer, and the one of service tokens.
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

    /// The principal of a token. 401 for a token that does not hold, 503 where the keys cannot be read.
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
        // Only what was surely checked with these keys: they may have been read again meanwhile.
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
        // Expiry is checked by the caller, against the clock that was passed in.
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

/// 401 for a token that was refused.
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

/// The header of a token. What the library's reading of it lets pass is refused here.
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
    // RFC 7515, 4.1.11: what is critical and not understood makes the token invalid, and nothing is
    // understood here.
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
    })
}
