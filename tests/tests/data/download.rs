//! Tests downloads: a link to a version as a file.

use std::future::IntoFuture as _;

use serde_json::{Value, json};
use tests::{Answer, Method, Persona, Store};

async fn started() -> Store {
    let store = Store::start().await;
    store.table("people", &["id INTEGER", "name STRING"]).await;
    store.table("empty", &["id INTEGER"]).await;
    let rows = json!([{ "id": 1, "name": "Ada" }, { "id": 2, "name": null }]);
    store.append("people", &rows).await.expect_status(200);
    store
}

/// Follows a link, without credentials.
async fn fetched(store: &Store, answer: &Answer) -> Answer {
    let url = answer.body["url"].as_str().unwrap();
    store.service.request(Method::GET, url).await
}

fn is_database(bytes: &[u8]) -> bool {
    bytes.get(8..12) == Some(b"DUCK")
}

#[tokio::test]
async fn a_download_is_a_link_to_a_file() {
    let store = started().await;
    let detail = store.detail().await;
    let answer = store.get("/download").await.expect_status(200);
    let mut body = answer.body.clone();
    assert!(body.as_object_mut().unwrap().remove("url").is_some());
    let expected = json!({
        "expires_in": 900,
        "store_id": store.id,
        "store_name": detail["name"],
        "schema_version": 3,
        "version_id": detail["version_id"],
        "format": "duckdb"
    });
    assert_eq!(body, expected);
    let file = fetched(&store, &answer).await.expect_status(200);
    assert!(is_database(&file.bytes), "{:?}", &file.bytes[..16]);
    // A client that requests compression would decode a named encoding.
    assert_eq!(file.header("content-encoding"), "");
    let url = answer.body["url"].as_str().unwrap();
    // Link of S3, or of the local runner.
    assert!(
        url.contains("X-Amz-Expires=900") || url.contains("?expires="),
        "{url}"
    );
    // The signature covers the object's name and the method.
    let other = url.replace(&store.id, "another");
    let refused = store.service.request(Method::GET, &other).await;
    assert!((400..500).contains(&refused.status), "{}", refused.text());
    let write = store.service.request(Method::PUT, url).body("x").await;
    assert!((400..500).contains(&write.status), "{}", write.text());
}

#[tokio::test]
async fn a_file_is_built_once_and_stays() {
    let store = started().await;
    let first = store.get("/download").await.expect_status(200);
    let version = first.body["version_id"].as_str().unwrap().to_owned();
    let file = fetched(&store, &first).await.expect_status(200).bytes;
    store
        .append("people", &json!([{ "id": 3 }]))
        .await
        .expect_status(200);
    let newer = store.get("/download").await.expect_status(200);
    assert_ne!(newer.body["version_id"], first.body["version_id"]);
    let again = store.get(&format!("/download?version_id={version}")).await;
    let again = again.expect_status(200);
    assert_eq!(again.body["version_id"], version);
    // Two builds would differ, at least in DuckDB's metadata of the file.
    let same = fetched(&store, &again).await.expect_status(200).bytes;
    assert!(same == file, "the file was built again");
}

#[tokio::test]
async fn many_who_ask_at_once_get_one_file() {
    let store = started().await;
    let answers = futures::future::join_all((0..6).map(|_| store.get("/download").into_future())).await;
    let mut files = Vec::new();
    for answer in answers {
        files.push(
            fetched(&store, &answer.expect_status(200))
                .await
                .expect_status(200)
                .bytes,
        );
    }
    assert!(
        files.iter().all(|file| *file == files[0]),
        "it was built more than once"
    );
}

/// Returns the names and sizes in the directory of an uncompressed zip archive.
fn archive(bytes: &[u8]) -> Vec<(String, usize)> {
    let number = |at: usize, width: usize| {
        let bytes = &bytes[at..at + width];
        bytes
            .iter()
            .rev()
            .fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let end = bytes.len() - 22;
    assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
    let (count, mut at) = (number(end + 10, 2), number(end + 16, 4));
    let mut files = Vec::new();
    for _ in 0..count {
        assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
        assert_eq!(number(at + 10, 2), 0, "Parquet is compressed already");
        let (name, extra, comment) = (number(at + 28, 2), number(at + 30, 2), number(at + 32, 2));
        let text = String::from_utf8(bytes[at + 46..at + 46 + name].to_vec()).unwrap();
        let (size, begin) = (number(at + 24, 4), number(at + 42, 4));
        let data = begin + 30 + number(begin + 26, 2) + number(begin + 28, 2);
        assert_eq!(&bytes[data..data + 4], b"PAR1", "{text}");
        assert_eq!(&bytes[data + size - 4..data + size], b"PAR1", "{text}");
        files.push((text, size));
        at += 46 + name + extra + comment;
    }
    files
}

#[tokio::test]
async fn parquet_comes_in_an_archive() {
    let store = started().await;
    let answer = store.get("/download?format=parquet").await.expect_status(200);
    assert_eq!(answer.body["format"], "parquet");
    let file = fetched(&store, &answer).await.expect_status(200);
    let names: Vec<_> = archive(&file.bytes).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["people.parquet", "empty.parquet"]);
    let refused = store
        .get("/download?format=csv")
        .await
        .expect_error(400, "invalid_request");
    assert!(refused.message().contains("format"), "{}", refused.message());
    // An empty parameter counts as left out.
    store.get("/download?version_id=").await.expect_status(200);
}

#[tokio::test]
async fn an_empty_store_is_downloaded_too() {
    let store = Store::start().await;
    let answer = store.get("/download").await.expect_status(200);
    let file = fetched(&store, &answer).await.expect_status(200);
    assert!(is_database(&file.bytes));
    let answer = store.get("/download?format=parquet").await.expect_status(200);
    let file = fetched(&store, &answer).await.expect_status(200);
    assert_eq!(archive(&file.bytes), []);
}

#[tokio::test]
async fn strangers_get_no_link() {
    let store = started().await;
    let path = store.path("/download");
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = store.scope.token(persona);
        store
            .service
            .get(&token, &path)
            .await
            .expect_error(404, "not_found");
    }
    let nobody = store.scope.token(Persona::Nobody);
    store
        .service
        .get(&nobody, &path)
        .await
        .expect_error(403, "forbidden");
    let reader = store.scope.token(Persona::Reader);
    let answer = store.service.get(&reader, &path).await.expect_status(200);
    assert_ne!(answer.body["url"], Value::Null);
}
