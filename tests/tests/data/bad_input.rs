//! Tests input that tries to exhaust the service: endless files, bombs, JSON a thousand levels deep,
//! thousands of columns. Each is refused with a sentence, leaves nothing behind, and the service continues.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tests::file_server::{file, with_headers};
use tests::stores::{artifact, columns, elsewhere};
use tests::{Answer, FileServer, Method, Store};

/// Creates a store with a table of one row, and rows of many types.
async fn started() -> Store {
    let store = Store::start().await;
    store.table("t", &["id BIGINT", "name STRING", "j JSON"]).await;
    store
        .append("t", &json!([{ "id": 7, "name": "kept", "j": [1] }]))
        .await
        .expect_status(200);
    store
}

/// Asserts that an answer is a refusal with a short sentence.
#[track_caller]
fn check_refused(answer: &Answer, statuses: &[u16], parts: &[&str]) {
    let text: String = answer.text().chars().take(2_000).collect();
    assert!(
        statuses.contains(&answer.status),
        "{}: {} {text}",
        answer.request,
        answer.status
    );
    answer.check_error();
    assert!(answer.message().len() < 1_000, "{text}");
    for part in parts {
        assert!(answer.message().contains(part), "no {part:?} in {text}");
    }
}

/// Asserts that the store did not change.
async fn check_unchanged(store: &Store) {
    let rows = store.rows("SELECT id, name, j FROM t").await;
    assert_eq!(rows, json!([[7, "kept", [1]]]));
    assert_eq!(store.detail().await["table_count"], 1);
}

async fn raw(store: &Store, method: Method, path: &str, body: String) -> Answer {
    let request = store
        .service
        .request(method, &store.path(path))
        .token(&store.token);
    request
        .header("content-type", "application/json")
        .body(body)
        .await
}

/// Returns the bytes of a gzip file that repeats the same member after its start.
fn bomb(start: &[u8], filling: &[u8], times: usize) -> Vec<u8> {
    let member = |bytes: &[u8]| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let filling = filling.repeat(64 * 1_024 * 1_024 / filling.len());
    [member(start), member(&filling).repeat(times)].concat()
}

#[tokio::test]
async fn a_file_without_an_end_is_cut_at_the_limit() {
    let store = started().await;
    let csv = "1,a,1\n".repeat(11_000);
    let csv = format!("id,name,j\n{csv}");
    let server = FileServer::start([
        (
            "/endless/rows.csv".to_owned(),
            with_headers("200 OK", &[], csv.as_bytes()),
        ),
        (
            "/endless/long.csv".to_owned(),
            with_headers("200 OK", &[("content-length", "10737418240")], csv.as_bytes()),
        ),
    ])
    .await;
    for path in ["/endless/rows.csv", "/endless/long.csv"] {
        let url = format!("{}{path}", server.origin);
        let refusal = store.import_refusal(&elsewhere("t", "url", &url)).await;
        for part in ["tables.t.uri", "more than the 536870912 bytes"] {
            assert!(refusal.contains(part), "no {part:?} in {refusal}");
        }
    }
    check_unchanged(&store).await;
}

#[tokio::test]
async fn a_small_file_that_holds_ten_gigabytes_is_refused() {
    let store = started().await;
    for (name, start, filling, part) in [
        (
            "rows.csv",
            &b"id,name,j\n"[..],
            &b"1,a,1\n"[..],
            "300 times its size",
        ),
        ("zeros.ndjson", b"", b"\0", "not JSON"),
        ("blank.json", b"[", b" ", "longer than 16 MB"),
        ("name.json", b"[{\"name\":\"", b"x", "longer than 16 MB"),
        ("rows.parquet", b"PAR1", b"\0", "not Parquet"),
    ] {
        let bomb = bomb(start, filling, 160);
        assert!(bomb.len() < 50_000_000, "{name}: {}", bomb.len());
        let server = FileServer::start([(format!("/{name}"), file(&bomb))]).await;
        let url = format!("{}/{name}", server.origin);
        let reason = store.import_refusal(&elsewhere("t", "url", &url)).await;
        for part in ["'t'", part] {
            assert!(reason.contains(part), "{name}: no {part:?} in {reason}");
        }
    }
    check_unchanged(&store).await;
}

