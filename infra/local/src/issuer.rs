//! Issues local access tokens with a key pair of the data directory.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use platform::auth::Audience;
use platform::auth::Claims;
use platform::config::ConfigError;
use platform::{Error, Result, UtcTime};

use crate::data_dir::{DataDir, read_or_make, write_whole};

/// The `iss` of local tokens.
pub const ISSUER: &str = "millrace-local";
/// The `aud` of local tokens.
pub const AUDIENCE: &str = "millrace";
/// Lifetime of a local token, in seconds: a working day.
pub const LIFETIME_SECONDS: i64 = 12 * 60 * 60;

const KEY_ID: &str = "local";

pub struct Issuer {
    key: EncodingKey,
}

/// Subject of a token.
#[derive(Clone, Debug)]
pub struct Subject {
    pub user_id: String,
    pub account: String,
    /// None for an account-scoped token.
    pub project: Option<String>,
    /// Tenant; local tokens name one only on request.
    pub tenant_id: Option<String>,
    pub roles: Vec<String>,
    /// Permissions beyond those of the roles.
    pub permissions: Vec<String>,
}

impl Default for Subject {
    /// Returns a developer with the permissions of a project admin in the account `acme`, project `demo`.
    fn default() -> Self {
        Self {
            user_id: "dev".to_owned(),
            account: "acme".to_owned(),
            project: Some("demo".to_owned()),
            tenant_id: None,
            roles: vec!["developer".to_owned(), "project_admin".to_owned()],
            permissions: Vec::new(),
        }
    }
}

impl Issuer {
    /// Reads the directory's key, and makes one where it is missing.
    pub fn open(data: &DataDir) -> Result<Self, ConfigError> {
        let path = data.path("keys/token-signing.pkcs8");
        let der = read_or_make(&path, || {
            let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
            key.map(|key| key.as_ref().to_vec())
                .map_err(|_| ConfigError::new("The machine gave no random numbers for a key."))
        })?;
        let key = EncodingKey::from_ec_der(&der);
        let mut jwk = Jwk::from_encoding_key(&key, Algorithm::ES256).map_err(|_| {
            ConfigError::new(format!(
                "{} is not a key. Remove it, and a new one is made.",
                path.display()
            ))
        })?;
        jwk.common.key_id = Some(KEY_ID.to_owned());
        let set = serde_json::to_vec_pretty(&JwkSet { keys: vec![jwk] }).unwrap_or_default();
        write_whole(&data.path("keys/jwks.json"), &set)?;
        Ok(Self { key })
    }

    /// Returns a token that is valid from `now` for `lifetime_seconds`.
    pub fn token(&self, subject: &Subject, now: UtcTime, lifetime_seconds: i64) -> Result<String> {
        let claims = Claims {
            sub: subject.user_id.clone(),
            account_id: subject.account.clone(),
            project_id: subject.project.clone(),
            tenant_id: subject.tenant_id.clone(),
            roles: subject.roles.clone(),
            permissions: subject.permissions.clone(),
            account_name: Some(subject.account.clone()),
            project_name: subject.project.clone(),
            exp: now.as_seconds() + lifetime_seconds,
            nbf: Some(now.as_seconds()),
            iss: ISSUER.to_owned(),
            aud: Audience::One(AUDIENCE.to_owned()),
        };
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(KEY_ID.to_owned());
        jsonwebtoken::encode(&header, &claims, &self.key).map_err(Error::internal)
    }
}
