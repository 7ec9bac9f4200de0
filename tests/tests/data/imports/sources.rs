//! Tests imports of remote files: at a URL, in S3, in Google Cloud Storage; which may be read, and the errors
//! of the others.

use serde_json::{Value, json};
use tests::file_server::{file, status, with_headers};
use tests::lambda::Emulators;
use tests::stores::elsewhere;
use tests::{Answer, FileServer, Store, binary};

const CSV: &[u8] = b"id,name\n1,a\n2,b\n";
const PARQUET: &[u8] = include_bytes!("../../../data/rows.parquet");
const SECRET: &str = "hunter2hunter2";

async fn with_table(store: Store) -> Store {
    store
        .table("t", &["id BIGINT", "name STRING", "amount DECIMAL(12,2)"])
        .await;
    store
}

/// Imports a file as the table's only rows.
async fn replace(store: &Store, source: &str, uri: &str) -> Answer {
    let mut body = elsewhere("t", source, uri);
    body["mode"] = "replace".into();
    store.post("/import", &body).await
}

async fn rows(store: &Store) -> Value {
    store.rows("SELECT id, name FROM t ORDER BY id").await
}

#[tokio::test]
async fn a_file_at_a_url_is_imported_whatever_its_format() {
    let store = with_table(Store::start().await).await;
    let json = br#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#;
    let server = FileServer::start([
        ("/rows.csv".to_owned(), file(CSV)),
        ("/rows.json".to_owned(), file(json)),
        ("/rows.parquet".to_owned(), file(PARQUET)),
        ("/export".to_owned(), file(CSV)),
    ])
    .await;
    for (path, expected) in [
        ("/rows.csv", json!([[1, "a"], [2, "b"]])),
        ("/rows.json?signature=x.parquet", json!([[1, "a"], [2, "b"]])),
        ("/rows.parquet#part", json!([[1, "a"], [2, null]])),
    ] {
        let answer = replace(&store, "url", &format!("{}{path}", server.origin)).await;
        let answer = answer.expect_status(200);
        assert_eq!(answer.body["status"], "COMPLETED", "{path}");
        assert_eq!(answer.body["rows_imported"], json!({ "t": 2 }), "{path}");
        assert_eq!(rows(&store).await, expected, "{path}");
    }
    let url = format!("{}/export?format=csv", server.origin);
    let refused = replace(&store, "url", &url)
        .await
        .expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("tables.t.format"),
        "{}",
        refused.message()
    );
    let mut body = elsewhere("t", "url", &url);
    body["tables"]["t"]["format"] = "csv".into();
    store.post("/import", &body).await.expect_status(200);
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[4]]));
}

#[tokio::test]
async fn a_url_that_gives_no_file_is_a_422_that_shows_no_secret() {
    let store = with_table(Store::start().await).await;
    let redirect = [
        ("location", "http://169.254.169.254/latest/meta-data/"),
        ("content-length", "0"),
    ];
    let server = FileServer::start([
        ("/forbidden.csv".to_owned(), status("403 Forbidden")),
        ("/down.csv".to_owned(), status("503 Busy")),
        ("/moved.csv".to_owned(), with_headers("302 Found", &redirect, b"")),
        (
            "/huge.csv".to_owned(),
            with_headers("200 OK", &[("content-length", "10000000000")], b"id\n"),
        ),
        (
            "/short.csv".to_owned(),
            with_headers("200 OK", &[("content-length", "1000")], b"id\n1\n"),
        ),
        ("/nothing.csv".to_owned(), file(b"")),
        ("/latin.csv".to_owned(), file(b"id,name\n1,caf\xe9\n")),
        ("/words.csv".to_owned(), file(b"id,name\none,a\n")),
    ])
    .await;
    replace(&store, "artifact", "out/missing.csv")
        .await
        .expect_status(422);
    for (path, expected) in [
        ("/missing.csv", "status 404"),
        ("/forbidden.csv", "status 403"),
        ("/down.csv", "status 503"),
        ("/moved.csv", "redirect"),
        ("/huge.csv", "more than the 536870912 bytes"),
        ("/short.csv", "broke off"),
        ("/nothing.csv", "'t'"),
        ("/latin.csv", "UTF-8"),
        ("/words.csv", "row 1"),
    ] {
        let url = format!("{}{path}?X-Amz-Signature={SECRET}", server.origin);
        let refused = replace(&store, "url", &url)
            .await
            .expect_error(422, "unprocessable");
        assert!(
            refused.message().contains(expected),
            "{path}: {}",
            refused.message()
        );
        assert!(!refused.text().contains(SECRET), "{path}: {}", refused.text());
        let details = refused.body["details"].as_str().unwrap();
        let id = details.split_whitespace().find(|word| word.len() == 36).unwrap();
        let record = store.get(&format!("/import/{id}")).await.expect_status(200);
        assert_eq!(record.body["status"], "FAILED", "{path}");
        assert!(!record.text().contains(SECRET), "{path}: {}", record.text());
    }
    assert!(!store.service.log().contains(SECRET));
    assert_eq!(rows(&store).await, json!([]));
}

