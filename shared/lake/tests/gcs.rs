//! Tests files of Google Cloud Storage, with a stand-in for its HTTP API that fails as the real one may.
#![cfg(test)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures::StreamExt as _;
use lake::sources::{RemoteFile, Sources};
use platform::Tenant;
use platform::config::{AwsEnvironment, ConfigError, Environment, variables};
use platform::objects::remote::{Download, Place, RemoteObjects, SourceError};
use platform::outbound::Outbound;
use platform::secrets::{SecretStore, Versions};
use serde_json::json;

const CONTENT: &[u8] = b"id,name\n1,a\n2,b\n3,c\n";

/// Requests: the object and its range.
type Log = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// The name of an object determines how the store behaves.
async fn object(State(log): State<Log>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let range = headers
        .get("range")
        .map(|range| range.to_str().unwrap().to_owned());
    let mut asked = log.lock().unwrap();
    let times = asked.iter().filter(|(other, _)| *other == name).count();
    asked.push((name.clone(), range.clone()));
    let from = range.and_then(|range| {
        range
            .trim_start_matches("bytes=")
            .split('-')
            .next()
            .unwrap()
            .parse::<usize>()
            .ok()
    });
    let rest = &CONTENT[from.unwrap_or(0)..];
    let head = |length: usize| {
        let version = if name == "acme/changes.csv" { times } else { 0 };
        let answer = Response::builder()
            .header("etag", format!("\"{version}\""))
            .header("last-modified", "Tue, 01 Jul 2025 10:00:00 GMT");
        match from {
            Some(from) => answer.status(206).header(
                "content-range",
                format!("bytes {from}-{}/{}", CONTENT.len() - 1, CONTENT.len()),
            ),
            None => answer.header("content-length", length),
        }
    };
    match name.as_str() {
        "acme/good.csv" => head(rest.len()).body(Body::from(rest)).unwrap(),
        "acme/busy.csv" if times < 2 => (StatusCode::SERVICE_UNAVAILABLE, "busy").into_response(),
        "acme/busy.csv" => head(rest.len()).body(Body::from(rest)).unwrap(),
        "acme/breaks.csv" | "acme/changes.csv" | "acme/short.csv" | "acme/always-breaks.csv"
            if times == 0 || name == "acme/always-breaks.csv" =>
        {
            let cut = async {
                // Lets the earlier part be sent first.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            };
            let begun = futures::stream::iter([Ok(rest[..if times == 0 { 5 } else { 1 }].to_vec())]);
            let body = Body::from_stream(begun.chain(futures::stream::once(cut)));
            head(rest.len()).body(body).unwrap()
        }
        "acme/breaks.csv" | "acme/changes.csv" => head(rest.len()).body(Body::from(rest)).unwrap(),
        "acme/short.csv" => head(0).body(Body::from(&rest[..rest.len() - 3])).unwrap(),
        "acme/huge.csv" => {
            let endless = futures::stream::pending::<std::io::Result<Vec<u8>>>();
            head(10_000_000_000).body(Body::from_stream(endless)).unwrap()
        }
        "acme/secret.csv" => (StatusCode::FORBIDDEN, "no").into_response(),
        "acme/down.csv" => (StatusCode::INTERNAL_SERVER_ERROR, "down").into_response(),
        _ => (StatusCode::NOT_FOUND, "none").into_response(),
    }
}

/// For tests that use neither S3 nor secrets by name.
struct Nothing;

#[async_trait]
impl RemoteObjects for Nothing {
    async fn get_to_file(&self, place: Place<'_>, _: Download<'_>) -> Result<(), SourceError> {
        panic!("{place:?} of S3 is read")
    }
}

#[async_trait]
impl SecretStore for Nothing {
    async fn versions(&self, name: &str) -> platform::Result<Versions> {
        panic!("the secret {name} is read")
    }
}

fn sources(environment: &Environment, outbound: Outbound) -> Result<Sources, ConfigError> {
    let secrets: Arc<dyn SecretStore> = Arc::new(Nothing);
    Sources::from_environment(environment, Some(&secrets), Some(Arc::new(Nothing)), outbound)
}

struct World {
    sources: Sources,
    log: Log,
    folder: tempfile::TempDir,
}

impl World {
    async fn start() -> Self {
        let log = Log::default();
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/exports/{*name}", get(object))
            .with_state(log.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let key = json!({
            "gcs_base_url": base, "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""
        });
        let variables = [
            (
                variables::IMPORT_BUCKETS.name,
                "gs://exports/{account}/".to_owned(),
            ),
            (variables::GCS_CREDENTIALS.name, key.to_string()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        let environment = Environment::from_variables(variables).unwrap();
        let outbound = Outbound::local(&AwsEnvironment::default()).unwrap();
        Self {
            sources: sources(&environment, outbound).unwrap(),
            log,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    async fn get(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.path().join("file");
        let file = RemoteFile::Gcs(format!("gs://exports/{name}"));
        let tenant = Tenant::new("acme", "demo").unwrap();
        let minute = Duration::from_secs(60);
        let got = self
            .sources
            .get_to_file(&tenant, &file, &path, 1_000, minute)
            .await;
        got.map(|()| std::fs::read(&path).unwrap())
            .map_err(|error| error.to_string())
    }

    fn ranges(&self) -> Vec<Option<String>> {
        self.log
            .lock()
            .unwrap()
            .iter()
            .map(|(_, range)| range.clone())
            .collect()
    }
}

#[tokio::test]
async fn an_object_is_fetched_whole() {
    let world = World::start().await;
    assert_eq!(world.get("acme/good.csv").await.unwrap(), CONTENT);
    assert_eq!(world.ranges(), [None]);
}

#[tokio::test]
async fn a_store_that_is_busy_is_asked_again() {
    let world = World::start().await;
    assert_eq!(world.get("acme/busy.csv").await.unwrap(), CONTENT);
    assert_eq!(world.ranges(), [None, None, None]);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_gone_on_with_by_its_range() {
    let world = World::start().await;
    assert_eq!(world.get("acme/breaks.csv").await.unwrap(), CONTENT);
    assert_eq!(
        world.ranges(),
        [None, Some(format!("bytes=5-{}", CONTENT.len() - 1))]
    );
}

#[tokio::test]
async fn what_cannot_be_fetched_says_why() {
    let world = World::start().await;
    for (name, expected) in [
        ("acme/missing.csv", "there is no such object"),
        ("acme/secret.csv", "does not let this service read it"),
        ("acme/huge.csv", "larger than the 1000 bytes"),
        ("acme/down.csv", "cannot be reached, or broke off"),
        // Another object, whose rest does not belong to the start of the first.
        ("acme/changes.csv", "cannot be reached, or broke off"),
        ("acme/short.csv", "cannot be reached, or broke off"),
        ("acme/always-breaks.csv", "cannot be reached, or broke off"),
        ("other/good.csv", "only what is below gs://exports/acme/"),
    ] {
        let error = world.get(name).await.unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(!error.contains("http"), "{name}: {error}");
    }
    let requests = world.log.lock().unwrap();
    assert!(requests.iter().all(|(name, _)| name.starts_with("acme/")));
    let broken = requests
        .iter()
        .filter(|(name, _)| name == "acme/always-breaks.csv");
    assert_eq!(broken.count(), 6);
}

#[test]
fn credentials_that_are_none_stop_the_start_without_being_shown() {
    let refusal = |variables: &[(&str, &str)]| {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::from_variables(variables).unwrap();
        let outbound = Outbound::local(&AwsEnvironment::default()).unwrap();
        let refused = sources(&environment, outbound);
        refused.err().unwrap().to_string()
    };
    let places = (variables::IMPORT_BUCKETS.name, "gs://exports/");
    assert!(refusal(&[places]).contains("Set MILLRACE_GCS_CREDENTIALS"));
    let refusal = refusal(&[places, (variables::GCS_CREDENTIALS.name, "hunter2")]);
    assert!(
        refusal.contains("not the JSON key") && !refusal.contains("hunter2"),
        "{refusal}"
    );
}

#[test]
fn place_of_s3_without_aws_is_refused_with_what_to_do() {
    let places = (
        variables::IMPORT_BUCKETS.name.to_owned(),
        "s3://uploads/".to_owned(),
    );
    let environment = Environment::from_variables([places]).unwrap();
    let outbound = Outbound::local(&AwsEnvironment::default()).unwrap();
    let sources = Sources::from_environment(&environment, None, None, outbound);
    let refusal = sources.err().unwrap().to_string();
    assert!(
        refusal.contains("is 's3://uploads/'") && refusal.contains("build it with AWS=yes"),
        "{refusal}"
    );
}
