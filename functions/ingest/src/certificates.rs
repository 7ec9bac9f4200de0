//! Fetches the certificates of senders. An instance keeps their keys for an hour.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use events::sender::certificate::public_key;
use events::sender::{Refusal, RefusalReason};
use parking_lot::Mutex;
use platform::outbound::{Outbound, Request};
use tokio::time::Instant;
use url::Url;

/// Largest certificate, in bytes.
const MAX_BYTES: u64 = 65_536;
/// Time limit of a request.
const DEADLINE: Duration = Duration::from_secs(3);
const FRESH: Duration = Duration::from_secs(3_600);
/// Most keys that an instance keeps.
const MAX_KEYS: usize = 64;

#[derive(Clone)]
struct CachedKey {
    fetched_at: Instant,
    key: Arc<Vec<u8>>,
}

/// Public keys by the URL of their certificate. Clones share them.
#[derive(Clone)]
pub struct Certificates {
    outbound: Outbound,
    keys: Arc<Mutex<HashMap<String, CachedKey>>>,
}

impl Certificates {
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            keys: Arc::default(),
        }
    }

    /// Returns the public key of the certificate at a URL, whose host is allowed.
    pub async fn key(&self, url: &Url) -> Result<Arc<Vec<u8>>, Refusal> {
        let cached = self.keys.lock().get(url.as_str()).cloned();
        if let Some(CachedKey { fetched_at, key }) = cached
            && fetched_at.elapsed() < FRESH
        {
            return Ok(key);
        }
        let refusal = |detail: String| Refusal::new(RefusalReason::CertificateRefused, detail);
        let pem = fetch(&self.outbound, url).await.map_err(refusal)?;
        let key = public_key(&pem).ok_or_else(|| refusal(format!("there is no certificate at {url}")))?;
        let key = Arc::new(key);
        let mut keys = self.keys.lock();
        if keys.len() >= MAX_KEYS {
            keys.clear();
        }
        let entry = CachedKey {
            fetched_at: Instant::now(),
            key: Arc::clone(&key),
        };
        keys.insert(url.to_string(), entry);
        Ok(key)
    }
}

/// Gets a URL; an error says why it was not reached.
pub async fn fetch(outbound: &Outbound, url: &Url) -> Result<Vec<u8>, String> {
    let why = |cause: &dyn std::fmt::Display| format!("{url} cannot be read: {cause}");
    let request = Request::get(url.as_str(), MAX_BYTES, DEADLINE);
    let response = outbound.send(request).await;
    let response = response.and_then(|response| response.success());
    let mut response = response.map_err(|cause| why(&cause))?;
    response.whole().await.map_err(|cause| why(&cause))
}
