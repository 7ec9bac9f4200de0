//! Tests imports: modes, keys, atomicity, status, and refused requests.

use serde_json::{Value, json};
use tests::stores::{artifact, inline};
use tests::{Answer, Method, Store, redacted, unique};

/// Returns the import's id in an error.
fn import_id(answer: &Answer) -> String {
    let details = answer.body["details"].as_str().unwrap_or_default();
    let shape = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
    let id = details.split_whitespace().find(shape);
    id.unwrap_or_else(|| panic!("no import in {}", answer.text()))
        .to_owned()
}

#[tokio::test]
async fn import_that_repeats_a_key_is_refused() {
    let store = Store::start().await;
    store
        .table(
            "t",
            &[
                "a BIGINT primary_key",
                "b STRING primary_key",
                "u DECIMAL(9,2) unique",
                "v INTEGER",
            ],
        )
        .await;
    let first = json!([
        { "a": 1, "b": "x", "u": "1.5" }, { "a": 1, "b": "X" }, { "a": 2, "b": "x" }
    ]);
    store.append("t", &first).await.expect_status(200);
    for (rows, parts) in [
        (
            json!([{ "a": 7, "b": "y" }, { "a": 7, "b": "y" }]),
            ["(a, b)", "'7', 'y'"],
        ),
        (
            json!([{ "a": 8, "b": "y" }, { "a": 2, "b": "x" }]),
            ["(a, b)", "'2', 'x'"],
        ),
        (json!([{ "a": 8, "b": "y", "u": 1.50 }]), ["(u)", "'1.50'"]),
        (
            json!([{ "a": 8, "b": "y", "u": 3 }, { "a": 9, "b": "y", "u": 3 }]),
            ["(u)", "'3.00'"],
        ),
        (json!([{ "a": null, "b": "y" }]), ["'t'", "'a'"]),
        (json!([{ "a": 8 }]), ["'t'", "'b'"]),
    ] {
        let refused = store.append("t", &rows).await.expect_error(409, "conflict");
        for part in parts {
            assert!(refused.message().contains(part), "{rows}: {}", refused.message());
        }
    }
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[3]]));
    // Rows without a value do not collide, nor do replaced rows.
    let more = json!([{ "a": 3, "b": "x" }, { "a": 4, "b": "x", "u": null }]);
    store.append("t", &more).await.expect_status(200);
    let mut replace = inline("t", &first);
    replace["mode"] = "replace".into();
    store.post("/import", &replace).await.expect_status(200);
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[3]]));
}

/// Replacing rows removes the existing ones; the new rows must still have unique keys.
#[tokio::test]
async fn replacing_import_that_repeats_a_key_is_refused() {
    let store = Store::start().await;
    let columns = ["a BIGINT primary_key", "u STRING unique"];
    store.table("t", &columns).await;
    let replaced = async |rows: Value| {
        let mut replace = inline("t", &rows);
        replace["mode"] = "replace".into();
        store.post("/import", &replace).await
    };
    let before = json!([{ "a": 1, "u": "x" }]);
    replaced(before.clone()).await.expect_status(200);
    for (rows, parts) in [
        (json!([{ "a": 7 }, { "a": 7 }]), ["(a)", "'7'"]),
        (
            json!([{ "a": 7, "u": "y" }, { "a": 8, "u": "y" }]),
            ["(u)", "'y'"],
        ),
    ] {
        let refused = replaced(rows.clone()).await.expect_error(409, "conflict");
        for part in parts {
            assert!(refused.message().contains(part), "{rows}: {}", refused.message());
        }
        assert_eq!(store.rows("SELECT a, u FROM t").await, json!([[1, "x"]]));
    }
    // The new rows cannot collide with the replaced ones.
    replaced(before).await.expect_status(200);
}

