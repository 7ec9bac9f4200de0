//! Sends HTTP requests with hyper, over TLS with the system's certificates.
//!
//! It sends a request over a new or a kept connection and does nothing else: no redirect, no proxy, no
//! cookie, no decompression. It also limits provisional answers, which other clients skip without a limit.

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
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service as _, service_fn};

use super::error::OutboundError;
use super::resolver::{Checked, Lookup};
use super::rules::{self, NotAllowed, Rules};
use crate::config::AwsEnvironment;

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// Maximum number of idle connections to one host.
const MAX_IDLE: usize = 16;
/// Maximum size of an answer's head, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1_024;
/// Maximum length of a quoted certificate error, in bytes.
const MAX_REASON_BYTES: usize = 200;
/// Maximum number of provisional answers (status below 200) before the final one.
const MAX_PROVISIONAL: u32 = 16;

/// Opens connections, with or without TLS.
type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<TokioIo<TcpStream>>, BoxError>;

/// Whether a connection serves more than one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    Kept,
    /// For a process that is frozen between two requests: the receiver closes the connection meanwhile, and
    /// the next request would count as a failed attempt.
    Never,
}

impl Reuse {
    pub fn of(machine: &AwsEnvironment) -> Self {
        match machine.function_name {
            Some(_) => Self::Never,
            None => Self::Kept,
        }
    }
}

/// Clones share their connections.
#[derive(Clone)]
pub(super) struct HttpClient(Client<Connector, Full<Bytes>>);

impl HttpClient {
    /// Connects only to addresses of this lookup that the rules allow.
    pub(super) fn new(
        lookup: &Arc<dyn Lookup>,
        rules: &Rules,
        connect: Duration,
        reuse: Reuse,
    ) -> Result<Self, OutboundError> {
        let (lookup, rules) = (Arc::clone(lookup), rules.clone());
        // A resolver hears no port, and the rules need it: so each connection has a resolver of its own.
        let connector = service_fn(move |uri: Uri| {
            let mut connector = HttpConnector::new_with_resolver(Checked {
                lookup: Arc::clone(&lookup),
                rules: rules.clone(),
                port: rules::port(&uri),
            });
            connector.enforce_http(false);
            connector.set_nodelay(true);
            connector.call(uri)
        });
        let connector = HttpsConnectorBuilder::new()
            .try_with_platform_verifier()
            .map_err(|error| OutboundError::Unreachable(error.into()))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let connector = Connector::new(Timeout::new(connector, connect));
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

    /// Sends a request, and returns once the head of its answer has arrived. Adds a default `user-agent`.
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

/// Classifies the error of an unanswered request: a refused address, a rejected certificate, or no
/// connection.
fn unreachable(error: Box<dyn std::error::Error + Send + Sync>) -> OutboundError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.as_ref());
    while let Some(current) = cause {
        if let Some(not_allowed) = current.downcast_ref::<NotAllowed>() {
            return not_allowed.clone().into();
        }
        if let Some(rustls::Error::InvalidCertificate(why)) = current.downcast_ref() {
            return OutboundError::Certificate(shortened(why.to_string()));
        }
        // The source of an I/O error is the source of its inner error, so the inner error itself is visited
        // first.
        let held = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match held {
            Some(held) => Some(held),
            None => current.source(),
        };
    }
    OutboundError::Unreachable(error)
}

/// Truncates a text that is partly written by the receiver: a certificate may contain thousands of names.
pub(super) fn shortened(mut text: String) -> String {
    if text.len() > MAX_REASON_BYTES {
        text.truncate(text.floor_char_boundary(MAX_REASON_BYTES));
        text.push('…');
    }
    text
}
