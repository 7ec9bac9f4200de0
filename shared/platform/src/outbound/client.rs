//! The HTTP client: hyper's, over TLS with the system's certificates.
//!
//! It does one request over one connection and nothing by itself: no redirect, no proxy, no cookie, no decompression. Beside that it
//! tells of provisional answers, which other clients skip for as long as they come.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::ext::on_informational;
use hyper::header::{ACCEPT, HeaderValue, USER_AGENT};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tower::BoxError;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;

use super::resolver::{Checked, NotPublic};
use super::{OutboundError, Reuse};

/// How long a connection may take, the handshake included. It may go on when whoever asked for it is gone.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection is kept that nobody uses.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Most connections to one host that are kept.
const MAX_IDLE: usize = 16;
/// Most bytes of an answer's head.
const MAX_HEAD_BYTES: usize = 64 * 1_024;
/// Most bytes of what is said about a certificate.
const MAX_REASON_BYTES: usize = 200;
/// Most provisional answers, with a status below 200, before the one that counts.
const MAX_PROVISIONAL: u32 = 16;

/// Makes connections, over TLS or not.
type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

/// The client. Clones share their connections.
#[derive(Clone)]
pub(super) struct HttpClient(Client<Connector, Full<Bytes>>);

impl HttpClient {
    /// One that asks the addresses of this resolver.
    pub(super) fn new(checked: Checked, reuse: Reuse) -> Result<Self, OutboundError> {
        let mut connector = HttpConnector::new_with_resolver(checked);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .try_with_platform_verifier()
            .map_err(|error| OutboundError::Unreachable(error.into()))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let connector = Connector::new(Timeout::new(connector, CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(match reuse {
                Reuse::Kept => MAX_IDLE,
                Reuse::Never => 0,
            })
            .http1_max_buf_size(MAX_HEAD_BYTES)
            .build(connector);
        Ok(Self(client))
    }

    /// Sends a request; what comes back once its head is there. Says who asks, unless the request does.
    pub(super) async fn send(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, OutboundError> {
        let headers = request.headers_mut();
        let name = concat!("millrace/", env!("CARGO_PKG_VERSION"));
        for (header, value) in [(ACCEPT, "*/*"), (USER_AGENT, name)] {
            headers.entry(header).or_insert(HeaderValue::from_static(value));
        }
        let (heard, flooded) = (AtomicU32::new(0), Arc::new(Notify::new()));
        let flood = Arc::clone(&flooded);
        on_informational(&mut request, move |_| {
            if heard.fetch_add(1, Ordering::Relaxed) == MAX_PROVISIONAL {
                flood.notify_one();
            }
        });
        tokio::select! {
            answered = self.0.request(request) => answered.map_err(|error| unreachable(error.into())),
            () = flooded.notified() => Err(OutboundError::Provisional(MAX_PROVISIONAL)),
        }
    }
}

/// The error of a request that was not answered; a bad address and a bad certificate are told from a bad connection.
fn unreachable(error: Box<dyn std::error::Error + Send + Sync>) -> OutboundError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.as_ref());
    while let Some(current) = cause {
        if let Some(NotPublic(host)) = current.downcast_ref() {
            return OutboundError::not_public(host);
        }
        if let Some(rustls::Error::InvalidCertificate(why)) = current.downcast_ref() {
            return OutboundError::Certificate(shortened(why.to_string()));
        }
        // An I/O error names as its source that of the error which it holds.
        let held = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match held {
            Some(held) => Some(held),
            None => current.source(),
        };
    }
    OutboundError::Unreachable(error)
}

/// The beginning of a text that a stranger has written parts of: a certificate may have thousands of names.
pub(super) fn shortened(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        text.truncate(text.floor_char_boundary(MAX_REASON_BYTES));
        text.push('…');
    }
    text
}
