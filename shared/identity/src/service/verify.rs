//! Verifies service tokens.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey, Header, Validation, decode};
use tokio::sync::OnceCell;

use super::claims::{AUDIENCE, ISSUER, ServiceClaims};
use crate::times;
use crate::verifier::refusal;
use platform::auth::Principal;
use platform::clock::UtcTime;
use platform::error::{Error, Result};
use platform::signing::{SigningKey, public_key_pem};

/// Verifies tokens with the public half of the signing key.
pub(crate) struct ServiceVerifier {
    key: Arc<dyn SigningKey>,
    /// Read at the first service token and never refreshed: the setting names one key of KMS, so another key
    /// comes with new processes.
    public_key: OnceCell<DecodingKey>,
}

impl ServiceVerifier {
    pub(crate) fn new(key: Arc<dyn SigningKey>) -> Self {
        Self {
            key,
            public_key: OnceCell::new(),
        }
    }

    /// Whether a token claims to be a service token.
    pub(crate) fn is_meant(header: &Header) -> bool {
        header.kid.as_deref() == Some(ISSUER)
    }

    /// Returns the principal of a service token. 401 for an invalid token, 503 if the public key cannot be
    /// read.
    pub(crate) async fn verify(&self, token: &str, now: UtcTime) -> Result<Principal> {
        let key = self.public_key.get_or_try_init(|| self.read()).await?;
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
        // Checked below, against the clock that was passed in.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let claims = decode::<ServiceClaims>(token, key, &validation)
            .map_err(refusal)?
            .claims;
        times::check(claims.exp, Some(claims.nbf), now)?;
        Ok(claims.principal())
    }

    async fn read(&self) -> Result<DecodingKey> {
        let der = self.key.public_key().await?;
        let pem = public_key_pem(&der);
        DecodingKey::from_rsa_pem(pem.as_bytes()).map_err(Error::internal)
    }
}
