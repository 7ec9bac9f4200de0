//! Issues service tokens.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Header};
use serde::Serialize;

use super::claims::{ISSUER, ServiceClaims};
use super::key::ServiceKey;
use crate::auth::run_principal::RunPrincipal;
use crate::clock::Clock;
use crate::config::Secret;
use crate::error::{Error, Result};

/// A token is signed anew when it has this long left, in seconds: more than a call takes.
const RENEWED_BEFORE_END_SECONDS: i64 = 60;
/// Most tokens that are kept.
const MAX_TOKENS: usize = 1_000;

/// Signs a token for each run, and keeps it for the run's next call.
pub struct ServiceTokens {
    key: Arc<dyn ServiceKey>,
    clock: Clock,
    kept: Mutex<HashMap<RunPrincipal, Kept>>,
}

struct Kept {
    token: Secret,
    /// In seconds since the Unix epoch.
    expires_at: i64,
}

impl ServiceTokens {
    /// Signed with this key.
    pub fn new(key: Arc<dyn ServiceKey>, clock: Clock) -> Self {
        Self {
            key,
            clock,
            kept: Mutex::default(),
        }
    }

    /// A token of the run that holds for a minute or more.
    pub async fn token(&self, run: &RunPrincipal) -> Result<Secret> {
        let now = self.clock.now().as_seconds();
        if let Some(kept) = self.kept().get(run).filter(|kept| kept.is_fresh(now)) {
            return Ok(kept.token.clone());
        }
        let claims = ServiceClaims::new(run, now);
        let token = Secret::new(self.sign(&claims).await?);
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

    /// The JWS compact serialization of RFC 7515, 7.1: the library signs only with keys that it holds.
    async fn sign(&self, claims: &ServiceClaims) -> Result<String> {
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(ISSUER.to_owned());
        let signed = format!("{}.{}", encoded(&header)?, encoded(claims)?);
        let signature = self.key.sign(signed.as_bytes()).await?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<RunPrincipal, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_fresh(&self, now: i64) -> bool {
        self.expires_at - now > RENEWED_BEFORE_END_SECONDS
    }
}

fn encoded(part: &impl Serialize) -> Result<String> {
    let json = serde_json::to_vec(part).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(json))
}