#[tokio::test]
async fn an_address_that_may_not_be_asked_is_a_400() {
    let store = with_table(Store::start().await).await;
    for uri in [
        "",
        "rows.csv",
        "ftp://example.com/rows.csv",
        "file:///etc/passwd.csv",
        "https://10.0.0.1/rows.csv",
        "https://169.254.169.254/latest/rows.csv",
        "https://0xa9fea9fe/rows.csv",
        "https://[fd00:ec2::254]/rows.csv",
        "https://user:word@example.com/rows.csv",
        "https://example.com:22/rows.csv",
    ] {
        let mut body = elsewhere("t", "url", uri);
        body["tables"]["t"]["format"] = "csv".into();
        let refused = store.post("/import", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(
            refused.message().starts_with("tables.t.uri: "),
            "{uri}: {}",
            refused.message()
        );
    }
    for body in [
        json!({ "tables": { "t": { "source": "url" } } }),
        json!({ "tables": { "t": { "source": "gcs" } } }),
        json!({ "tables": { "t": { "source": "S3", "uri": "s3://uploads/a.csv" } } }),
        json!({ "tables": { "t": { "source": "http", "uri": "http://example.com/a.csv" } } }),
    ] {
        store
            .post("/import", &body)
            .await
            .expect_error(400, "invalid_request");
    }
}

#[tokio::test]
async fn nothing_of_a_bucket_is_open_by_default() {
    let store = with_table(Store::start().await).await;
    for (source, uri) in [
        ("s3", "s3://millrace-data/artifacts/acme/demo/rows.csv"),
        ("gcs", "gs://exports/rows.csv"),
    ] {
        let refused = replace(&store, source, uri).await.expect_error(403, "forbidden");
        assert!(
            refused.message().contains("ask the operator"),
            "{uri}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn an_object_of_s3_is_imported_from_the_places_of_the_project_locally() {
    let places = "s3://uploads/{account}/{project}/,s3://shared/all/";
    let folder = tempfile::tempdir().unwrap();
    let s3 = Emulators::start(&binary("emulators"), folder.path());
    let keys = s3.keys();
    let mut variables: Vec<_> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    variables.extend([
        ("MILLRACE_IMPORT_BUCKETS", places),
        ("AWS_ENDPOINT_URL", &s3.endpoint),
    ]);
    let store = Store::start_local_with(&variables).await;
    let store = with_table(store).await;
    let (account, project) = (&store.scope.account, &store.scope.project);
    s3.put("uploads", &format!("{account}/{project}/in/rows.csv"), CSV);
    s3.put("uploads", &format!("{account}/other/rows.csv"), CSV);
    s3.put("shared", "all/rows.csv", CSV);
    s3.put("shared", "private/rows.csv", CSV);
    for uri in [
        format!("s3://uploads/{account}/{project}/in/rows.csv"),
        "s3://shared/all/rows.csv".to_owned(),
    ] {
        replace(&store, "s3", &uri).await.expect_status(200);
        assert_eq!(rows(&store).await, json!([[1, "a"], [2, "b"]]), "{uri}");
    }
    for (uri, status, expected) in [
        (
            format!("s3://uploads/{account}/other/rows.csv"),
            403,
            "only what is below",
        ),
        (
            "s3://shared/private/rows.csv".to_owned(),
            403,
            "only what is below",
        ),
        (
            "s3://shared/all/../private/rows.csv".to_owned(),
            400,
            "tables.t.uri",
        ),
        ("gs://shared/all/rows.csv".to_owned(), 400, "s3://<bucket>/"),
        ("s3://shared/all/missing.csv".to_owned(), 422, "no such object"),
        (
            format!("s3://uploads/{account}/{project}/missing.csv"),
            422,
            "no such object",
        ),
    ] {
        let refused = replace(&store, "s3", &uri).await.expect_status(status);
        refused.check_error();
        assert!(
            refused.message().contains(expected),
            "{uri}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn an_object_of_google_cloud_storage_is_imported_from_the_places_of_the_account_locally() {
    let server = FileServer::start([
        ("/exports/open/rows.csv".to_owned(), file(CSV)),
        ("/exports/open/secret.csv".to_owned(), status("403 Forbidden")),
        ("/exports/closed/rows.csv".to_owned(), file(CSV)),
    ])
    .await;
    let key = json!({
        "gcs_base_url": server.origin, "disable_oauth": true, "client_email": "", "private_key": SECRET, "private_key_id": ""
    });
    let store = Store::start_local_with(&[
        ("MILLRACE_IMPORT_BUCKETS", "gs://exports/open/"),
        ("MILLRACE_GCS_CREDENTIALS", &key.to_string()),
    ])
    .await;
    let store = with_table(store).await;
    replace(&store, "gcs", "gs://exports/open/rows.csv")
        .await
        .expect_status(200);
    assert_eq!(rows(&store).await, json!([[1, "a"], [2, "b"]]));
    for (uri, status, expected) in [
        ("gs://exports/open/missing.csv", 422, "no such object"),
        ("gs://exports/open/secret.csv", 422, "does not let this service"),
        (
            "gs://exports/closed/rows.csv",
            403,
            "only what is below gs://exports/open/",
        ),
    ] {
        let refused = replace(&store, "gcs", uri).await.expect_status(status);
        refused.check_error();
        assert!(
            refused.message().contains(expected),
            "{uri}: {}",
            refused.message()
        );
        assert!(!refused.text().contains(SECRET));
    }
    assert!(!store.service.log().contains(SECRET));
    assert!(!server.requests().iter().any(|path| path.contains("closed")));
}

#[tokio::test]
async fn files_of_several_sources_land_together_or_not_at_all() {
    let store = with_table(Store::start().await).await;
    store.table("u", &["id BIGINT"]).await;
    let server = FileServer::start([("/rows.csv".to_owned(), file(CSV))]).await;
    let body = |path: &str| {
        json!({ "tables": {
            "t": { "source": "url", "uri": format!("{}{path}", server.origin) },
            "u": { "source": "inline", "data": [{ "id": 1 }] }
        } })
    };
    store
        .post("/import", &body("/missing.csv"))
        .await
        .expect_status(422);
    let counts = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)";
    assert_eq!(store.rows(counts).await, json!([[0, 0]]));
    store.post("/import", &body("/rows.csv")).await.expect_status(200);
    assert_eq!(store.rows(counts).await, json!([[2, 1]]));
}
