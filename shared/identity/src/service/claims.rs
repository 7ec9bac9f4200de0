//! Defines the claims of a service token.

use serde::{Deserialize, Serialize};

use crate::times::end_of;
use platform::auth::RunAsRole;
use platform::auth::RunPrincipal;
use platform::auth::{Principal, PrincipalKind};

/// `iss` of a service token, and the purpose in its `kid`. A `urn:` that no identity provider uses.
pub(super) const ISSUER: &str = "urn:millrace:service";
/// `aud` of a service token.
pub(super) const AUDIENCE: &str = "urn:millrace:api";
/// Lifetime of a service token, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 5 * 60;

#[derive(Serialize, Deserialize)]
pub(super) struct ServiceClaims {
    /// Run id.
    pub sub: String,
    pub account_id: String,
    pub project_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    pub role: RunAsRole,
    /// `nbf` and `exp` are in seconds since the Unix epoch.
    pub nbf: i64,
    pub exp: i64,
    pub iss: String,
    pub aud: String,
}

impl ServiceClaims {
    /// Claims of a run, valid from `now`, in seconds since the Unix epoch.
    pub(super) fn new(run: &RunPrincipal, now: i64) -> Self {
        Self {
            sub: run.run_id.clone(),
            account_id: run.tenant.account().to_owned(),
            project_id: run.tenant.project().to_owned(),
            tenant_id: run.tenant_id.clone(),
            role: run.role,
            nbf: now,
            exp: now + LIFETIME_SECONDS,
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
        }
    }

    pub(super) fn principal(self) -> Principal {
        let role = self.role.role();
        Principal {
            kind: PrincipalKind::Run(self.sub),
            account_id: self.account_id,
            project_id: Some(self.project_id),
            tenant_id: self.tenant_id,
            account_name: None,
            project_name: None,
            roles: vec![role.as_str().to_owned()],
            permissions: role.permissions().iter().copied().collect(),
            valid_until: end_of(self.exp),
        }
    }
}
