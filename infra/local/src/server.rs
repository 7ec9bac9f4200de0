//! Serves a port: limits the number of connections, and how long each may wait for the head of a request.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tower::Service;
use tracing::{debug, warn};

use crate::stalling::Stalling;

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From the opening of a connection, or the last answer on it, to the end of a request's head.
    pub head: Duration,
    /// Largest head, in bytes.
    pub head_bytes: usize,
    /// How long a caller may take none of an answer.
    pub stall: Duration,
    /// Most connections at a time; more wait until one ends.
    pub connections: usize,
}

/// Most files that the process has open: connections, children and data files.
const MAX_FILES: u64 = 16_384;

impl Limits {
    /// Of the public port: a quarter of the files that the process may open, at most 2,048.
    pub fn public() -> Self {
        Self::of(files() / 4, 2_048)
    }

    /// Of the port of the queues, whose client is the operator's command: a twelfth, at most 1,024.
    pub fn internal() -> Self {
        Self::of(files() / 12, 1_024)
    }

    fn of(connections: u64, most: usize) -> Self {
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

/// How long the requests under way may take once the server is to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

/// Between two tries to take a connection, where the system has no more of them.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, and then until the requests under way are answered, for a while.
pub async fn serve<S>(listener: TcpListener, service: S, limits: Limits, stop: impl Future<Output = ()>)
where
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
        let socket = match accepted {
            Ok((socket, _)) => socket,
            Err(error) => {
                warn!(%error, "no connection could be taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Each part of an answer leaves when it is there. Otherwise each after the first waits until the
        // client has acknowledged the one before: 40 ms for the news of a stream.
        if let Err(error) = socket.set_nodelay(true) {
            warn!(%error, "a connection sends in packets");
        }
        let connection = http.serve_connection(
            TokioIo::new(Box::pin(Stalling::new(socket, limits.stall))),
            TowerToHyperService::new(service.clone()),
        );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection ended early");
            }
            drop(permit);
        });
    }
    let _ = tokio::time::timeout(LAST_ANSWERS, graceful.shutdown()).await;
}
