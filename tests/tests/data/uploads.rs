//! Tests uploads: a link that writes a file, and imports of that file.

use serde_json::{Value, json};
use tests::stores::artifact;
use tests::{Answer, Method, Persona, Store};

const CSV: &[u8] = b"id,name\n1,Ada\n2,Grace\n";

async fn link(store: &Store, name: &str, bytes: usize) -> Value {
    let body = json!({ "name": name, "bytes": bytes });
    store.post("/uploads", &body).await.expect_status(200).body
}

/// Sends a file as the link says, without credentials.
async fn send(store: &Store, link: &Value, bytes: &[u8]) -> Answer {
    let url = link["url"].as_str().unwrap();
    let mut request = store.service.request(Method::PUT, url);
    for (name, value) in link["headers"].as_object().unwrap() {
        request = request.header(name, value.as_str().unwrap());
    }
    request.body(bytes).await
}

async fn import(store: &Store, link: &Value) -> Answer {
    let body = artifact("people", link["uri"].as_str().unwrap());
    store.post("/import", &body).await
}

async fn started() -> Store {
    let store = Store::start().await;
    store.table("people", &["id INTEGER", "name STRING"]).await;
    store
}

#[tokio::test]
async fn an_uploaded_file_is_imported() {
    let store = started().await;
    let link = link(&store, "people 1.csv", CSV.len()).await;
    assert_eq!(link["method"], "PUT");
    assert_eq!(
        link["headers"],
        json!({ "content-type": "application/octet-stream" })
    );
    assert_eq!(link["expires_in"], 900);
    let uri = link["uri"].as_str().unwrap();
    assert!(
        uri.starts_with("uploads/") && uri.ends_with("/people 1.csv"),
        "{uri}"
    );
    // Before the upload there is nothing.
    import(&store, &link).await.expect_error(422, "unprocessable");
    send(&store, &link, CSV).await.expect_status(200);
    let answer = import(&store, &link).await.expect_status(200);
    assert_eq!(answer.body["rows_imported"], json!({ "people": 2 }));
    let rows = store.rows("SELECT id, name FROM people ORDER BY id").await;
    assert_eq!(rows, json!([[1, "Ada"], [2, "Grace"]]));
}

#[tokio::test]
async fn a_second_upload_replaces_the_file() {
    let store = started().await;
    let link = link(&store, "people.csv", CSV.len()).await;
    send(&store, &link, CSV).await.expect_status(200);
    let other = String::from_utf8(CSV.to_vec()).unwrap().replace("Ada", "Eva");
    send(&store, &link, other.as_bytes()).await.expect_status(200);
    import(&store, &link).await.expect_status(200);
    let rows = store.rows("SELECT name FROM people ORDER BY id").await;
    assert_eq!(rows, json!([["Eva"], ["Grace"]]));
}

#[tokio::test]
async fn another_size_or_another_header_is_refused() {
    let store = started().await;
    let link = link(&store, "people.csv", CSV.len()).await;
    for bytes in [&[CSV, b"\n"].concat()[..], &CSV[1..], b""] {
        let refused = send(&store, &link, bytes).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
    }
    let mut changed = link.clone();
    changed["headers"]["content-type"] = "text/html".into();
    assert_eq!(send(&store, &changed, CSV).await.status, 403);
    let url = link["url"].as_str().unwrap();
    let answer = store.service.request(Method::GET, url).await;
    assert!((400..500).contains(&answer.status), "{}", answer.text());
    import(&store, &link).await.expect_error(422, "unprocessable");
}

#[tokio::test]
async fn a_changed_link_is_refused() {
    let store = started().await;
    let (one, other) = (
        link(&store, "one.csv", CSV.len()).await,
        link(&store, "other.csv", CSV.len()).await,
    );
    let id = |link: &Value| {
        link["uri"]
            .as_str()
            .unwrap()
            .split('/')
            .nth(1)
            .unwrap()
            .to_owned()
    };
    assert_ne!(id(&one), id(&other));
    let url = one["url"].as_str().unwrap();
    for changed in [
        url.replace(&id(&one), &id(&other)),
        url.replace("one.csv", "two.csv"),
        url.replace("/uploads/", "/"),
        url.replace(&store.scope.project, "another"),
        url.replace("artifacts", "stores"),
    ] {
        assert_ne!(changed, url);
        let mut link = one.clone();
        link["url"] = changed.clone().into();
        let refused = send(&store, &link, CSV).await;
        assert_eq!(refused.status, 403, "{changed}: {}", refused.text());
    }
}

