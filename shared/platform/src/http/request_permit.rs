//! Holds the permit of a request, in a process that limits its concurrent requests.
//!
//! [`super::Call`] takes the permit inside the audit layer, so that a refusal for lack of a permit is
//! audited. The permit is held until the handler has ended and the caller has received the answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Body as _, Bytes, Frame, SizeHint};
use tokio::sync::OnceCell;
use tokio::time::{Instant, Sleep, sleep};

use crate::error::Result;
use crate::fair::{FairPermits, Permit};

/// Maximum wait for a permit.
const PATIENCE: Duration = Duration::from_secs(25);
/// A request whose body pauses for longer than this lends its permit.
const BODY_PAUSE: Duration = Duration::from_secs(1);
/// Maximum size of a piece of an answer, in bytes. The server holds one piece at a time outside the permit.
const PIECE_BYTES: usize = 64 * 1_024;
/// Maximum time from the first piece of an answer to its last: about 100 KB/s for the largest answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// A request extension. Clones share the permit.
#[derive(Clone)]
pub struct RequestPermit(Arc<Inner>);

struct Inner {
    permits: FairPermits,
    permit: OnceCell<Permit>,
}

impl RequestPermit {
    /// Creates the permit of one request; nothing is acquired yet.
    pub fn new(permits: FairPermits) -> Self {
        Self(Arc::new(Inner {
            permits,
            permit: OnceCell::new(),
        }))
    }

    /// Acquires the permit once. 503 if none becomes free in time.
    pub async fn take(&self, account: &str) -> Result<()> {
        let acquire = || self.0.permits.acquire(account, PATIENCE);
        self.0.permit.get_or_try_init(acquire).await.map(|_| ())
    }

    /// Wraps the body of the request; lends the permit while the caller pauses.
    pub fn over_request(&self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Awaited {
            body,
            permit: self.clone(),
            pause: None,
        })
    }

    /// Splits the body of the answer into pieces, and holds the permit until the last piece is sent.
    pub fn over_answer(self, body: Body) -> Body {
        Body::new(Held {
            body,
            rest: Bytes::new(),
            since: None,
            _permit: self,
        })
    }

    fn lend(&self) {
        if let Some(permit) = self.0.permit.get() {
            permit.lend();
        }
    }
}

struct Awaited {
    body: Body,
    permit: RequestPermit,
    pause: Option<Pin<Box<Sleep>>>,
}

impl hyper::body::Body for Awaited {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_ready() {
            self.pause = None;
            return polled;
        }
        let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(BODY_PAUSE)));
        if pause.as_mut().poll(context).is_ready() {
            self.permit.lend();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Held {
    body: Body,
    /// Data of a frame that has not been sent yet.
    rest: Bytes,
    since: Option<Instant>,
    _permit: RequestPermit,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, axum::Error>>> {
        if self.since.get_or_insert_with(Instant::now).elapsed() > ANSWER_TIME {
            let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
            return Poll::Ready(Some(Err(axum::Error::new(late))));
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let mut hint = self.body.size_hint();
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, stream};
    use http_body_util::BodyExt as _;

    async fn taken(permits: &FairPermits) -> RequestPermit {
        let permit = RequestPermit::new(permits.clone());
        permit.take("a").await.unwrap();
        permit
    }

    /// Whether another account gets a permit immediately.
    fn is_free(permits: &FairPermits) -> bool {
        let other = permits.acquire("b", Duration::from_secs(60)).now_or_never();
        other.is_some_and(|permit| permit.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_lasts_until_the_last_piece_of_an_answer() {
        let permits = FairPermits::new(1, 5);
        let text = vec![b'x'; 3 * PIECE_BYTES - 1];
        let mut answer = taken(&permits).await.over_answer(Body::from(text));
        assert_eq!(answer.size_hint().exact(), Some(3 * PIECE_BYTES as u64 - 1));
        for length in [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES - 1] {
            assert!(!answer.is_end_stream() && !is_free(&permits));
            let piece = answer.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(piece.len(), length);
        }
        assert!(answer.is_end_stream());
        drop(answer);
        assert!(is_free(&permits));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_too_long_is_cut() {
        let permits = FairPermits::new(1, 5);
        let mut answer = taken(&permits)
            .await
            .over_answer(Body::from(vec![b'x'; 3 * PIECE_BYTES]));
        answer.frame().await.unwrap().unwrap();
        tokio::time::advance(ANSWER_TIME).await;
        answer.frame().await.unwrap().unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(answer.frame().await.unwrap().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_pauses_lends_the_permit() {
        let permits = FairPermits::new(2, 5);
        let silent = || Body::from_stream(stream::pending::<std::result::Result<Bytes, std::io::Error>>());
        let mut bodies = vec![taken(&permits).await.over_request(silent())];
        let of_c = permits.acquire("c", PATIENCE).await.unwrap();
        assert!(!is_free(&permits));
        for body in &mut bodies {
            let read = tokio::time::timeout(BODY_PAUSE * 2, body.frame()).await;
            assert!(read.is_err());
        }
        assert!(is_free(&permits));
        drop(of_c);
    }
}
