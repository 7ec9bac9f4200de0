//! What API Gateway does before it calls a function, where callers notice it: it reads a request to its end.
//!
//! A function refuses many a request unread. On a connection of HTTP/1.1 that would be closed under the caller, who is
//! still sending, and would see a broken connection in place of the refusal.

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures::stream;
use http_body_util::BodyExt as _;

/// Most bytes of a body that are passed on, as of API Gateway: more than any operation takes.
const MAX_BYTES: usize = 10 * 1_024 * 1_024;
/// Most bytes that are read of a body. Whoever sends more has his connection closed.
const MAX_READ_BYTES: usize = 256 * 1_024 * 1_024;

/// Reads the body, then runs the route with it.
pub async fn whole_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = match read(body).await {
        Ok(bytes) => Body::from(bytes),
        // One that broke off is for the route to refuse.
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    };
    next.run(Request::from_parts(parts, body)).await
}

async fn read(mut body: Body) -> Result<Bytes, axum::Error> {
    let (mut kept, mut read) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        read += data.len();
        let room = MAX_BYTES - kept.len();
        kept.extend_from_slice(data.get(..room).unwrap_or(&data));
        if read > MAX_READ_BYTES {
            break;
        }
    }
    Ok(kept.freeze())
}
