//! Issues service tokens.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::claims::{ISSUER, ServiceClaims};
use crate::auth::run_principal::RunPrincipal;
use crate::clock::Clock;
use crate::config::Secret;
use crate::error::Result;
use crate::signing::{SigningKey, compact_jws};

/// A token is replaced when it has this long left, in seconds: more than a call takes.
const RENEWED_BEFORE_END_SECONDS: i64 = 60;
/// Maximum number of cached tokens.
const MAX_TOKENS: usize = 1_000;

/// Signs a token for each run, and caches it for the run's next call.
pub struct ServiceTokens {
    key: Arc<dyn SigningKey>,
    clock: Clock,
    kept: Mutex<HashMap<RunPrincipal, Kept>>,
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
            kept: Mutex::default(),
        }
    }

    /// Returns a token of the run that is valid for at least a minute.
    pub async fn token(&self, run: &RunPrincipal) -> Result<Secret> {
        let now = self.clock.now().as_seconds();
        if let Some(kept) = self.kept().get(run).filter(|kept| kept.is_fresh(now)) {
            return Ok(kept.token.clone());
        }
        let claims = ServiceClaims::new(run, now);
        let token = Secret::new(compact_jws(self.key.as_ref(), ISSUER, &claims).await?);
        let mut kept = self.kept();
        if kept.len() >= MAX_TOKENS {
            kept.retain(|_, kept| kept.is_fresh(now));
        }
        if kept.len() >= MAX_TOKENS {
            kept.clear();
        }
        let expires_at = claims.exp;
        kept.insert(
            run.clone(),
            Kept {
                token: token.clone(),
                expires_at,
            },
        );
        Ok(token)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<RunPrincipal, Kept>> {
        self.kept.lock()
    }
}

impl Kept {
    fn is_fresh(&self, now: i64) -> bool {
        self.expires_at - now > RENEWED_BEFORE_END_SECONDS
    }
}
