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
/// Most certificates that are kept.
const MAX_KEPT: usize = 64;

/// A fetched public key.
#[derive(Clone)]
struct Known {
    at: Instant,
    key: Arc<Vec<u8>>,
}

/// Public keys of certificates. Clones share them.
#[derive(Clone)]
pub struct Certificates {
    outbound: Outbound,
    known: Arc<Mutex<HashMap<String, Known>>>,
}

impl Certificates {
    pub fn new(outbound: Outbound) -> Self {
        Self {
            outbound,
            known: Arc::default(),
        }
    }

    /// Returns the public key of the certificate at a URL, whose host is allowed.
    pub async fn key(&self, url: &Url) -> Result<Arc<Vec<u8>>, Refusal> {
        let known = self.known.lock().get(url.as_str()).cloned();
        if let Some(Known { at, key }) = known
            && at.elapsed() < FRESH
        {
            return Ok(key);
        }
        let refused = |detail: String| Refusal::new(RefusalReason::CertificateRefused, detail);
        let pem = fetched(&self.outbound, url).await.map_err(refused)?;
        let key = public_key(&pem).ok_or_else(|| refused(format!("there is no certificate at {url}")))?;
        let key = Arc::new(key);
        let mut known = self.known.lock();
        if known.len() >= MAX_KEPT {
            known.clear();
        }
        let fresh = Known {
            at: Instant::now(),
            key: Arc::clone(&key),
        };
        known.insert(url.to_string(), fresh);
        Ok(key)
    }
}

/// Gets a URL; an error says why it was not reached.
pub async fn fetched(outbound: &Outbound, url: &Url) -> Result<Vec<u8>, String> {
    let failed = |cause: &dyn std::fmt::Display| format!("{url} cannot be read: {cause}");
    let opened = outbound
        .send(Request::get(url.as_str(), MAX_BYTES, DEADLINE))
        .await;
    let opened = opened.and_then(|opened| opened.success());
    let mut opened = opened.map_err(|cause| failed(&cause))?;
    opened.whole().await.map_err(|cause| failed(&cause))
}