#[tokio::test]
async fn append_adds_and_replace_clears_what_it_names() {
    let store = Store::start().await;
    store.table("a", &["n INTEGER"]).await;
    store.table("b", &["n INTEGER"]).await;
    let both = |mode: &str, a: Value, b: Value| {
        json!({ "mode": mode, "tables": {
            "a": { "source": "inline", "data": a }, "B": { "source": "inline", "data": b }
        } })
    };
    let rows = |n: i32| json!([{ "n": n }]);
    let first = store.post("/import", &both("append", rows(1), rows(1))).await;
    let first = first.expect_status(200);
    assert_eq!(first.body["status"], "COMPLETED");
    assert_eq!(first.body["rows_imported"], json!({ "a": 1, "b": 1 }));
    store.append("a", &rows(2)).await.expect_status(200);
    let mut replace = inline("a", &rows(3));
    replace["mode"] = "replace".into();
    store.post("/import", &replace).await.expect_status(200);
    assert_eq!(store.rows("SELECT n FROM a").await, json!([[3]]));
    assert_eq!(store.rows("SELECT n FROM b").await, json!([[1]]));
    let empty = store
        .post("/import", &both("replace", json!([]), json!([])))
        .await;
    let empty = empty.expect_status(200);
    assert_eq!(empty.body["rows_imported"], json!({ "a": 0, "b": 0 }));
    assert_eq!(
        store.rows("SELECT n FROM a UNION ALL SELECT n FROM b").await,
        json!([])
    );
    assert_eq!(store.detail().await["storage_bytes"], 0);

    // One bad table fails the import of the other table as well, in any mode.
    store.append("a", &rows(4)).await.expect_status(200);
    let before = store.detail().await;
    for mode in ["append", "replace"] {
        for (bad, status) in [
            (both(mode, rows(5), json!([{ "n": "x" }])), 422),
            (both(mode, json!([{ "n": "x" }]), rows(5)), 422),
            (
                json!({ "mode": mode, "tables": { "a": { "source": "inline", "data": rows(5) },
                    "zzz": { "source": "inline", "data": rows(5) } } }),
                404,
            ),
            (
                json!({ "mode": mode, "tables": { "a": { "source": "inline", "data": rows(5) },
                    "A": { "source": "inline", "data": rows(5) } } }),
                400,
            ),
        ] {
            store
                .post("/import", &bad)
                .await
                .expect_status(status)
                .check_error();
            assert_eq!(store.rows("SELECT n FROM a").await, json!([[4]]));
        }
    }
    assert_eq!(store.detail().await, before);
}

