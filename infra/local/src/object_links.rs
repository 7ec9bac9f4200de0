//! `GET` and `PUT /objects/{bucket}/{key}`: returns an object in files to the holder of a link, or takes one.
//!
//! The link is the only credential, as with a presigned URL of S3: it names the object, its expiry and the
//! file name, or the size of what is sent, and is signed.

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::BytesMut;
use embedded::files::{FileObjects, LINKS_PATH, other_size};
use futures::{StreamExt as _, stream};
use platform::objects::UPLOAD_TYPE;
use platform::{Error, ErrorKind, Result};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

/// Bytes of a file per read; each read switches threads.
const PIECE_BYTES: usize = 512 * 1_024;

pub fn routes(files: FileObjects) -> Router {
    Router::new()
        .route(
            &format!("{LINKS_PATH}/{{bucket}}/{{*key}}"),
            get(handler).put(receive),
        )
        .with_state(files)
}

async fn handler(
    State(files): State<FileObjects>,
    path: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let gone = || {
        Error::new(
            ErrorKind::NotFound,
            "The file of this link is gone; ask for a new link.",
        )
    };
    let Path((bucket, key)) = path.map_err(|_| gone())?;
    let followed = files.follow(&bucket, &key, &query.unwrap_or_default()).await?;
    let (file, file_name) = followed.ok_or_else(gone)?;
    let file = File::from_std(file);
    let bytes = file.metadata().await.map_err(Error::internal)?.len();
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (CONTENT_LENGTH, bytes.into()),
        (CONTENT_DISPOSITION, attachment(&file_name)?),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, body(file)).into_response())
}

async fn receive(
    State(files): State<FileObjects>,
    path: Result<Path<(String, String)>, PathRejection>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<()> {
    let Path((bucket, key)) = path.map_err(|_| Error::forbidden("This link names no object."))?;
    let mut upload = files.receive(&bucket, &key, &query.unwrap_or_default()).await?;
    if headers
        .get(CONTENT_TYPE)
        .is_none_or(|value| value.as_bytes() != UPLOAD_TYPE.as_bytes())
    {
        return Err(Error::forbidden(format!(
            "An upload has the header 'content-type: {UPLOAD_TYPE}'; send the headers that came with the link."
        )));
    }
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.is_some_and(|announced| announced != upload.bytes().to_string()) {
        return Err(other_size(upload.bytes()));
    }
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| {
            let message = "The file did not arrive whole, or not within 15 minutes; send it again.";
            Error::timeout(message).with_source(error)
        })?;
        upload.push(&piece).await?;
    }
    upload.finish().await
}

/// Answers as S3 does. A file name contains no quotation mark, because the header's name would end there.
fn attachment(file_name: &str) -> Result<HeaderValue> {
    let fits =
        |character: char| (character == ' ' || character.is_ascii_graphic()) && !"\"\\".contains(character);
    let name: String = file_name
        .chars()
        .map(|character| if fits(character) { character } else { '_' })
        .collect();
    HeaderValue::try_from(format!("attachment; filename=\"{name}\"")).map_err(Error::internal)
}

