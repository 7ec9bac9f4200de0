//! `ops receiver`: receives webhooks on this machine, checks their signatures and prints them.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use clap::Args;
use events::signature::delivery_signature;
use platform::config::Secret;
use platform::{Clock, Error, Result};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Largest age of a timestamp, in seconds; an attempt has the timestamp of its run's start.
const WINDOW_SECONDS: i64 = 15 * 60;

/// Where to listen, and what to answer.
#[derive(Args)]
pub struct ReceiverArguments {
    /// Port to listen on, on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 4000)]
    port: u16,
    /// Signing secret of a subscription; may be given several times.
    #[arg(long)]
    secret: Vec<String>,
    /// Status of each answer, such as 500 to make deliveries retry.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    status: u16,
    /// Ends after this many requests; without it the receiver ends with Ctrl-C.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
}

struct Receiver {
    secrets: Vec<Secret>,
    status: StatusCode,
    received: Semaphore,
}

/// Receives until the process is stopped, or until the requested number of requests has arrived.
pub async fn run(arguments: ReceiverArguments) -> Result<()> {
    let receiver = Receiver {
        secrets: arguments.secret.into_iter().map(Secret::new).collect(),
        status: StatusCode::from_u16(arguments.status).map_err(Error::internal)?,
        received: Semaphore::new(0),
    };
    let receiver = Arc::new(receiver);
    let port = arguments.port;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(|error| {
            Error::invalid(format!(
                "Port {port} of 127.0.0.1 cannot be used: {error}. Choose another by --port."
            ))
        })?;
    let address = listener.local_addr().map_err(Error::internal)?;
    print(&format!("Receiving at http://{address}"))?;
    let router = Router::new().fallback(receive).with_state(Arc::clone(&receiver));
    let enough = async move {
        match arguments.count {
            Some(count) => drop(receiver.received.acquire_many(count).await),
            None => std::future::pending().await,
        }
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(enough);
    serving.await.map_err(Error::internal)
}

async fn receive(
    State(receiver): State<Arc<Receiver>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let signature = receiver.verdict(&headers, &body, Clock::System.now().as_seconds());
    let body = String::from_utf8_lossy(&body);
    let status = receiver.status.as_u16();
    let printed = print(&format!("{} {status} {signature} {body}", uri.path()));
    receiver.received.add_permits(1);
    match printed {
        Ok(()) => receiver.status,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl Receiver {
    fn verdict(&self, headers: &HeaderMap, body: &[u8], now: i64) -> &'static str {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(signatures) = text("x-service-signature") else {
            return "unsigned";
        };
        let timestamp = text("x-service-timestamp").and_then(|text| text.parse::<i64>().ok());
        let (Some(timestamp), Some(id)) = (timestamp, text("x-service-delivery-id")) else {
            return "wrong";
        };
        let signs = |secret: &Secret| {
            let expected = delivery_signature(secret, timestamp, id, body);
            expected.is_ok_and(|expected| signatures.split(',').any(|signature| signature == expected))
        };
        if !self.secrets.iter().any(signs) {
            return "wrong";
        }
        match timestamp.abs_diff(now) <= WINDOW_SECONDS.unsigned_abs() {
            true => "verified",
            false => "late",
        }
    }
}

fn print(line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_verified_with_any_of_the_secrets() {
        let secret = Secret::new("whsec_b3JkZXI=");
        let receiver = Receiver {
            secrets: vec![Secret::new("whsec_b3RoZXI="), secret.clone()],
            status: StatusCode::OK,
            received: Semaphore::new(0),
        };
        let mut headers = HeaderMap::new();
        assert_eq!(receiver.verdict(&headers, b"{}", 1_000), "unsigned");
        let signature = delivery_signature(&secret, 1_000, "d", b"{}").unwrap();
        headers.insert("x-service-signature", signature.parse().unwrap());
        assert_eq!(receiver.verdict(&headers, b"{}", 1_000), "wrong");
        headers.insert("x-service-delivery-id", "d".parse().unwrap());
        headers.insert("x-service-timestamp", "1000".parse().unwrap());
        assert_eq!(receiver.verdict(&headers, b"{}", 1_900), "verified");
        assert_eq!(receiver.verdict(&headers, b"{}", 1_901), "late");
        assert_eq!(receiver.verdict(&headers, b"[]", 1_000), "wrong");
    }
}