#[tokio::test]
async fn the_status_of_an_import_is_kept() {
    let store = Store::start().await;
    store.table("t", &["n INTEGER"]).await;
    let mut body = inline("T", &json!([{ "n": 1 }, { "n": 2 }]));
    body["message"] = "the first rows".into();
    let import = store.post("/import", &body).await.expect_status(200);
    let status = store
        .get(&format!("/import/{}", import.id()))
        .await
        .expect_status(200);
    assert_eq!(status.body["version_id"], import.body["version_id"]);
    assert_eq!(status.body["store_id"], store.id.as_str());
    insta::assert_json_snapshot!(redacted(&status.body), @r#"
    {
      "completed_at": "<time>",
      "id": "<id>",
      "message": "the first rows",
      "mode": "append",
      "rows_imported": {
        "t": 2
      },
      "started_at": "<time>",
      "status": "COMPLETED",
      "store_id": "<id>",
      "tables": [
        "t"
      ],
      "version_id": "<id>"
    }
    "#);
    let failed = store.append("t", &json!([{ "n": "x" }])).await;
    let failed = failed.expect_error(422, "unprocessable");
    let id = import_id(&failed);
    let status = store.get(&format!("/import/{id}")).await.expect_status(200);
    assert_eq!(status.body["error"], failed.message());
    assert_eq!(status.body["status"], "FAILED");
    assert_eq!(status.body.get("version_id"), None);

    let other = json!({ "name": unique("other") });
    let other = store
        .service
        .post(&store.token, "/data", &other)
        .await
        .expect_status(201);
    for path in [
        format!("/data/{}/import/{}", other.id(), import.id()),
        format!("/data/{}/import/{id}", other.id()),
        store.path(&format!("/import/{}", store.id)),
        store.path("/import/none"),
    ] {
        let missing = store.service.get(&store.token, &path).await;
        missing.expect_error(404, "not_found");
    }
}

#[tokio::test]
async fn a_request_that_is_wrong_is_refused_with_its_path() {
    let store = Store::start().await;
    store.table("t", &["n INTEGER"]).await;
    let before = store.detail().await;
    let table = |source: Value| json!({ "tables": { "t": source } });
    let file = |uri: &str| artifact("t", uri);
    let mut wrong = Vec::new();
    for (body, part) in [
        (json!({}), "tables"),
        (json!({ "tables": {} }), "tables"),
        (json!({ "tables": [] }), "tables"),
        (table(json!({})), "source"),
        (table(json!({ "source": "ftp" })), "source"),
        (table(json!({ "source": "inline" })), "tables.t.data"),
        (
            table(json!({ "source": "inline", "data": null })),
            "tables.t.data",
        ),
        (
            table(json!({ "source": "inline", "data": { "n": 1 } })),
            "tables.t.data",
        ),
        (
            table(json!({ "source": "inline", "data": "n\n1" })),
            "tables.t.data",
        ),
        (table(json!({ "source": "artifact" })), "tables.t.uri"),
        (table(json!({ "source": "artifact", "uri": 7 })), "tables.t.uri"),
        (
            table(json!({ "source": "artifact", "uri": "out/a.csv", "format": "xml" })),
            "format",
        ),
        (file("out/rows"), "format"),
        (file("out/rows.txt"), "format"),
        (file(""), "format"),
        (file("../other/rows.csv"), "../other/rows.csv"),
        (file("out/../../rows.csv"), "out/../../rows.csv"),
        (file("/etc/rows.csv"), "/etc/rows.csv"),
        (file("out//rows.csv"), "out//rows.csv"),
        (file("./rows.csv"), "./rows.csv"),
        (
            json!({ "tables": { "t": { "source": "inline", "data": [] } }, "mode": "upsert" }),
            "mode",
        ),
        (
            json!({ "tables": { "t": { "source": "inline", "data": [] } }, "mode": "REPLACE" }),
            "mode",
        ),
        (
            json!({ "tables": { "t": { "source": "inline", "data": [] } }, "message": 7 }),
            "message",
        ),
    ] {
        let refused = store.post("/import", &body).await;
        refused.check_error();
        if refused.status != 400 || !refused.message().contains(part) {
            wrong.push(format!("{body}: {}", refused.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = store.post("/import", &file("out/none.csv")).await;
    let missing = missing.expect_error(422, "unprocessable");
    assert!(
        missing.message().contains("out/none.csv"),
        "{}",
        missing.message()
    );
    assert_eq!(store.detail().await, before);
}

#[tokio::test]
async fn import_of_5_mb_is_accepted_and_one_of_7_mb_refused() {
    let store = Store::start().await;
    store.table("t", &["n INTEGER", "s STRING"]).await;
    let rows = |megabytes: usize| -> Value {
        let text = "x".repeat(9_980);
        (0..megabytes * 100)
            .map(|n| json!({ "n": n, "s": text }))
            .collect()
    };
    let answer = store.append("t", &rows(5)).await.expect_status(200);
    assert_eq!(answer.body["rows_imported"]["t"], 500);
    let sum = store.rows("SELECT count(*), sum(n), sum(length(s)) FROM t").await;
    assert_eq!(sum, json!([[500, 124_750, 4_990_000]]));
    let refused = store.append("t", &rows(7)).await;
    refused.expect_error(413, "payload_too_large");
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[500]]));
    let path = store.path("/import");
    let text = store.service.request(Method::POST, &path).token(&store.token);
    let text = text.header("content-type", "text/csv").body("n\n1").await;
    text.expect_error(415, "unsupported_media_type");
}

/// Segments whose least and greatest values exclude a key are not read; segments that may contain it are, for
/// every type.
#[tokio::test]
async fn a_key_is_found_in_whichever_segment_it_is() {
    let store = Store::start().await;
    for (index, (kind, values)) in [
        (
            "BIGINT",
            json!([-20, -3, 0, 7, 10, 99, 100, 1_000, 9_007_199_254_740_991_i64]),
        ),
        (
            "DECIMAL(20,3)",
            json!(["-10.5", "-9.999", "0", "0.001", "1.5", "10", "99999.9"]),
        ),
        (
            "STRING",
            json!([
                "", "A", "Z", "a", "a b", "aa", "z", "é", "日本", "10", "9", "x'y", "\\"
            ]),
        ),
        (
            "DATE",
            json!(["0001-01-01", "1999-12-31", "2024-02-29", "9999-12-31"]),
        ),
        (
            "TIMESTAMP",
            json!([
                "1969-12-31T23:59:59.999999Z",
                "2024-01-01T00:00:00Z",
                "2024-01-01T00:00:00.5Z",
                "2024-01-01T10:00:00Z"
            ]),
        ),
        ("DOUBLE", json!([-1.5, 0, 1e300])),
        ("BOOLEAN", json!([false, true])),
    ]
    .into_iter()
    .enumerate()
    {
        let table = format!("t{index}");
        store.table(&table, &[&format!("k {kind} primary_key")]).await;
        let values = values.as_array().unwrap();
        // Each value in a segment of its own, then all values in one import.
        for value in values {
            store
                .append(&table, &json!([{ "k": value }]))
                .await
                .expect_status(200);
        }
        for value in values {
            let again = store.append(&table, &json!([{ "k": value }])).await;
            let again = again.expect_error(409, "conflict");
            assert!(again.message().contains("already in the table"), "{kind} {value}");
        }
        let all: Value = values.iter().map(|value| json!({ "k": value })).collect();
        store.append(&table, &all).await.expect_error(409, "conflict");
        let count = store.rows(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, json!([[values.len()]]), "{kind}");
    }
    // A type that was widened after the file was written, and a column that was added after it.
    store.table("w", &["k INTEGER primary_key", "v INTEGER"]).await;
    store.append("w", &json!([{ "k": 9 }])).await.expect_status(200);
    let wider = json!({ "modify_columns": [{ "name": "k", "type": "DECIMAL(20,2)" }] });
    store.alter("w", &wider).await.expect_status(200);
    store
        .append("w", &json!([{ "k": "9.00" }]))
        .await
        .expect_error(409, "conflict");
    store
        .append("w", &json!([{ "k": "9.01" }]))
        .await
        .expect_status(200);
    let added = json!({ "add_columns": [{ "name": "u", "type": "INTEGER", "default": "5" }] });
    store.alter("w", &added).await.expect_status(200);
    store
        .append("w", &json!([{ "k": 100, "u": 6 }]))
        .await
        .expect_status(200);
}