fn body(file: File) -> Body {
    Body::from_stream(stream::try_unfold(file, |mut file| async {
        let mut piece = BytesMut::with_capacity(PIECE_BYTES);
        let count = file.read_buf(&mut piece).await?;
        Ok::<_, std::io::Error>((count > 0).then(|| (piece.freeze(), file)))
    }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use embedded::files::Links;
    use platform::config::{CorsOrigins, EdgeConfig, Secret};
    use platform::http::edge;
    use platform::http::service::normalized;
    use platform::objects::{ObjectStore, Objects};
    use platform::{Clock, UtcTime};
    use reqwest::Client;
    use serde_json::Value;
    use tempfile::TempDir;

    use super::*;
    use crate::server::{Limits, serve};
    use crate::services::listen;

    struct World {
        store: Arc<dyn ObjectStore>,
        objects: Objects,
        clock: Clock,
        client: Client,
        _folder: TempDir,
    }

    impl World {
        async fn start() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let clock = Clock::manual(UtcTime::from_millis(1_750_000_000_000).unwrap());
            let (listener, address) = listen().await.unwrap();
            let links = Links::new(&format!("http://{address}"), Secret::new("key"), clock.clone());
            let files = FileObjects::open(folder.path()).unwrap().with_links(links);
            let cors = CorsOrigins::Any;
            let router = edge(routes(files.clone()), clock.clone(), EdgeConfig { cors });
            tokio::spawn(serve(
                listener,
                normalized(router),
                Limits::internal(),
                std::future::pending(),
            ));
            let store: Arc<dyn ObjectStore> = Arc::new(files);
            Self {
                objects: Objects::new(Arc::clone(&store), "data"),
                store,
                clock,
                client: Client::builder().no_proxy().build().unwrap(),
                _folder: folder,
            }
        }

        async fn link(&self, key: &str) -> String {
            let link = self
                .objects
                .link(key, Duration::from_secs(900), "a \"b\"ü.zip")
                .await;
            link.unwrap()
        }

        async fn get(&self, url: &str) -> reqwest::Response {
            self.client.get(url).send().await.unwrap()
        }

        async fn refusal(&self, url: &str) -> (u16, String) {
            let answer = self.get(url).await;
            let status = answer.status().as_u16();
            let body: Value = answer.json().await.unwrap();
            assert_eq!(body["status"], status);
            (status, body["message"].as_str().unwrap().to_owned())
        }
    }

    #[tokio::test]
    async fn a_link_answers_the_file_of_any_key() {
        let world = World::start().await;
        for key in [
            "stores/acme/demo/x.zip",
            "a b+c%d/ü😀?#&=.json",
            "a%20b%2Fc",
            "a//b",
            "/a",
            "a/",
            "a/../b",
            "./a",
            "a/..",
        ] {
            world.objects.put(key, key.into()).await.unwrap();
            let answer = world.get(&world.link(key).await).await;
            assert_eq!(answer.status(), 200, "{key}");
            for (name, value) in [
                ("content-disposition", "attachment; filename=\"a _b__.zip\""),
                ("content-type", "application/octet-stream"),
                ("x-content-type-options", "nosniff"),
            ] {
                assert_eq!(answer.headers()[name], value);
            }
            assert_eq!(answer.headers()["content-length"], key.len().to_string());
            assert_eq!(answer.text().await.unwrap(), key);
        }
    }

    #[tokio::test]
    async fn an_upload_link_writes_its_object() {
        conformance::objects::uploads(&World::start().await.store).await;
    }

    #[tokio::test]
    async fn an_upload_that_ends_early_or_late_leaves_nothing() {
        let world = World::start().await;
        let link = world
            .objects
            .upload_link("a", Duration::from_secs(900), 10)
            .await
            .unwrap();
        let put = |body: reqwest::Body| {
            let request = world.client.put(&link.url).body(body);
            request.header("content-type", UPLOAD_TYPE).send()
        };
        // In chunks, without a length before.
        for (body, status) in [("123456789", 403), ("12345678901", 403), ("1234567890", 200)] {
            let chunks = stream::iter([Ok::<_, std::io::Error>(body)]);
            let answer = put(reqwest::Body::wrap_stream(chunks)).await.unwrap();
            assert_eq!(answer.status(), status, "{body}");
            assert_eq!(world.objects.exists("a").await.unwrap(), status == 200, "{body}");
        }
        world.objects.remove("a").await.unwrap();
        world.clock.advance_ms(900_000);
        let answer = put("1234567890".into()).await.unwrap();
        assert_eq!(answer.status(), 403);
        assert!(answer.text().await.unwrap().contains("has expired"));
        assert_eq!(world.objects.list("").await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_browser_may_upload_from_another_origin() {
        let world = World::start().await;
        let link = world
            .objects
            .upload_link("a", Duration::from_secs(900), 1)
            .await
            .unwrap();
        let preflight = world
            .client
            .request(reqwest::Method::OPTIONS, &link.url)
            .header("origin", "https://console.example.com")
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "content-type");
        let answer = preflight.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["access-control-allow-origin"], "*");
        let methods = answer.headers()["access-control-allow-methods"].to_str().unwrap();
        assert!(methods.contains("PUT"), "{methods}");
    }

    #[tokio::test]
    async fn a_large_file_comes_whole() {
        let world = World::start().await;
        let bytes: Vec<u8> = (0..3_000_001_u32).map(|number| (number % 251) as u8).collect();
        world.objects.put("large", bytes.clone()).await.unwrap();
        let answer = world.get(&world.link("large").await).await;
        assert!(answer.bytes().await.unwrap() == bytes);
    }

    #[tokio::test]
    async fn what_does_not_hold_is_refused() {
        let world = World::start().await;
        let link = world.link("a/b").await;
        let (status, message) = world.refusal(&link).await;
        assert_eq!((status, message.contains("is gone")), (404, true), "{message}");
        world.objects.put("a/b", b"b".to_vec()).await.unwrap();
        world.objects.put("a/c", b"c".to_vec()).await.unwrap();
        for changed in [
            link.replace("a/b?", "a/c?"),
            link.replace("a/b?", "a%2Fc?"),
            link.replace("/data/", "/other/"),
            link.replace("zip", "exe"),
            link.replace("expires=1", "expires=2"),
            link.split_once('?').unwrap().0.to_owned(),
        ] {
            assert_ne!(changed, link);
            let (status, message) = world.refusal(&changed).await;
            assert_eq!(
                (status, message.contains("signature")),
                (403, true),
                "{changed} {message}"
            );
        }
        assert_eq!(world.refusal(&link.replace("a/b?", "%FF?")).await.0, 404);
        assert_eq!(world.client.put(&link).send().await.unwrap().status(), 403);
        assert_eq!(world.client.post(&link).send().await.unwrap().status(), 405);
        assert_eq!(world.get(&link).await.status(), 200);
        world.clock.advance_ms(900_000);
        let (status, message) = world.refusal(&link).await;
        assert_eq!(
            (status, message.contains("has expired")),
            (403, true),
            "{message}"
        );
    }
}
