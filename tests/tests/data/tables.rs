//! Tests tables of a data store: create, list, detail with a sample, and the versions that changes make.

use serde_json::{Value, json};
use tests::stores::columns;
use tests::{Store, redacted};

#[tokio::test]
async fn tables_are_created_together_with_every_type_and_default() {
    let store = Store::start().await;
    let body = json!({
        "message": "the first tables",
        "tables": [
            { "name": "Customers", "description": "Who buys.", "columns": [
                { "name": "id", "type": "string", "primary_key": true, "default": "uuid()", "semantic_type": "identifier" },
                { "name": "Email", "type": "STRING", "description": "Where to write.", "nullable": false, "unique": true,
                  "semantic_type": "email" }
            ] },
            { "name": "kinds", "columns": [
                { "name": "s", "type": "STRING", "default": "'it''s'" },
                { "name": "i", "type": "INTEGER", "default": "-7" },
                { "name": "b", "type": "BIGINT", "default": "9223372036854775807" },
                { "name": "f", "type": "FLOAT", "default": "0.5" },
                { "name": "d", "type": "DOUBLE", "default": "1e3" },
                { "name": "n", "type": "DECIMAL", "default": "12.5" },
                { "name": "n2", "type": "DECIMAL(38, 0)", "default": "NULL" },
                { "name": "t", "type": "BOOLEAN", "default": "true" },
                { "name": "day", "type": "DATE", "default": "current_date" },
                { "name": "at", "type": "TIMESTAMP", "default": "current_timestamp" },
                { "name": "j", "type": "JSON", "default": "'{\"a\": [1]}'" }
            ] }
        ]
    });
    let created = store.post("/tables", &body).await.expect_status(201);
    insta::assert_json_snapshot!(redacted(&created.body[0]), @r#"
    {
      "column_count": 2,
      "columns": [
        {
          "default": "uuid()",
          "name": "id",
          "nullable": false,
          "primary_key": true,
          "semantic_type": "identifier",
          "type": "STRING"
        },
        {
          "description": "Where to write.",
          "name": "Email",
          "nullable": false,
          "semantic_type": "email",
          "type": "STRING",
          "unique": true
        }
      ],
      "description": "Who buys.",
      "name": "Customers",
      "row_count": 0
    }
    "#);
    let types: Vec<_> = created.body[1]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types.join(" "),
        "STRING INTEGER BIGINT FLOAT DOUBLE DECIMAL(18,4) DECIMAL(38,0) BOOLEAN DATE TIMESTAMP JSON"
    );
    let location = created.header("location");
    assert!(location.ends_with(&store.path("/tables")), "{location}");

    let imported = store.append("kinds", &json!([{}])).await.expect_status(200);
    assert_eq!(imported.body["rows_imported"], json!({ "kinds": 1 }));
    let row = store.rows("SELECT s, i, b, f, d, n, n2, t, j FROM kinds").await;
    let expected = json!([[
        "it's", -7, "9223372036854775807", 0.5, 1000.0, "12.5000", null, true, { "a": [1] }
    ]]);
    assert_eq!(row, expected);
    let now = store
        .rows("SELECT day = \"at\"::DATE, \"at\" BETWEEN now() - INTERVAL 1 HOUR AND now() FROM kinds")
        .await;
    assert_eq!(now, json!([[true, true]]));
}

