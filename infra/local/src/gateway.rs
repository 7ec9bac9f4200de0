//! What API Gateway does before it calls a function, where callers notice it: it bounds how long a body may
//! take, and reads a request to its end.
//!
//! A function refuses many a request unread, and reads no body before it knows the caller. On a connection of
//! HTTP/1.1 that would be closed under a caller who still sends, who would see a broken connection in place
//! of the refusal. So what the function leaves of a body is read beside the answer, and thrown away.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

/// Most bytes that are thrown away of a body. The connection of a caller who sends more is closed.
const MAX_THROWN_AWAY_BYTES: usize = 64 * 1_024 * 1_024;

/// Runs the route with a body that is late after `limit`, and reads what the route leaves of it.
pub async fn read_to_end(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let due = Instant::now() + limit;
    let (back, mut given_back) = oneshot::channel();
    let lent = Body::new(Lent {
        body: Some(body),
        late: Box::pin(sleep_until(due)),
        back: Some(back),
    });
    // A caller who asks first sends nothing once the answer is there.
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

/// A body that comes back when its reader drops it before its end.
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
