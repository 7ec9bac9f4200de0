//! Serves a port: limits the number of connections, and the time that each may take for a handshake and for
//! the head of a request.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use platform::http::ClientAddress;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::either::Either;
use tower::Service;
use tower::util::MapRequest;
use tracing::{debug, warn};

use crate::gauges::OpenConnection;
use crate::proxies::TrustedProxies;
use crate::stalling::Stalling;
use crate::tls::Tls;

/// Ends of the connection that a request came on; a request extension.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    pub caller: SocketAddr,
    pub server: SocketAddr,
}

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the opening of a connection, or the last answer on it, to the end of a request's head.
    pub head: Duration,
    /// Largest head, in bytes.
    pub head_bytes: usize,
    /// Longest time that a caller may read nothing of an answer.
    pub stall: Duration,
    /// Maximum number of concurrent connections; more wait until one ends.
    pub connections: usize,
}

/// Maximum number of open files of the process: connections, children and data files.
const MAX_FILES: u64 = 16_384;

impl Limits {
    /// Limits of the public port: a quarter of the files that the process may open, at most 2,048.
    pub fn public() -> Self {
        Self::new(files() / 4, 2_048)
    }

    /// Limits of the port of the queues, whose clients are the operator command and a successor: a twelfth,
    /// at most 1,024.
    pub fn internal() -> Self {
        Self::new(files() / 12, 1_024)
    }

    fn new(connections: u64, most: usize) -> Self {
        Self {
            head: Duration::from_secs(30),
            head_bytes: 64 * 1_024,
            stall: Duration::from_secs(30),
            connections: usize::try_from(connections).map_or(most, |connections| connections.min(most)),
        }
    }
}

fn files() -> u64 {
    rlimit::increase_nofile_limit(MAX_FILES).unwrap_or(1_024)
}

/// Time that open requests get once the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Pause before the next accept, where the system has no free connections.
const PAUSE: Duration = Duration::from_millis(100);

/// What stands between callers and a port.
#[derive(Clone, Default)]
pub struct Front {
    pub tls: Option<Tls>,
    pub proxies: TrustedProxies,
}

/// Serves without TLS and proxies; see [`serve_behind`].
pub async fn serve<S>(listener: TcpListener, service: S, limits: Limits, stop: impl Future<Output = ()>)
where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    serve_behind(listener, Front::default(), service, limits, stop).await;
}

/// Serves until `stop` completes, and then until the open requests are answered or a time limit passes.
pub async fn serve_behind<S>(
    listener: TcpListener,
    front: Front,
    service: S,
    limits: Limits,
    stop: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let permits = Arc::new(Semaphore::new(limits.connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(limits.head_bytes);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        let (socket, caller) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(%error, "no connection could be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Send each part of an answer at once. Otherwise each later part waits until the client acknowledges
        // the previous one: 40 ms for a message of a stream.
        if let Err(error) = socket.set_nodelay(true) {
            warn!(%error, "a connection sends in packets");
        }
        let ends = socket
            .local_addr()
            .ok()
            .map(|server| Connection { caller, server });
        let proxies = front.proxies.clone();
        let service = MapRequest::new(service.clone(), move |mut request: Request<Incoming>| {
            let client = ClientAddress(proxies.caller(caller, request.headers()));
            request.extensions_mut().insert(client);
            if let Some(ends) = ends {
                request.extensions_mut().insert(ends);
            }
            request
        });
        let (http, tls, watcher) = (http.clone(), front.tls.clone(), graceful.watcher());
        let counted = OpenConnection::count();
        tokio::spawn(async move {
            let socket = match &tls {
                None => Ok(Some(Either::Left(socket))),
                Some(tls) => tls.accept(socket).await.map(|stream| stream.map(Either::Right)),
            };
            let ended = match socket {
                Ok(None) => Ok(()),
                Ok(Some(socket)) => {
                    let socket = TokioIo::new(Box::pin(Stalling::new(socket, limits.stall)));
                    let connection = http.serve_connection(socket, TowerToHyperService::new(service));
                    watcher.watch(connection).await.map_err(Either::Left)
                }
                Err(error) => Err(Either::Right(error)),
            };
            if let Err(error) = ended {
                debug!(?error, "a connection ended early");
            }
            drop((permit, counted));
        });
    }
    let _ = tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await;
}
