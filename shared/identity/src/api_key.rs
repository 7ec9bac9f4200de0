//! Creates, rotates and verifies API keys.
//!
//! A key has the form `sk-<where>.<secret>`. `where` is the URL-safe base64 of `<account>/<project>/<key
//! id>`, so the table key of its record starts with the tenant. `secret` is 32 random bytes, of which only
//! the SHA-256 is stored.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use platform::auth::{Principal, PrincipalKind};
use platform::clock::UtcTime;
use platform::config::Secret;
use platform::error::{Error, Result};
use platform::http::API_KEY_PREFIX;
use platform::secrets::secret_hash;
use platform::tenant::{Tenant, check_id};
use rand::Rng as _;
use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::records::api_keys::ApiKeys;

/// Longest time for which the secret before a rotation still opens, in seconds: 30 days.
pub const MAX_OVERLAP_SECONDS: u64 = 30 * 24 * 3_600;
/// Age from which the time of the last use is written again, in milliseconds: a write an hour is cheap.
const LAST_USE_MS: i64 = 3_600_000;

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
    /// Reference of the principal that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Time from which on it opens nothing; None for a key without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UtcTime>,
    /// Time of a use in the last hour before the last use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<UtcTime>,
    /// Secret before the last rotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<PreviousSecret>,
}

/// Secret that a rotation replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviousSecret {
    pub secret_sha256: String,
    /// Time from which on it opens nothing.
    pub valid_until: UtcTime,
}

pub struct NewApiKey {
    pub id: String,
    pub name: String,
    pub roles: Vec<String>,
    pub created_by: String,
    pub expires_at: Option<UtcTime>,
}

/// Creates a key: the record to store, and the text to show once.
pub fn create(tenant: &Tenant, new: NewApiKey, now: UtcTime) -> (ApiKey, Secret) {
    let secret = new_secret();
    let record = ApiKey {
        account_id: tenant.account().to_owned(),
        project_id: tenant.project().to_owned(),
        id: new.id,
        name: new.name,
        roles: new.roles,
        secret_sha256: secret_hash(&secret),
        hint: hint(&secret),
        created_at: now,
        created_by: Some(new.created_by),
        expires_at: new.expires_at,
        last_used_at: None,
        previous: None,
    };
    let text = text(&record, &secret);
    (record, text)
}

/// Returns the key with a new secret, and its text to show once. The secret before it opens until a time.
pub fn rotated(key: ApiKey, valid_until: UtcTime) -> (ApiKey, Secret) {
    let secret = new_secret();
    let record = ApiKey {
        previous: Some(PreviousSecret {
            secret_sha256: key.secret_sha256,
            valid_until,
        }),
        secret_sha256: secret_hash(&secret),
        hint: hint(&secret),
        ..key
    };
    let text = text(&record, &secret);
    (record, text)
}

/// Returns the principal of a key. 401 with the same message for a malformed, unknown, revoked or wrong key.
pub async fn verify(keys: &ApiKeys, text: &str, now: UtcTime) -> Result<Principal> {
    let refused = || Error::unauthenticated("The API key does not hold.");
    let (tenant, id, secret) = parse(text).ok_or_else(refused)?;
    let record = keys.find(&tenant, &id).await?.ok_or_else(refused)?;
    // Both sides are hashes, so the time of the comparison reveals nothing about the secret.
    let hash = secret_hash(secret);
    let previous = record
        .previous
        .as_ref()
        .filter(|previous| previous.secret_sha256 == hash);
    let ends = match previous {
        _ if record.secret_sha256 == hash => record.expires_at,
        Some(previous) => Some(
            record
                .expires_at
                .map_or(previous.valid_until, |end| end.min(previous.valid_until)),
        ),
        None => return Err(refused()),
    };
    if ends.is_some_and(|end| end <= now) {
        return Err(Error::unauthenticated(match previous {
            Some(_) => "The API key was rotated, and its time is over; use the new one.",
            None => "The API key has expired; get a new one.",
        }));
    }
    let is_noted = record
        .last_used_at
        .is_some_and(|used| now.as_millis() - used.as_millis() < LAST_USE_MS);
    if !is_noted && let Err(error) = keys.used(&tenant, &id, now).await {
        warn!(%error, key = id, "the last use of an API key was not written");
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
        valid_until: ends,
    })
}

fn new_secret() -> String {
    let mut random = [0_u8; 32];
    rand::rng().fill_bytes(&mut random);
    BASE64.encode(random)
}

fn hint(secret: &str) -> String {
    secret.chars().skip(secret.len() - 4).collect()
}

fn text(key: &ApiKey, secret: &str) -> Secret {
    let location = BASE64.encode(format!("{}/{}/{}", key.account_id, key.project_id, key.id));
    Secret::new(format!("{API_KEY_PREFIX}{location}.{secret}"))
}

fn parse(text: &str) -> Option<(Tenant, String, &str)> {
    let (location, secret) = text.strip_prefix(API_KEY_PREFIX)?.split_once('.')?;
    let location = String::from_utf8(BASE64.decode(location).ok()?).ok()?;
    let mut parts = location.split('/');
    let tenant = Tenant::new(parts.next()?, parts.next()?).ok()?;
    let id = parts.next()?.to_owned();
    check_id("key", &id).ok()?;
    parts.next().is_none().then_some((tenant, id, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_tenant_and_keeps_no_secret() {
        let tenant = Tenant::new("acme", "demo").unwrap();
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let new = NewApiKey {
            id: "k1".into(),
            name: "ci".into(),
            roles: vec!["reader".into()],
            created_by: "user:ada".into(),
            expires_at: None,
        };
        let (record, text) = create(&tenant, new, now);
        let (rotated, next) = rotated(record.clone(), now);
        for (record, text) in [(record, text), (rotated, next)] {
            let (owner, id, secret) = parse(text.expose()).unwrap();
            assert_eq!((&owner, id.as_str()), (&tenant, "k1"));
            assert_eq!(record.secret_sha256, secret_hash(secret));
            assert!(!serde_json::to_string(&record).unwrap().contains(secret));
        }
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
