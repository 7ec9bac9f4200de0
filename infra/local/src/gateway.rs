//! Imitates API Gateway where callers notice it: limits the time of a request body, and reads each request to
//! its end.
//!
//! A function refuses many requests without reading the body, and reads no body before it knows the caller.
//! Over HTTP/1.1 such a connection would close while the caller still sends, and the caller would see a
//! broken connection instead of the refusal. So the unread rest of a body is read in parallel to the answer
//! and discarded.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use embedded::files::LINKS_PATH;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

/// Time limit of the body of an upload: the signed link goes to S3 when deployed, which has none.
const UPLOAD: Duration = Duration::from_mins(15);

/// Maximum number of bytes of a body that are discarded. Above this the connection is closed.
const MAX_THROWN_AWAY_BYTES: usize = 64 * 1_024 * 1_024;

/// Runs the route, fails the body after `limit`, and reads the unread rest of the body.
pub async fn read_to_end(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let due = Instant::now() + limit;
    let is_upload = parts.method == Method::PUT && parts.uri.path().starts_with(LINKS_PATH);
    let late = if is_upload { Instant::now() + UPLOAD } else { due };
    let (back, mut given_back) = oneshot::channel();
    let lent = Body::new(Lent {
        body: Some(body),
        late: Box::pin(sleep_until(late)),
        back: Some(back),
    });
    // A caller that sent `Expect` sends no body after the answer.
    let asks_first = parts.headers.contains_key(EXPECT);
    let response = next.run(Request::from_parts(parts, lent)).await;
    if let Ok(rest) = given_back.try_recv()
        && !asks_first
    {
        tokio::spawn(tokio::time::timeout_at(due, throw_away(rest)));
    }
    response
}

async fn throw_away(mut body: Body) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > MAX_THROWN_AWAY_BYTES {
            return;
        }
    }
}

/// Body that is handed back when its reader drops it early.
struct Lent {
    body: Option<Body>,
    late: Pin<Box<Sleep>>,
    back: Option<oneshot::Sender<Body>>,
}

impl hyper::body::Body for Lent {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        match Pin::new(body).poll_frame(context) {
            Poll::Pending => {
                std::task::ready!(self.late.as_mut().poll(context));
                self.body = None;
                Poll::Ready(Some(Err(
                    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
                )))
            }
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(frame))),
            Poll::Ready(end) => {
                self.body = None;
                Poll::Ready(end.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(hyper::body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map(hyper::body::Body::size_hint)
            .unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(body), Some(back)) = (self.body.take(), self.back.take()) {
            let _ = back.send(body);
        }
    }
}
