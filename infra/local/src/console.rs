//! Serves the console, and gives its page a token of the developer with one click.
//!
//! A token opens the whole service, so the page of another origin must not get one, nor must another user of
//! the machine, nor a program that sends requests for others. So the page shows a proof that these cannot
//! read.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use console_function::{Console, Settings};
use platform::config::{ConfigError, Environment, Secret, variables};
use platform::{Clock, Error, Result};
use serde_json::json;
use subtle::ConstantTimeEq as _;

use crate::issuer::{Issuer, LIFETIME_SECONDS, Subject};
use crate::secrets::random_secret;
use crate::server::Connection;

/// Header in which the page shows its proof.
const PROOF: HeaderName = HeaderName::from_static("x-page-proof");

#[derive(Clone)]
struct Tokens {
    issuer: Arc<Issuer>,
    clock: Clock,
    proof: Secret,
}

/// Returns the console's routes; None where it is not built.
pub fn routes(
    environment: &Environment,
    issuer: Option<Arc<Issuer>>,
    clock: Clock,
) -> Result<Option<Router>, ConfigError> {
    let named = environment.optional(variables::CONSOLE_DIR).map(PathBuf::from);
    let Some(folder) = named.or_else(beside_program) else {
        return Ok(None);
    };
    let proof = random_secret();
    let settings = environment
        .clone()
        .with([(variables::CONSOLE_INGEST_URL, "ingest".to_owned())]);
    let mut settings = Settings {
        folder,
        page_proof: issuer.is_some().then(|| proof.clone()),
        ..Settings::from_environment(&settings)?
    };
    // Links to objects name this address, whatever name the page was opened under.
    let origin = environment.optional(variables::PUBLIC_URL);
    settings.connect.extend(origin.map(str::to_owned));
    let console = Console::open(settings)?;
    let Some(issuer) = issuer else {
        return Ok(Some(console.routes()));
    };
    let tokens = Router::new()
        .route("/console/token", post(token))
        .with_state(Tokens { issuer, clock, proof });
    Ok(Some(console.routes().merge(tokens)))
}

/// Returns the folder in which an installation has the console.
fn beside_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?.join("console");
    folder.join("index.html").is_file().then_some(folder)
}

async fn token(State(tokens): State<Tokens>, request: Request) -> Result<impl IntoResponse> {
    if !is_from_own_page(&request) {
        return Err(Error::forbidden(
            "Only the console's own page gets a token here. `millrace ops token` prints one.",
        ));
    }
    if !has_proof(&request, &tokens.proof) {
        return Err(Error::forbidden(
            "This page does not belong to the service as it runs now. Reload the page.",
        ));
    }
    if !is_from_own_user(&request) {
        return Err(Error::forbidden(
            "Another user of this machine runs this service, or a proxy is in front of it. Ask its user for a token of `millrace ops token`.",
        ));
    }
    let token = tokens
        .issuer
        .token(&Subject::default(), tokens.clock.now(), LIFETIME_SECONDS)?;
    Ok(([(CACHE_CONTROL, "no-store")], Json(json!({ "token": token }))))
}

/// True if the request's page has the origin of this server. A browser sends `Origin` with every POST, and a
/// page cannot change it.
fn is_from_own_page(request: &Request) -> bool {
    let text = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let (Some(origin), Some(host)) = (text(ORIGIN), text(HOST)) else {
        return false;
    };
    let origin = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host) && Authority::try_from(origin).is_ok())
}

/// True if the request has the proof that the page was served with.
fn has_proof(request: &Request, proof: &Secret) -> bool {
    let header = request.headers().get(PROOF);
    let header = header.map_or(&[][..], |value| value.as_bytes());
    bool::from(header.ct_eq(proof.expose().as_bytes()))
}

/// True if the caller's end of the connection belongs to this process's user or to root.
#[cfg(target_os = "linux")]
fn is_from_own_user(request: &Request) -> bool {
    let Some(connection) = request.extensions().get::<Connection>() else {
        return false;
    };
    let Ok(sockets) = procfs::net::tcp() else {
        return false;
    };
    let own = rustix::process::geteuid().as_raw();
    sockets.iter().any(|socket| {
        (socket.local_address, socket.remote_address) == (connection.caller, connection.server)
            && [own, 0].contains(&socket.uid)
    })
}

/// Other systems do not tell whose a connection is, but that it comes from this machine.
#[cfg(not(target_os = "linux"))]
fn is_from_own_user(request: &Request) -> bool {
    let connection = request.extensions().get::<Connection>();
    connection.is_some_and(|connection| connection.caller.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn only_the_own_origin_is_the_own_page() {
        let request = |origin: Option<&str>| {
            let mut request = Request::builder().header(HOST, "127.0.0.1:3000");
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            request.body(Body::empty()).unwrap()
        };
        assert!(is_from_own_page(&request(Some("http://127.0.0.1:3000"))));
        for other in [
            None,
            Some("null"),
            Some("http://127.0.0.1"),
            Some("http://127.0.0.1:3001"),
            Some("http://localhost:3000"),
            Some("http://127.0.0.1:3000.evil.example"),
            Some("ftp://127.0.0.1:3000"),
        ] {
            assert!(!is_from_own_page(&request(other)), "{other:?}");
        }
    }
}