#[tokio::test]
async fn creation_with_one_bad_table_creates_none() {
    let store = Store::start().await;
    let good = json!({ "name": "good", "columns": columns(&["a STRING"]) });
    store.table("taken", &["a STRING"]).await;
    let before = store.detail().await;
    for (bad, status, part) in [
        (
            json!({ "name": "taken", "columns": columns(&["a STRING"]) }),
            409,
            "taken",
        ),
        (
            json!({ "name": "TAKEN", "columns": columns(&["a STRING"]) }),
            409,
            "taken",
        ),
        (json!({ "name": "bad", "columns": [] }), 400, "tables[1].columns"),
        (
            json!({ "name": "b d", "columns": columns(&["a STRING"]) }),
            400,
            "tables[1].name",
        ),
        (
            json!({ "name": "bad", "columns": columns(&["a TEXT"]) }),
            400,
            "tables[1].columns[0].type",
        ),
    ] {
        let refused = store.post("/tables", &json!({ "tables": [good, bad] })).await;
        let refused = refused.expect_status(status);
        refused.check_error();
        assert!(refused.message().contains(part), "{bad}: {}", refused.message());
    }
    assert_eq!(store.detail().await, before);
    let twice = json!({ "tables": [good, { "name": "GOOD", "columns": columns(&["a STRING"]) }] });
    let refused = store.post("/tables", &twice).await;
    refused.check_error();
    assert!([400, 409].contains(&refused.status), "{}", refused.text());
    assert!(
        refused.message().to_lowercase().contains("good"),
        "{}",
        refused.text()
    );
    assert_eq!(store.detail().await, before);
}

#[tokio::test]
async fn a_definition_that_is_wrong_is_refused_with_its_path() {
    let store = Store::start().await;
    let with = |column: Value| json!({ "tables": [{ "name": "t", "columns": [column] }] });
    let with_name = |name: &str| with(json!({ "name": name, "type": "STRING" }));
    let typed = |column_type: &str| with(json!({ "name": "a", "type": column_type }));
    let default = |column_type: &str, default: Value| {
        with(json!({ "name": "a", "type": column_type, "default": default }))
    };
    let many = |count: usize| -> Value {
        let columns: Vec<_> = (0..count)
            .map(|index| json!({ "name": format!("c{index}"), "type": "STRING" }))
            .collect();
        json!({ "tables": [{ "name": "t", "columns": columns }] })
    };
    let name = "tables[0].columns[0].name";
    let kind = "tables[0].columns[0].type";
    let value = "tables[0].columns[0].default";
    for (body, path) in [
        (json!({}), "tables"),
        (json!({ "tables": [] }), "tables"),
        (json!({ "tables": {} }), "tables"),
        (
            json!({ "tables": [{ "columns": columns(&["a STRING"]) }] }),
            "name",
        ),
        (json!({ "tables": [{ "name": "t" }] }), "columns"),
        (with_name(""), name),
        (with_name("1a"), name),
        (with_name("a b"), name),
        (with_name("a-b"), name),
        (with_name("é"), name),
        (with_name("a\u{0}"), name),
        (with_name("a\"; DROP TABLE t; --"), name),
        (with_name(&"a".repeat(64)), name),
        (typed("VARCHAR"), kind),
        (typed(""), kind),
        (typed("DECIMAL(39,0)"), kind),
        (typed("DECIMAL(4,5)"), kind),
        (typed("DECIMAL(4)"), kind),
        (typed("STRING[]"), kind),
        (with(json!({ "name": "a" })), "type"),
        (
            with(json!({ "name": "a", "type": "STRING", "nulable": false })),
            "nulable",
        ),
        (
            with(json!({ "name": "a", "type": "STRING", "primaryKey": true })),
            "primaryKey",
        ),
        (
            with(json!({ "name": "a", "type": "STRING", "semantic_type": "mail" })),
            "semantic_type",
        ),
        (
            with(json!({ "name": "a", "type": "STRING", "nullable": "no" })),
            "nullable",
        ),
        (default("INTEGER", json!("1 + 1")), value),
        (default("INTEGER", json!("'x'")), value),
        (default("STRING", json!("(SELECT 'x')")), value),
        (default("STRING", json!("getenv('HOME')")), value),
        (default("DATE", json!("'2024-02-30'")), value),
        (default("STRING", json!(7)), value),
        (many(5_000), "tables[0].columns"),
        (
            json!({ "tables": [{ "name": "t", "columns": columns(&["a STRING", "A STRING"]) }] }),
            "tables[0].columns[1].name",
        ),
    ] {
        let refused = store.post("/tables", &body).await;
        let refused = refused.expect_error(400, "invalid_request");
        let body = body.to_string();
        let start = body.get(..100).unwrap_or(&body);
        assert!(refused.message().contains(path), "{start}: {}", refused.message());
        assert!(refused.message().len() < 1_000, "{start}");
    }
    assert_eq!(store.detail().await["table_count"], 0);
    // The widest accepted table also works.
    store.post("/tables", &many(2_000)).await.expect_status(201);
    store
        .append("t", &json!([{ "c1999": "last" }]))
        .await
        .expect_status(200);
    assert_eq!(
        store.rows("SELECT c0, c1999 FROM t").await,
        json!([[null, "last"]])
    );
}

