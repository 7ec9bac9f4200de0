//! Extracts the context of a request and checks its permission. A handler needs a [`Call`] to get a tenant,
//! and a tenant to read records, so no handler works without a permission.

use std::marker::PhantomData;
use std::sync::Arc;

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;

use super::audit::Audience;
use super::authenticate::Caller;
use super::edge::RequestId;
use super::request_permit::RequestPermit;
use crate::Platform;
use crate::auth::{Permission, Principal, Required};
use crate::clock::UtcTime;
use crate::error::{Error, ErrorKind};
use crate::ids;
use crate::tenant::Tenant;

/// Name of the security scheme of access tokens in the OpenAPI document.
pub const TOKEN_SCHEME: &str = "accessToken";

/// An authenticated call whose principal has the permission `P`.
pub struct Call<P> {
    pub principal: Arc<Principal>,
    /// Start of the call.
    pub now: UtcTime,
    pub request_id: String,
    audience: Audience,
    /// Held until the handler ends, even if the caller disconnects.
    _permit: Option<RequestPermit>,
    permission: PhantomData<P>,
}

impl<P> Call<P> {
    /// 403 for an account-scoped principal.
    pub fn tenant(&self) -> Result<Tenant, Error> {
        self.principal.tenant()
    }

    /// Names the owner of the private run that the call concerns, for its audit record.
    pub fn is_private_to(&self, owner: Option<&str>) {
        self.audience.private_to(owner);
    }

    pub fn new_id(&self) -> String {
        ids::new_id(self.now)
    }
}

impl<P: Required, S: Send + Sync> FromRequestParts<S> for Call<P>
where
    Platform: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let caller = parts
            .extensions
            .get::<Caller>()
            .ok_or_else(|| Error::internal("no authentication layer"))?;
        let principal = match &caller.0 {
            Ok(principal) => Arc::clone(principal),
            Err(refusal) => return Err(again(refusal)),
        };
        principal.require(P::ANY_OF)?;
        let permit = parts.extensions.get::<RequestPermit>().cloned();
        if let Some(permit) = &permit {
            permit.take(&principal.account_id).await?;
        }
        let request_id = parts
            .extensions
            .get::<RequestId>()
            .map(|id| id.0.clone())
            .unwrap_or_default();
        Ok(Self {
            principal,
            now: Platform::from_ref(state).clock.now(),
            request_id,
            audience: parts.extensions.get::<Audience>().cloned().unwrap_or_default(),
            _permit: permit,
            permission: PhantomData,
        })
    }
}

/// Copies the refusal, which is shared with the other layers.
fn again(refusal: &Arc<Error>) -> Error {
    match refusal.kind() {
        ErrorKind::Unauthenticated => Error::unauthenticated(refusal.message()),
        kind => Error::new(kind, refusal.message()).with_source(Arc::clone(refusal).to_string()),
    }
}

impl<P: Required> OperationInput for Call<P> {
    fn operation_input(_: &mut GenContext, operation: &mut Operation) {
        secure(operation, P::ANY_OF);
    }
}

/// Documents that an operation needs a credential, and any one of these permissions.
pub fn secure(operation: &mut Operation, any_of: &[Permission]) {
    let permissions: Vec<_> = any_of.iter().map(|permission| permission.as_str()).collect();
    operation.security = vec![[(TOKEN_SCHEME.to_owned(), Vec::new())].into_iter().collect()];
    operation
        .extensions
        .insert("x-required-permissions".to_owned(), permissions.into());
}
