//! Issues service tokens.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::claims::{ISSUER, ServiceClaims};
use platform::auth::RunPrincipal;
use platform::clock::Clock;
use platform::config::Secret;
use platform::error::Result;
use platform::signing::{SigningKey, compact_jws};

/// A token is replaced when it has this long left, in seconds: more than a call takes.
const RENEWED_BEFORE_END_SECONDS: i64 = 60;
/// Maximum number of cached tokens.
const MAX_TOKENS: Option<NonZeroUsize> = NonZeroUsize::new(1_000);

/// Signs a token for each run, and caches it for the run's next call.
pub struct ServiceTokens {
    key: Arc<dyn SigningKey>,
    clock: Clock,
    kept: Mutex<LruCache<RunPrincipal, Kept>>,
}

struct Kept {
    token: Secret,
    /// In seconds since the Unix epoch.
    expires_at: i64,
}

impl ServiceTokens {
    pub fn new(key: Arc<dyn SigningKey>, clock: Clock) -> Self {
        Self {
            key,
            clock,
            kept: Mutex::new(LruCache::new(MAX_TOKENS.unwrap_or(NonZeroUsize::MIN))),
        }
    }

    /// Returns a token of the run that is valid for at least a minute.
    pub async fn token(&self, run: &RunPrincipal) -> Result<Secret> {
        let now = self.clock.now().as_seconds();
        if let Some(kept) = self.kept.lock().get(run).filter(|kept| kept.is_fresh(now)) {
            return Ok(kept.token.clone());
        }
        let claims = ServiceClaims::new(run, now);
        let token = Secret::new(compact_jws(self.key.as_ref(), ISSUER, &claims).await?.text);
        let kept = Kept {
            token: token.clone(),
            expires_at: claims.exp,
        };
        self.kept.lock().put(run.clone(), kept);
        Ok(token)
    }
}

impl Kept {
    fn is_fresh(&self, now: i64) -> bool {
        self.expires_at - now > RENEWED_BEFORE_END_SECONDS
    }
}
