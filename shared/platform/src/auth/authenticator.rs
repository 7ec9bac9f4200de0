//! Defines what the HTTP edge needs of identity: a principal for a credential.

use async_trait::async_trait;

use crate::auth::principal::Principal;
use crate::config::Secret;
use crate::error::Result;

#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the principal of an access token or an API key, in the project that the request names, if it
    /// names one. 401 for a credential that does not hold, 403 for a project that is not the caller's, 503
    /// where it cannot be checked now.
    async fn principal(&self, credential: &Secret, project: Option<&str>) -> Result<Principal>;
}
