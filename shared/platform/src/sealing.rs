//! Seals secrets: those that must be read back, such as signing secrets of deliveries, are encrypted before
//! storage.
//!
//! A secret that is only compared (an API key, a token) is hashed instead. A sealed secret opens only at the
//! [`Place`] that it was sealed for: a copy in a record of another tenant, or in another record, cannot be
//! opened.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};

use crate::config::Secret;
use crate::error::{Error, Result};
use crate::tenant::Tenant;

/// Maximum length of a secret, in bytes; the limit of a KMS encryption.
pub const MAX_SECRET_BYTES: usize = 4096;

/// Location of a sealed secret.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Owner of the record.
    pub tenant: &'a Tenant,
    /// Name of the record and field, unique within the tenant, such as `subscription/<id>/signing_secret`.
    pub name: &'a str,
}

#[async_trait]
pub trait Sealer: Send + Sync {
    /// Returns the sealed text to store. 400 for a secret of more than [`MAX_SECRET_BYTES`].
    async fn seal(&self, place: Place<'_>, secret: &Secret) -> Result<String>;

    /// Returns the secret in a sealed text. 500 for one that was not sealed for this place with this key.
    async fn open(&self, place: Place<'_>, sealed: &str) -> Result<Secret>;
}

/// 400 for a secret that is too long to seal.
pub fn check_length(secret: &Secret) -> Result<()> {
    let length = secret.expose().len();
    if length > MAX_SECRET_BYTES {
        return Err(Error::invalid(format!(
            "The secret has {length} bytes; use one of at most {MAX_SECRET_BYTES}."
        )));
    }
    Ok(())
}

/// Maximum number of opened secrets in memory.
const MAX_OPENED: usize = 1_000;

/// Caches opened secrets, for callers that need a secret with each request.
pub struct OpenedOnce {
    inner: Arc<dyn Sealer>,
    opened: Mutex<HashMap<String, Secret>>,
}

impl OpenedOnce {
    pub fn new(inner: Arc<dyn Sealer>) -> Self {
        Self {
            inner,
            opened: Mutex::default(),
        }
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<String, Secret>> {
        self.opened.lock()
    }
}

#[async_trait]
impl Sealer for OpenedOnce {
    async fn seal(&self, place: Place<'_>, secret: &Secret) -> Result<String> {
        self.inner.seal(place, secret).await
    }

    async fn open(&self, place: Place<'_>, sealed: &str) -> Result<Secret> {
        // The place is part of the cache key, because a text opens only there.
        let key = format!("{}/{}/{sealed}", place.tenant, place.name);
        if let Some(secret) = self.opened().get(&key) {
            return Ok(secret.clone());
        }
        let secret = self.inner.open(place, sealed).await?;
        let mut opened = self.opened();
        if opened.len() >= MAX_OPENED {
            opened.clear();
        }
        opened.insert(key, secret.clone());
        Ok(secret)
    }
}
