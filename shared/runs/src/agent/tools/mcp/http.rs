//! Implements HTTP for the MCP client: each request follows the address rules of `platform::outbound`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use platform::outbound::{
    Event, Events, HeaderMap, HeaderName, HeaderValue, Method, Opened, Outbound, OutboundError, Request,
};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::credentials::Credentials;
use crate::redaction::Redaction;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Maximum size of an error body that is read.
const MAX_ERROR_BYTES: usize = 2_000;

type Failed = StreamableHttpError<OutboundError>;

/// HTTP client of the MCP client. It has no `Debug`, because it holds secrets.
#[derive(Clone)]
pub struct Http {
    outbound: Outbound,
    headers: Arc<HeaderMap>,
    redaction: Redaction,
    bounds: (usize, Duration),
}

impl Http {
    /// Adds the credentials to every request. `bounds` limits the size and the time of every response.
    pub fn new(outbound: &Outbound, credentials: &Credentials, bounds: (usize, Duration)) -> Self {
        Self {
            outbound: outbound.clone(),
            headers: Arc::new(credentials.headers.clone()),
            redaction: credentials.redaction.clone(),
            bounds,
        }
    }

    async fn send(
        &self,
        (method, url): (Method, &str),
        body: Vec<u8>,
        session_id: Option<Arc<str>>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Opened, Failed> {
        let mut headers = self.headers.as_ref().clone();
        headers.extend(more);
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert(
            "accept",
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        if let Some(id) = session_id.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(SESSION_ID, id);
        }
        let (max_bytes, deadline) = self.bounds;
        let request = Request {
            method,
            url,
            headers,
            body,
            max_bytes: max_bytes as u64,
            deadline,
        };
        let opened = self.outbound.send(request).await;
        opened.map_err(StreamableHttpError::Client)
    }
}

impl StreamableHttpClient for Http {
    type Error = OutboundError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message)?;
        let had_session = session_id.is_some();
        let waits = matches!(message, ClientJsonRpcMessage::Request(_));
        let mut opened = self
            .send((Method::POST, &uri), body, session_id, custom_headers)
            .await?;
        let text = |name: &str| {
            let value = opened.headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned)
        };
        let (kind, session_id) = (text("content-type").unwrap_or_default(), text("mcp-session-id"));
        match opened.status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            200..300 if !waits => return Ok(StreamableHttpPostResponse::Accepted),
            200..300 => {}
            404 if had_session => return Err(StreamableHttpError::SessionExpired),
            300..400 => {
                return Err(StreamableHttpError::Client(OutboundError::Redirect(
                    opened.status,
                )));
            }
            status => {
                let mut body = Vec::new();
                let read = opened.beginning(&mut body).await;
                read.map_err(StreamableHttpError::Client)?;
                if let Ok(message @ ServerJsonRpcMessage::Error(_)) = serde_json::from_slice(&body) {
                    return Ok(StreamableHttpPostResponse::Json(message, session_id));
                }
                let body = self.redaction.bytes(body);
                let body = body.get(..body.len().min(MAX_ERROR_BYTES)).unwrap_or_default();
                let body = String::from_utf8_lossy(body);
                return Err(unexpected(format!("the status {status}: {body}")));
            }
        }
        let is = |form: &str| {
            kind.split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(form))
        };
        if is("text/event-stream") {
            return Ok(StreamableHttpPostResponse::Sse(events(opened), session_id));
        }
        if !is("application/json") {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        let body = opened.whole().await.map_err(|error| match error {
            OutboundError::TooLarge(_) => StreamableHttpError::ResponseBodyTooLarge {
                max_size: self.bounds.0,
            },
            error => StreamableHttpError::Client(error),
        })?;
        Ok(StreamableHttpPostResponse::Json(
            serde_json::from_slice(&body)?,
            session_id,
        ))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        self.send(
            (Method::DELETE, &uri),
            Vec::new(),
            Some(session_id),
            custom_headers,
        )
        .await
        .map(drop)
    }

    /// Opens no stream for the server's own messages: an agent only sends requests and reads the responses.
    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// Returns the events of a response. Beyond the size or time limit the stream ends with an error.
fn events(opened: Opened) -> BoxStream<'static, Result<Sse, SseError>> {
    let reading = Some((opened, Events::default()));
    let pieces = stream::unfold(reading, |reading| async {
        let (mut opened, mut events) = reading?;
        match opened.next().await {
            Ok(Some(piece)) => {
                let complete = events.push(&piece).into_iter().map(|event| Ok(sse(event)));
                Some((complete.collect(), Some((opened, events))))
            }
            Ok(None) => None,
            Err(error) => Some((vec![Err(SseError::Body(Box::new(error)))], None)),
        }
    });
    pieces.flat_map(stream::iter).boxed()
}

fn sse(event: Event) -> Sse {
    Sse {
        event: event.kind,
        data: Some(String::from_utf8_lossy(&event.data).into_owned()),
        ..Sse::default()
    }
}

fn unexpected(what: String) -> Failed {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(what))
}
