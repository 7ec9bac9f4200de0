//! Authenticates each request once, before any other layer reads it: its token or key becomes a principal.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::future::BoxFuture;

use super::request_permit::RequestPermit;
use super::sent_size::bounded;
use crate::Platform;
use crate::auth::Principal;
use crate::config::Secret;
use crate::error::{Error, Result};
use crate::trace;

/// Header that names the project of a request, for callers who work in several.
pub const PROJECT_HEADER: HeaderName = HeaderName::from_static("x-millrace-project");

/// Beginning of an API key; no access token begins so.
pub const API_KEY_PREFIX: &str = "sk-";

/// Where a group of routes accepts a credential: an access token or an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    Headers,
    /// A token also as `access_token` in the query, with the project as `project`, because a browser's
    /// EventSource cannot set a header.
    HeadersOrQuery,
}

/// The result, for inner extractors and layers; a request extension.
#[derive(Clone)]
pub struct Caller(pub std::result::Result<Arc<Principal>, Arc<Error>>);

/// Checks the credentials of a request again, for an answer that outlives the first check; a request
/// extension of streams.
#[derive(Clone)]
pub struct Recheck(Arc<dyn Fn() -> BoxFuture<'static, Result<Principal>> + Send + Sync>);

impl Recheck {
    pub fn new(check: impl Fn() -> BoxFuture<'static, Result<Principal>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Returns the principal as the credentials make it now; 401 where they do not hold any longer.
    pub async fn principal(&self) -> Result<Principal> {
        (self.0)().await
    }
}

/// What a request says about its caller.
#[derive(Clone)]
pub struct Presented {
    /// Access token or API key.
    pub credential: Secret,
    /// Project that the request names.
    pub project: Option<String>,
}

impl Presented {
    /// Reads the headers. 401 without a credential.
    pub fn from_headers(headers: &HeaderMap) -> Result<Self> {
        if headers.get_all(header::AUTHORIZATION).iter().count() > 1 {
            return Err(Error::unauthenticated("Send one Authorization header."));
        }
        let bearer = headers
            .get(header::AUTHORIZATION)
            .map(|value| bearer(value.as_bytes()))
            .transpose()?;
        let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
        if let (None, Some(key)) = (bearer, key)
            && !key.starts_with(API_KEY_PREFIX)
        {
            return Err(Error::unauthenticated(
                "The header x-api-key is for API keys; send an access token as 'Authorization: Bearer <access token>'.",
            ));
        }
        let credential = bearer.or(key).ok_or_else(|| {
            Error::unauthenticated("Send 'Authorization: Bearer <access token or API key>'.")
        })?;
        Self::new(credential, headers)
    }

    fn new(credential: &str, headers: &HeaderMap) -> Result<Self> {
        let mut projects = headers.get_all(PROJECT_HEADER).iter();
        let project = match (projects.next(), projects.next()) {
            (Some(project), None) => Some(project.to_str().map_err(|_| {
                Error::invalid(
                    "The header X-Millrace-Project must name a project, or an account and a project.",
                )
            })?),
            (None, _) => None,
            (Some(_), Some(_)) => return Err(Error::invalid("Send one X-Millrace-Project header.")),
        };
        Ok(Self {
            credential: Secret::new(credential),
            project: project
                .map(str::trim)
                .filter(|project| !project.is_empty())
                .map(str::to_owned),
        })
    }

    async fn principal(&self, platform: &Platform) -> Result<Principal> {
        let project = self.project.as_deref();
        platform.authenticator.principal(&self.credential, project).await
    }
}

/// Puts a [`Caller`] into the request. It refuses no request: [`super::Call`] does where a handler needs a
/// principal.
pub async fn authenticate(
    State((platform, credentials)): State<(Platform, Credentials)>,
    mut request: Request,
    next: Next,
) -> Response {
    let presented = match in_query(credentials, &request, "access_token") {
        // An address stands in logs of others, and a key does not expire as soon as a token.
        Some(key) if key.starts_with(API_KEY_PREFIX) => Err(Error::unauthenticated(
            "An API key does not belong into an address; send it as 'Authorization: Bearer <API key>'.",
        )),
        Some(token) => Presented::new(&token, request.headers()).map(|presented| Presented {
            project: presented
                .project
                .or_else(|| in_query(credentials, &request, "project")),
            ..presented
        }),
        None => Presented::from_headers(request.headers()),
    };
    let (principal, presented) = match presented {
        Ok(presented) => (presented.principal(&platform).await, Some(presented)),
        Err(refusal) => (Err(refusal), None),
    };
    if let Ok(principal) = &principal {
        let span = tracing::Span::current();
        span.record("account", principal.account_id.as_str());
        span.record("project", principal.project_id.as_deref().unwrap_or_default());
        span.record("principal", principal.reference());
        trace::set("millrace.account", &principal.account_id);
        if let Some(project) = &principal.project_id {
            trace::set("millrace.project", project);
        }
    }
    let tenant = principal
        .as_ref()
        .ok()
        .and_then(|principal| principal.tenant().ok());
    request
        .extensions_mut()
        .insert(Caller(principal.map(Arc::new).map_err(Arc::new)));
    // Streams have their own permits and no end to wait for.
    if credentials == Credentials::HeadersOrQuery {
        if let Some(mut presented) = presented {
            // Later checks are of the same project, whatever the memberships are by then.
            presented.project = tenant.map(|tenant| tenant.to_string()).or(presented.project);
            request.extensions_mut().insert(Recheck::new(move || {
                let (presented, platform) = (presented.clone(), platform.clone());
                Box::pin(async move { presented.principal(&platform).await })
            }));
        }
        return next.run(request).await;
    }
    let Some(requests) = &platform.requests else {
        return bounded(next.run(request).await).await;
    };
    let permit = RequestPermit::new(requests.clone());
    request.extensions_mut().insert(permit.clone());
    let request = request.map(|body| permit.over_request(body));
    let response = bounded(next.run(request).await).await;
    response.map(|body| permit.over_answer(body))
}

/// Returns a parameter of the query, if a group of routes reads credentials there and no header has one.
fn in_query(credentials: Credentials, request: &Request, name: &str) -> Option<String> {
    if credentials != Credentials::HeadersOrQuery || request.headers().contains_key(header::AUTHORIZATION) {
        return None;
    }
    let query = request.uri().query()?.as_bytes();
    let mut pairs = url::form_urlencoded::parse(query);
    pairs
        .find(|(parameter, _)| parameter == name)
        .map(|(_, value)| value.into_owned())
}

fn bearer(header: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(header).unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() => {
            Ok(token.trim())
        }
        _ => Err(Error::unauthenticated(
            "The Authorization header must read 'Bearer <access token>'.",
        )),
    }
}