/// Each change and each answer about the store reads the whole text of a version.
#[tokio::test]
async fn the_text_of_a_store_is_bounded() {
    let store = Store::start().await;
    let table = |name: &str, columns: Value| json!({ "tables": [{ "name": name, "columns": columns }] });
    let text = |length: usize| format!("'{}'", "x".repeat(length));
    let long = table(
        "a",
        json!([{ "name": "c", "type": "STRING", "default": text(10_000) }]),
    );
    let refused = store
        .post("/tables", &long)
        .await
        .expect_error(400, "invalid_request");
    assert!(refused.message().contains(".default"), "{}", refused.message());
    store.table("changed", &["c STRING"]).await;
    let change = json!({ "modify_columns": [{ "name": "c", "default": text(2_000) }] });
    let refused = store
        .put("/tables/changed", &change)
        .await
        .expect_error(400, "invalid_request");
    assert!(refused.message().contains(".default"), "{}", refused.message());
    let many = |count: usize| -> Value {
        let columns = (0..count)
            .map(|number| json!({ "name": format!("c{number}"), "type": "STRING", "default": text(1_900) }));
        columns.collect()
    };
    store
        .post("/tables", &table("b", many(1_000)))
        .await
        .expect_status(201);
    let refused = store.post("/tables", &table("c", many(200))).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("2097152 bytes"),
        "{}",
        refused.message()
    );
    store
        .post("/tables", &table("c", many(50)))
        .await
        .expect_status(201);
}