#[tokio::test]
async fn json_a_thousand_levels_deep_is_refused_wherever_it_stands() {
    let store = started().await;
    let shapes = [("[", "]"), (r#"{"a":"#, "}")];
    for (depth, (open, close)) in [1_000, 100_000]
        .into_iter()
        .flat_map(|depth| shapes.map(|shape| (depth, shape)))
    {
        let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let import = |rows: &str| format!(r#"{{"tables":{{"t":{{"source":"inline","data":{rows}}}}}}}"#);
        for (method, path, body) in [
            (Method::POST, "/tables", deep.clone()),
            (Method::POST, "/tables", format!(r#"{{"tables":{deep}}}"#)),
            (
                Method::POST,
                "/tables",
                format!(
                    r#"{{"tables":[{{"name":"u","columns":[{{"name":"a","type":"JSON","default":{deep}}}]}}]}}"#
                ),
            ),
            (
                Method::POST,
                "/tables",
                format!(r#"{{"tables":[{{"name":"u","columns":[{{"name":"a","type":{deep}}}]}}]}}"#),
            ),
            (Method::PUT, "/tables/t", format!(r#"{{"add_columns":{deep}}}"#)),
            (Method::PUT, "/schema", format!(r#"{{"tables":{deep}}}"#)),
            (Method::POST, "/import", deep.clone()),
            (Method::POST, "/import", import(&deep)),
            (Method::POST, "/import", import(&format!("[{deep}]"))),
            (Method::POST, "/import", import(&format!(r#"[{{"j":{deep}}}]"#))),
            (
                Method::POST,
                "/import",
                import(&format!(r#"[{{"name":{deep}}}]"#)),
            ),
            (Method::POST, "/import", import(&format!(r#"[{{"id":{deep}}}]"#))),
            (
                Method::POST,
                "/import",
                import(&format!(r#"[{{"id":1,"more":{deep}}}]"#)),
            ),
            (
                Method::POST,
                "/query",
                format!(r#"{{"sql":"SELECT {{{{a}}}}","params":{{"a":{deep}}}}}"#),
            ),
            (Method::POST, "/query", format!(r#"{{"sql":{deep}}}"#)),
            (
                Method::POST,
                "/query/validate",
                format!(r#"{{"queries":{deep}}}"#),
            ),
            (Method::POST, "/versions", format!(r#"{{"name":{deep}}}"#)),
        ] {
            let refused = raw(&store, method, path, body).await;
            check_refused(&refused, &[400, 413, 422], &[]);
        }
        for (name, text) in [
            ("a.json", deep.clone()),
            ("a.ndjson", deep.clone()),
            ("j.json", format!(r#"[{{"j":{deep}}}]"#)),
            ("j.ndjson", format!("{{\"j\":1}}\n{{\"j\":{deep}}}\n")),
            ("name.json", format!(r#"[{{"name":{deep}}}]"#)),
            ("id.ndjson", format!(r#"{{"id":{deep}}}"#)),
            ("more.ndjson", format!(r#"{{"id":1,"more":{deep}}}"#)),
        ] {
            let path = format!("out/{name}");
            store.put_artifact(&path, text.as_bytes());
            let refused = store.post("/import", &artifact("t", &path)).await;
            check_refused(&refused, &[422], &["'t'", "row "]);
        }
        check_unchanged(&store).await;
    }
}

#[tokio::test]
async fn five_thousand_columns_are_refused_wherever_they_stand() {
    let store = started().await;
    let names: Vec<_> = (0..5_000).map(|n| format!("c{n}")).collect();
    let definitions: Vec<_> = names.iter().map(|name| format!("{name} INTEGER")).collect();
    let definitions: Vec<_> = definitions.iter().map(String::as_str).collect();
    let definitions = columns(&definitions);
    let row: Value = names
        .iter()
        .map(|name| (name.clone(), json!(1)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for (method, path, body) in [
        (
            Method::POST,
            "/tables",
            json!({ "tables": [{ "name": "u", "columns": definitions }] }),
        ),
        (Method::PUT, "/tables/t", json!({ "add_columns": definitions })),
        (
            Method::PUT,
            "/schema",
            json!({ "tables": [{ "name": "u", "columns": definitions }] }),
        ),
    ] {
        let refused = raw(&store, method, path, body.to_string()).await;
        check_refused(&refused, &[400], &["columns"]);
    }
    let refused = store.append("t", &json!([row])).await;
    check_refused(&refused, &[422], &["'t'", "'c0'"]);
    let csv = format!("{}\n{}\n", names.join(","), vec!["1"; 5_000].join(","));
    for (name, text) in [
        ("wide.csv", csv),
        ("wide.json", json!([row]).to_string()),
        ("wide.ndjson", row.to_string()),
    ] {
        let path = format!("out/{name}");
        store.put_artifact(&path, text.as_bytes());
        let refused = store.post("/import", &artifact("t", &path)).await;
        check_refused(&refused, &[422], &["'t'", "'c0'"]);
    }
    check_unchanged(&store).await;
}
