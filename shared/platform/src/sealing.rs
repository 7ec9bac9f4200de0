//! Sealing: secrets that must be read back, such as those that sign deliveries, are encrypted before they are stored.
//!
//! A secret that is only compared (an API key, a token) is not sealed but hashed. What is sealed opens only at the
//! [`Place`] that it was sealed for: copied into a record of another tenant, or into another record, it stays shut.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::config::Secret;
use crate::error::{Error, Result};
use crate::queue::BoxFuture;
use crate::tenant::Tenant;

/// Longest secret, in bytes: what one call of KMS encrypts.
pub const MAX_SECRET_BYTES: usize = 4096;

/// Where a sealed secret is stored: whose record, and which.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Whose record.
    pub tenant: &'a Tenant,
    /// Which record and field, unique within the tenant, such as `subscription/<id>/signing_secret`.
    pub name: &'a str,
}

/// Seals secrets and opens them again.
pub trait Sealer: Send + Sync {
    /// The secret as a text to be stored. 400 for one of more than [`MAX_SECRET_BYTES`].
    fn seal<'a>(&'a self, place: Place<'a>, secret: &'a Secret) -> BoxFuture<'a, Result<String>>;

    /// The secret behind a stored text. 500 for one that was not sealed for this place with this key.
    fn open<'a>(&'a self, place: Place<'a>, sealed: &'a str) -> BoxFuture<'a, Result<Secret>>;
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

/// Opened secrets that are kept in memory.
const MAX_OPENED: usize = 1_000;

/// A sealer that opens a text once: for those who need a secret with each request.
pub struct OpenedOnce {
    inner: Arc<dyn Sealer>,
    opened: Mutex<HashMap<String, Secret>>,
}

impl OpenedOnce {
    /// Over a sealer.
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

impl Sealer for OpenedOnce {
    fn seal<'a>(&'a self, place: Place<'a>, secret: &'a Secret) -> BoxFuture<'a, Result<String>> {
        self.inner.seal(place, secret)
    }

    fn open<'a>(&'a self, place: Place<'a>, sealed: &'a str) -> BoxFuture<'a, Result<Secret>> {
        Box::pin(async move {
            // It opens at its place alone, so that the place is part of the question.
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
        })
    }
}
