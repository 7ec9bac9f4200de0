//! Authenticates each request once, before any other layer reads it: its token or key becomes a principal.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;

use super::request_permit::RequestPermit;
use super::sent_size::bounded;
use crate::Platform;
use crate::auth::{Principal, api_key};
use crate::error::{Error, Result};

/// Credentials that a group of routes accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credentials {
    Token,
    /// Access tokens and API keys, for the data store API.
    TokenOrApiKey,
    /// Access tokens, also as `access_token` in the query, because a browser's EventSource cannot set a
    /// header.
    TokenOrQuery,
}

/// The result, for inner extractors and layers; a request extension.
#[derive(Clone)]
pub struct Caller(pub std::result::Result<Arc<Principal>, Arc<Error>>);

/// Puts a [`Caller`] into the request. It refuses no request: [`super::Call`] does where a handler needs a
/// principal.
pub async fn authenticate(
    State((platform, credentials)): State<(Platform, Credentials)>,
    mut request: Request,
    next: Next,
) -> Response {
    let principal = match query_token(credentials, &request) {
        Some(token) => platform.verifier.verify(&token).await,
        None => principal(&platform, credentials, request.headers()).await,
    };
    if let Ok(principal) = &principal {
        let span = tracing::Span::current();
        span.record("account", principal.account_id.as_str());
        span.record("project", principal.project_id.as_deref().unwrap_or_default());
        span.record("principal", principal.reference());
    }
    request
        .extensions_mut()
        .insert(Caller(principal.map(Arc::new).map_err(Arc::new)));
    // Streams have their own permits and no end to wait for.
    if credentials == Credentials::TokenOrQuery {
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

/// Returns the token in the query, if allowed and no header has one.
fn query_token(credentials: Credentials, request: &Request) -> Option<String> {
    if credentials != Credentials::TokenOrQuery || request.headers().contains_key(header::AUTHORIZATION) {
        return None;
    }
    let query = request.uri().query()?.as_bytes();
    let pairs = url::form_urlencoded::parse(query);
    pairs
        .into_iter()
        .find(|(name, _)| name == "access_token")
        .map(|(_, token)| token.into_owned())
}

async fn principal(platform: &Platform, credentials: Credentials, headers: &HeaderMap) -> Result<Principal> {
    if headers.get_all(header::AUTHORIZATION).iter().count() > 1 {
        return Err(Error::unauthenticated("Send one Authorization header."));
    }
    let bearer = headers
        .get(header::AUTHORIZATION)
        .map(|value| bearer(value.as_bytes()))
        .transpose()?;
    let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
    match (bearer, key) {
        (Some(text), _) if !text.starts_with(api_key::PREFIX) => platform.verifier.verify(text).await,
        (Some(text), _) | (None, Some(text)) => match credentials {
            Credentials::TokenOrApiKey => api_key::verify(&platform.api_keys, text).await,
            Credentials::Token | Credentials::TokenOrQuery => Err(Error::unauthenticated(
                "An API key opens the data store API only; send an access token.",
            )),
        },
        (None, None) => Err(Error::unauthenticated(
            "Send 'Authorization: Bearer <access token>'.",
        )),
    }
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
