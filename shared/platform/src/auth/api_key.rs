//! Creates and verifies API keys of the data store API.
//!
//! A key has the form `sk-<where>.<secret>`. `where` is the URL-safe base64 of `<account>/<project>/<key
//! id>`, so the table key of its record starts with the tenant. `secret` is 32 random bytes, of which only
//! the SHA-256 is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rand::Rng as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::auth::principal::{Principal, PrincipalKind};
use crate::clock::UtcTime;
use crate::error::{Error, Result};
use crate::records::api_keys::ApiKeys;
use crate::tenant::{Tenant, check_id};

pub const PREFIX: &str = "sk-";

/// Stored record of a key. The key itself is shown once, when it is created.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    pub id: String,
    /// Purpose of the key, in the owner's words.
    pub name: String,
    pub account_id: String,
    pub project_id: String,
    pub roles: Vec<String>,
    /// SHA-256 of the secret part, in lower-case hex.
    pub secret_sha256: String,
    /// The last four characters of the key, to tell keys apart.
    pub hint: String,
    pub created_at: UtcTime,
}

/// Creates a key: the record to store, and the text to show once.
pub fn create(
    tenant: &Tenant,
    id: String,
    name: String,
    roles: Vec<String>,
    now: UtcTime,
) -> (ApiKey, String) {
    let mut random = [0_u8; 32];
    rand::rng().fill_bytes(&mut random);
    let secret = BASE64.encode(random);
    let location = BASE64.encode(format!("{}/{}/{id}", tenant.account(), tenant.project()));
    let record = ApiKey {
        id,
        name,
        account_id: tenant.account().to_owned(),
        project_id: tenant.project().to_owned(),
        roles,
        secret_sha256: secret_hash(&secret),
        hint: secret.chars().skip(secret.len() - 4).collect(),
        created_at: now,
    };
    (record, format!("{PREFIX}{location}.{secret}"))
}

/// Returns the principal of a key. 401 with the same message for a malformed, unknown, revoked or wrong key.
pub async fn verify(keys: &ApiKeys, text: &str) -> Result<Principal> {
    let refused = || Error::unauthenticated("The API key does not hold.");
    let (tenant, id, secret) = parse(text).ok_or_else(refused)?;
    let record = keys.find(&tenant, &id).await?.ok_or_else(refused)?;
    // Both sides are hashes, so the time of the comparison reveals nothing about the secret.
    if record.secret_sha256 != secret_hash(secret) {
        return Err(refused());
    }
    Ok(Principal {
        permissions: Principal::expand(&record.roles, &[]),
        kind: PrincipalKind::ApiKey(record.id),
        account_id: record.account_id,
        project_id: Some(record.project_id),
        tenant_id: None,
        account_name: None,
        project_name: None,
        roles: record.roles,
        valid_until: None,
    })
}

fn parse(text: &str) -> Option<(Tenant, String, &str)> {
    let (location, secret) = text.strip_prefix(PREFIX)?.split_once('.')?;
    let location = String::from_utf8(BASE64.decode(location).ok()?).ok()?;
    let mut parts = location.split('/');
    let tenant = Tenant::new(parts.next()?, parts.next()?).ok()?;
    let id = parts.next()?.to_owned();
    check_id("key", &id).ok()?;
    parts.next().is_none().then_some((tenant, id, secret))
}

/// Returns the stored form of a secret that is only compared. A fast hash is enough, because the secret is
/// long and random.
pub fn secret_hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_tenant_and_keeps_no_secret() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let (record, text) = create(&tenant, "k1".into(), "ci".into(), vec!["reader".into()], now);
        let (found, id, secret) = parse(&text).unwrap();
        assert_eq!((found, id.as_str()), (tenant, "k1"));
        assert_eq!(record.secret_sha256, secret_hash(secret));
        assert!(!serde_json::to_string(&record).unwrap().contains(secret));
        for bad in [
            "sk-",
            "sk-x",
            "sk-.x",
            "pk-abc.def",
            "sk-YS9iL2MvZA.x",
            "sk-YWNtZS9kZW1vLw.x",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
