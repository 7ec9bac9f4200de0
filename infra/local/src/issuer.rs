//! Issues local access tokens with a key pair of the data directory.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use platform::config::{ConfigError, Environment};
use platform::{Error, Result, UtcTime};
use serde_json::json;

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
    /// Opens the issuer of a runner; None where the environment names an identity provider.
    pub fn of_runner(data: &DataDir, environment: &Environment) -> Result<Option<Self>, ConfigError> {
        match identity::names_provider(environment) {
            true => Ok(None),
            false => Self::open(data).map(Some),
        }
    }

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
        // A claim that is null counts as absent.
        let claims = json!({
            "sub": subject.user_id, "account_id": subject.account, "project_id": subject.project,
            "tenant_id": subject.tenant_id, "roles": subject.roles, "permissions": subject.permissions,
            "account_name": subject.account, "project_name": subject.project,
            "iss": ISSUER, "aud": AUDIENCE, "nbf": now.as_seconds(), "exp": now.as_seconds() + lifetime_seconds,
        });
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(KEY_ID.to_owned());
        jsonwebtoken::encode(&header, &claims, &self.key).map_err(Error::internal)
    }
}