#[tokio::test]
async fn invalid_bodies_are_refused() {
    let store = started().await;
    for (field, value, part) in [
        ("name", json!(""), "name"),
        ("name", json!("  "), "name"),
        ("name", json!(7), "$.name"),
        ("name", Value::Null, "name"),
        ("name", json!("x".repeat(201)), "name"),
        ("name", json!("\u{1f600}".repeat(200)), "600"),
        ("name", json!("a/b.csv"), "name"),
        ("name", json!("a\\b.csv"), "name"),
        ("name", json!(".."), "name"),
        ("name", json!("."), "name"),
        ("name", json!("a\u{0}.csv"), "name"),
        ("name", json!("a\r\nb.csv"), "name"),
        ("bytes", json!(0), "bytes"),
        ("bytes", json!(-1), "$.bytes"),
        ("bytes", json!(1.5), "$.bytes"),
        ("bytes", json!("9"), "$.bytes"),
        ("bytes", Value::Null, "bytes"),
    ] {
        let mut body = json!({ "name": "people.csv", "bytes": 9 });
        body[field] = value;
        let refused = store.post("/uploads", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{body}: {}", refused.message());
    }
    for bytes in [4_294_967_297_u64, 5_368_709_121] {
        let body = json!({ "name": "people.csv", "bytes": bytes });
        let refused = store.post("/uploads", &body).await;
        let refused = refused.expect_error(413, "payload_too_large");
        assert!(refused.message().contains("4294967296"), "{}", refused.message());
    }
    let most = json!({ "name": "é".repeat(200), "bytes": 4_294_967_296_u64 });
    store.post("/uploads", &most).await.expect_status(200);
}

#[tokio::test]
async fn a_reader_and_another_tenant_get_no_link() {
    let store = started().await;
    let body = json!({ "name": "people.csv", "bytes": CSV.len() });
    let path = store.path("/uploads");
    for (persona, status, code) in [
        (Persona::Reader, 403, "forbidden"),
        (Persona::Nobody, 403, "forbidden"),
        (Persona::OtherProject, 404, "not_found"),
        (Persona::OtherAccount, 404, "not_found"),
    ] {
        let token = store.scope.token(persona);
        store
            .service
            .post(&token, &path, &body)
            .await
            .expect_error(status, code);
    }
    store.delete("").await.expect_status(200);
    store.post("/uploads", &body).await.expect_error(404, "not_found");
}

#[tokio::test]
async fn a_tenant_cannot_import_what_another_uploaded() {
    let store = started().await;
    let link = link(&store, "people.csv", CSV.len()).await;
    send(&store, &link, CSV).await.expect_status(200);
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = store.scope.token(persona);
        let theirs = store
            .service
            .post(&token, "/data", &json!({ "name": "theirs" }))
            .await
            .id();
        let table = json!({ "name": "people", "columns": [{ "name": "id", "type": "INTEGER" }] });
        let tables = json!({ "tables": [table] });
        let path = format!("/data/{theirs}");
        store
            .service
            .post(&token, &format!("{path}/tables"), &tables)
            .await
            .expect_status(201);
        let uri = link["uri"].as_str().unwrap();
        let up = format!("../../{}/{}/{uri}", store.scope.account, store.scope.project);
        for (uri, status) in [(uri, 422), (&*up, 400)] {
            let body = artifact("people", uri);
            let refused = store.service.post(&token, &format!("{path}/import"), &body).await;
            assert_eq!(refused.status, status, "{}", refused.text());
        }
    }
}

#[tokio::test]
async fn the_operator_lists_and_removes_an_upload() {
    let store = Store::start().await;
    store.table("people", &["id INTEGER", "name STRING"]).await;
    let link = link(&store, "people.csv", CSV.len()).await;
    let uri = link["uri"].as_str().unwrap();
    let listed = || store.scope.ops_json(&["artifact", "list", "uploads/"]);
    assert_eq!(listed(), json!([]));
    send(&store, &link, CSV).await.expect_status(200);
    assert_eq!(listed()[0]["path"], uri);
    assert_eq!(listed()[0]["bytes"], CSV.len());
    store.scope.ops_json(&["artifact", "remove", uri]);
    assert_eq!(listed(), json!([]));
    import(&store, &link).await.expect_error(422, "unprocessable");
}