#[tokio::test]
async fn tables_are_listed_as_made_and_found_in_any_case() {
    let store = Store::start().await;
    assert_eq!(store.get("/tables").await.expect_status(200).body, json!([]));
    store.table("Zebra", &["b STRING", "a BIGINT"]).await;
    store.table("apple", &["x DOUBLE"]).await;
    let rows: Vec<_> = (0..12)
        .map(|n| json!({ "a": n, "b": format!("row {n}") }))
        .collect();
    store.append("zebra", &json!(rows)).await.expect_status(200);
    let list = store.get("/tables").await.expect_status(200);
    let expected = json!([
        { "name": "Zebra", "column_count": 2, "row_count": 12 },
        { "name": "apple", "column_count": 1, "row_count": 0 }
    ]);
    assert_eq!(list.body, expected);

    let plain = store.get("/tables/Zebra").await.expect_status(200);
    insta::assert_json_snapshot!(redacted(&plain.body), @r#"
    {
      "column_count": 2,
      "columns": [
        {
          "name": "b",
          "nullable": true,
          "type": "STRING"
        },
        {
          "name": "a",
          "nullable": true,
          "type": "BIGINT"
        }
      ],
      "name": "Zebra",
      "row_count": 12
    }
    "#);
    for path in ["/tables/zebra", "/tables/ZEBRA", "/tables/zebra?sample=false"] {
        assert_eq!(
            store.get(path).await.expect_status(200).body,
            plain.body,
            "{path}"
        );
    }
    let sample = store.get("/tables/zebra?sample=true").await.expect_status(200);
    assert_eq!(sample.body["sample_rows"].as_array().unwrap().len(), 10);
    // Compare the text, because a parsed object loses the order of the columns.
    assert!(
        sample.text().contains(r#"{"b":"row 0","a":0}"#),
        "{}",
        sample.text()
    );
    let empty = store.get("/tables/apple?sample=true").await.expect_status(200);
    assert_eq!(empty.body["sample_rows"], json!([]));
    store
        .get("/tables/zebra?sample=perhaps")
        .await
        .expect_error(400, "invalid_request");
    let long = "x".repeat(500);
    for unknown in ["zebr", "zebra%20", "%22zebra%22", "a.b", "%00", "..%2Ft", &long] {
        let missing = store.get(&format!("/tables/{unknown}")).await;
        assert!(
            [400, 404].contains(&missing.status),
            "{unknown}: {}",
            missing.text()
        );
        missing.check_error();
    }
    store.get("/tables/zebr").await.expect_error(404, "not_found");
}

#[tokio::test]
async fn reserved_words_are_names_like_any_other() {
    let store = Store::start().await;
    for name in ["select", "table", "order", "_", "duckdb_tables", "sqlite_master"] {
        store.table(name, &["select BIGINT", "from STRING"]).await;
        let rows = json!([{ "select": 1, "from": name }]);
        store.append(name, &rows).await.expect_status(200);
        let sql = format!("SELECT \"from\", \"select\" FROM \"{name}\"");
        assert_eq!(store.rows(&sql).await, json!([[name, 1]]), "{name}");
        let sample = store.get(&format!("/tables/{name}?sample=true")).await;
        let sample = sample.expect_status(200);
        assert_eq!(sample.body["sample_rows"], rows, "{name}");
    }
}

#[tokio::test]
async fn every_change_makes_a_version() {
    let store = Store::start().await;
    let mut last = store.detail().await;
    assert_eq!(last["version_count"], 1);
    for (change, body, schema_change) in [
        (
            "/tables",
            json!({ "tables": [{ "name": "a", "columns": columns(&["x BIGINT"]) }] }),
            1,
        ),
        (
            "/tables",
            json!({ "tables": [{ "name": "b", "columns": columns(&["x BIGINT"]) }] }),
            1,
        ),
        ("/import", tests::stores::inline("a", &json!([{ "x": 1 }])), 0),
        ("/import", tests::stores::inline("b", &json!([])), 0),
    ] {
        let answer = store.post(change, &body).await;
        assert!(answer.status < 300, "{}", answer.text());
        let now = store.detail().await;
        let count = |detail: &Value, field: &str| detail[field].as_u64().unwrap();
        assert_eq!(count(&now, "version_count"), count(&last, "version_count") + 1);
        assert_eq!(
            count(&now, "schema_version"),
            count(&last, "schema_version") + schema_change
        );
        assert_ne!(now["version_id"], last["version_id"]);
        assert!(now["updated"].as_str() >= last["updated"].as_str());
        if change == "/import" {
            assert_eq!(answer.body["version_id"], now["version_id"]);
        }
        last = now;
    }
    // Reads and failed requests make no version.
    store.rows("SELECT * FROM a").await;
    store.get("/tables/a?sample=true").await.expect_status(200);
    store
        .append("a", &json!([{ "x": "one" }]))
        .await
        .expect_error(422, "unprocessable");
    store
        .append("nope", &json!([]))
        .await
        .expect_error(404, "not_found");
    assert_eq!(store.detail().await, last);
}

#[tokio::test]
async fn a_table_that_is_dropped_is_a_change_of_its_store() {
    let store = Store::start().await;
    store.table("t", &["id BIGINT primary_key"]).await;
    store.delete("/tables/t").await.expect_status(200);
    let path = format!("/audit-trail?resourceId={}", store.id);
    let page = store
        .service
        .get(&store.token, &path)
        .await
        .expect_status(200)
        .body;
    let record = &page["events"][0];
    assert_eq!(
        (&record["action"], &record["resource_type"]),
        (&json!("update"), &json!("data_store"))
    );
}
