//! Serves plain HTTP/1.1, because no framework lets a response fail in all the ways of a network.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt as _};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use platform::config::Secret;
use serde_json::Value;
use tokio::net::TcpListener;

use super::received::{Received, Wire};
use super::reply::{Encoded, Ending, Kind, Reply};
use super::script::Script;
use super::{bedrock, openai};

const MAX_REQUEST_BYTES: usize = 16 * 1_024 * 1_024;

type Body = UnsyncBoxBody<Bytes, io::Error>;

pub(super) async fn serve(listener: TcpListener, script: Arc<Mutex<Script>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let script = Arc::clone(&script);
        let service = service_fn(move |request| answer(Arc::clone(&script), request));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // The connection ends with an error where the reply breaks it.
        tokio::spawn(async move { connection.await.ok() });
    }
}

async fn answer(script: Arc<Mutex<Script>>, request: Request<Incoming>) -> Result<Response<Body>, io::Error> {
    let path = request.uri().path().to_owned();
    let wire = if path.ends_with("/chat/completions") {
        Wire::OpenAi
    } else {
        Wire::Bedrock
    };
    let authorization = request.headers().get(AUTHORIZATION);
    let authorization = authorization
        .and_then(|value| value.to_str().ok())
        .map(Secret::new);
    let body = Limited::new(request.into_body(), MAX_REQUEST_BYTES)
        .collect()
        .await;
    let body = body.map_err(io::Error::other)?.to_bytes();
    let body: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
    let streamed = match wire {
        Wire::OpenAi => body.get("stream") == Some(&Value::Bool(true)),
        Wire::Bedrock => path.ends_with("/converse-stream"),
    };
    let received = Received {
        wire,
        path,
        authorization,
        streamed,
        body,
    };
    let reply = script.lock().reply(received.clone());
    let encoded = match &reply.kind {
        Kind::Drops => return Err(broken()),
        Kind::Hangs => match std::future::pending::<Infallible>().await {},
        Kind::Body {
            status,
            content_type,
            body,
        } => Encoded {
            status: *status,
            content_type,
            headers: Vec::new(),
            pieces: vec![body.clone()],
        },
        Kind::Fails {
            status,
            code,
            sentence,
        } => match wire {
            Wire::OpenAi => openai::failure(*status, code, sentence),
            Wire::Bedrock => bedrock::failure(*status, code, sentence),
        },
        Kind::Says(says) => match wire {
            Wire::OpenAi => openai::answer(says, &received),
            Wire::Bedrock => bedrock::answer(says, &received),
        },
    };
    response(&reply, encoded)
}

fn response(reply: &Reply, encoded: Encoded) -> Result<Response<Body>, io::Error> {
    let mut response = Response::builder()
        .status(encoded.status)
        .header(CONTENT_TYPE, encoded.content_type);
    for (name, value) in encoded.headers.iter().chain(&reply.headers) {
        response = response.header(*name, value);
    }
    let pieces = stream::iter(
        cut(reply, encoded.pieces)
            .into_iter()
            .map(|piece| Ok(Frame::data(piece))),
    );
    let body: Body = match reply.ending {
        Ending::Whole | Ending::Ends(_) => BodyExt::boxed_unsync(StreamBody::new(pieces)),
        Ending::Hangs(_) => BodyExt::boxed_unsync(StreamBody::new(pieces.chain(stream::pending()))),
        Ending::Breaks(_) => {
            // The pause lets the bytes before the break be sent.
            let end = stream::once(async {
                tokio::task::yield_now().await;
                Err(broken())
            });
            BodyExt::boxed_unsync(StreamBody::new(pieces.chain(end)))
        }
    };
    response.body(body).map_err(io::Error::other)
}

/// Cuts the body into the pieces that the reply sets.
fn cut(reply: &Reply, pieces: Vec<Bytes>) -> Vec<Bytes> {
    let end = match reply.ending {
        Ending::Whole => None,
        Ending::Ends(end) | Ending::Breaks(end) | Ending::Hangs(end) => Some(end),
    };
    if end.is_none() && reply.piece_bytes.is_none() {
        return pieces;
    }
    let mut whole = Bytes::from(pieces.concat());
    whole.truncate(end.unwrap_or(usize::MAX));
    let size = reply.piece_bytes.unwrap_or(whole.len()).max(1);
    whole.chunks(size).map(Bytes::copy_from_slice).collect()
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the stand-in breaks off")
}
