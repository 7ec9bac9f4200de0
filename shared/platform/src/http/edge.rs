//! Wraps every function in its outermost layer: request id, one log line, and error body.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    IF_MATCH, IF_NONE_MATCH, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use axum::{Router, middleware};
use futures::future::Either;
use schemars::JsonSchema;
use serde::Serialize;
use tower::layer::layer_fn;
use tower::{Layer as _, Service};
use tower_http::cors::{AllowOrigin, Any, Cors, CorsLayer};
use tracing::{Instrument as _, error, info, info_span};

use super::authenticate::PROJECT_HEADER;
use super::deadline::Deadline;
use super::invocation::{AwsIds, BasePath};
use super::reply::NEXT_PAGE_TOKEN;
use crate::clock::Clock;
use crate::config::{CorsOrigins, EdgeConfig};
use crate::error::{Error, ErrorKind, Fault, RowError};
use crate::ids;
use crate::metrics;
use crate::trace::{self, Kind, Span, TraceContext};

/// Id in every answer, log line and audit record of a request; a request extension.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

/// Address of the caller, where the server knows it; a request extension.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

/// `retry-after` of an answer for a busy or unavailable service, in seconds.
const BUSY_S: u64 = 1;
/// Maximum length of an error's message, its details, and a cause in the log, in characters.
const MAX_QUOTED: usize = 4_000;

/// How long a browser may cache the answer to a preflight. Chromium caches it for at most two hours.
const PREFLIGHT_AGE: Duration = Duration::from_hours(2);

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Body of every error answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// HTTP status.
    pub status: u16,
    /// Stable code of the error.
    pub error: &'static str,
    /// One sentence for the caller.
    pub message: String,
    /// Further information, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Path of the faulty field of the request, such as `target.url` or `tags[1]`; missing if no single field
    /// is faulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Line of the fault in the text that the error is about, from 1: a statement, the content of a template,
    /// or the query of a list. Missing if the place is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Place in that line in characters, from 1; missing if the place is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// First 100 faulty rows, by table and row, of an import that failed because of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub errors: Vec<RowError>,
    /// Faults of a refused process definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub faults: Vec<Fault>,
    /// Id of the request, to find it in the log.
    pub request_id: String,
}

/// Leaves the body to [`finish`], which has the request's id.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl aide::OperationOutput for Error {
    type Inner = ErrorBody;
}

/// Wraps a router: unknown paths and methods, request ids, error bodies, CORS.
pub fn edge(router: Router, clock: Clock, config: EdgeConfig) -> Router {
    let router = router
        .fallback(|| async { Error::new(ErrorKind::NotFound, "There is nothing at this path.") })
        .method_not_allowed_fallback(|| async {
            Error::new(
                ErrorKind::MethodNotAllowed,
                "This path does not take this method; see the Allow header.",
            )
        });
    let router = match cors(&config.cors) {
        Some(cors) => router.layer(layer_fn(move |route: Route| PreflightOnly {
            cors: cors.layer(route.clone()),
            route,
        })),
        None => router,
    };
    router.layer(middleware::from_fn_with_state(clock, finish))
}

/// Passes an OPTIONS that is no preflight of a browser, such as the handshake of CloudEvents, to its route:
/// the layer of CORS answers each.
#[derive(Clone)]
struct PreflightOnly {
    cors: Cors<Route>,
    route: Route,
}

impl Service<Request> for PreflightOnly {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<<Cors<Route> as Service<Request>>::Future, <Route as Service<Request>>::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        ready!(Service::<Request>::poll_ready(&mut self.cors, context))?;
        Service::<Request>::poll_ready(&mut self.route, context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let is_question = request.method() == Method::OPTIONS
            && !request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        match is_question {
            true => Either::Right(self.route.call(request)),
            false => Either::Left(self.cors.call(request)),
        }
    }
}

fn cors(origins: &CorsOrigins) -> Option<CorsLayer> {
    let layer = match origins {
        CorsOrigins::None => return None,
        CorsOrigins::Any => CorsLayer::new().allow_origin(Any),
        CorsOrigins::List(list) => {
            let values = list
                .iter()
                .filter_map(|origin| HeaderValue::try_from(origin.as_str()).ok());
            CorsLayer::new().allow_origin(AllowOrigin::list(values))
        }
    };
    Some(
        layer
            .max_age(PREFLIGHT_AGE)
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
            // Listed by name, because a wildcard does not include the authorization header.
            .allow_headers([
                AUTHORIZATION,
                CONTENT_TYPE,
                IF_MATCH,
                IF_NONE_MATCH,
                REQUEST_ID.clone(),
                HeaderName::from_static("x-api-key"),
                PROJECT_HEADER,
            ])
            .expose_headers([
                axum::http::header::ETAG,
                LOCATION,
                RETRY_AFTER,
                REQUEST_ID.clone(),
                NEXT_PAGE_TOKEN.clone(),
                HeaderName::from_static("x-row-count"),
                HeaderName::from_static("x-truncated"),
            ]),
    )
}

/// Sets the request's id, runs the request, completes an error's body, and writes the one log line.
pub async fn finish(State(clock): State<Clock>, mut request: Request, next: Next) -> Response {
    let (began, began_at) = (clock.now(), Instant::now());
    let aws = request.extensions_mut().remove::<AwsIds>().unwrap_or_default();
    let id = request_id(&request)
        .or_else(|| aws.gateway_request_id.clone())
        .unwrap_or_else(|| ids::new_id(began));
    let base_path = request.extensions_mut().remove::<BasePath>();
    let deadline = request.extensions().get::<Deadline>().cloned();
    let client = request.extensions_mut().remove::<ClientAddress>();
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    // Without the query, which may contain a token.
    let path = request.uri().path().to_owned();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|route| route.as_str().to_owned());
    let span = info_span!(
        "request",
        request_id = id,
        gateway_request_id = aws.gateway_request_id,
        trace_id = aws.trace_id,
        client = client.map(|ClientAddress(address)| tracing::field::display(address)),
        account = tracing::field::Empty,
        project = tracing::field::Empty,
        principal = tracing::field::Empty,
    );
    let caller = trace::is_on()
        .then(|| TraceContext::of_headers(request.headers()))
        .flatten();
    let traced = Span::start_below(caller.as_ref(), Kind::Server, || match &route {
        Some(route) => format!("{} {route}", known_method(&method)),
        None => known_method(&method).to_owned(),
    });
    let work = traced.clone();
    let handled = async move {
        let answer = next.run(request);
        let mut response = match deadline {
            Some(deadline) => deadline.limit(answer).await,
            None => answer.await,
        };
        let failure = response.extensions_mut().remove::<Arc<Error>>();
        let status = response.status().as_u16();
        let duration_ms = clock.now().as_millis() - began.as_millis();
        let label = known_method(&method);
        metrics::http_request(label, route.as_deref(), status, began_at.elapsed());
        let cause = failure.as_ref().map(|failure| shortened(failure.to_string()));
        match cause {
            Some(cause) if status >= 500 => {
                error!(%method, path, route, status, duration_ms, %cause, "request failed");
            }
            Some(cause) => info!(%method, path, route, status, duration_ms, %cause, "request refused"),
            None => info!(%method, path, route, status, duration_ms, "request"),
        }
        if traced.is_recorded() {
            traced.set("http.request.method", label);
            if let Some(route) = &route {
                traced.set("http.route", route);
            }
            traced.set("url.path", &path);
            traced.set("http.response.status_code", status);
            traced.set("millrace.request.id", &id);
            if status >= 500 {
                traced.fail(response.status().as_str());
            }
        }
        if let Some(failure) = failure {
            response = error_response(&failure, response, &id);
        }
        let headers = response.headers_mut();
        if let Some(BasePath(base_path)) = base_path
            && let Some(Ok(path)) = headers.get(LOCATION).map(HeaderValue::to_str)
            && let Ok(location) = HeaderValue::try_from(format!("{base_path}{path}"))
        {
            headers.insert(LOCATION, location);
        }
        if let Ok(value) = HeaderValue::try_from(&id) {
            headers.insert(REQUEST_ID.clone(), value);
        }
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // An answer is data. A page sets its own policy.
        headers
            .entry(CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static(
                "default-src 'none'; frame-ancestors 'none'",
            ));
        response
    };
    work.within(handled.instrument(span)).await
}

/// Returns a method of HTTP, or the name that the conventions of OpenTelemetry give all others.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

fn error_response(failure: &Error, refused: Response, request_id: &str) -> Response {
    let body = ErrorBody {
        status: failure.status(),
        error: failure.kind().code(),
        message: shortened(failure.message().to_owned()),
        details: failure.details().map(str::to_owned).map(shortened),
        field: failure.field().map(str::to_owned).map(shortened),
        line: failure.place().map(|place| place.line),
        column: failure.place().map(|place| place.column),
        errors: failure.row_errors().to_vec(),
        faults: failure.faults().to_vec(),
        request_id: request_id.to_owned(),
    };
    let text = serde_json::to_vec(&body).unwrap_or_default();
    let (parts, _) = refused.into_parts();
    let mut response = Response::from_parts(parts, text.into());
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if failure.kind() == ErrorKind::Unauthenticated {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let is_busy = failure.kind() == ErrorKind::Unavailable;
    if let Some(seconds) = failure.retry_after_s().or(is_busy.then_some(BUSY_S)) {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Shortens a text that may quote the caller, who can send megabytes. The end is kept, because it says what
/// to do.
fn shortened(mut text: String) -> String {
    let over = text.char_indices().nth(MAX_QUOTED);
    let begin = text.char_indices().nth(MAX_QUOTED / 2);
    let end = text.char_indices().nth_back(MAX_QUOTED / 2);
    if let (Some(_), Some((begin, _)), Some((end, _))) = (over, begin, end) {
        text.replace_range(begin..end, "…");
    }
    text
}

/// Returns the caller's request id if it is 1 to 128 of `[A-Za-z0-9._-]`.
fn request_id(request: &Request) -> Option<String> {
    let text = request.headers().get(&REQUEST_ID)?.to_str().ok()?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    ((1..=128).contains(&text.len()) && text.bytes().all(allowed)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("é".repeat(MAX_QUOTED)), "é".repeat(MAX_QUOTED));
        let long = format!("The field '{}' is unknown.", "é".repeat(MAX_QUOTED));
        let short = shortened(long);
        assert!(short.starts_with("The field 'éé") && short.ends_with("éé' is unknown."));
        assert_eq!(short.chars().count(), MAX_QUOTED + 2);
    }
}
