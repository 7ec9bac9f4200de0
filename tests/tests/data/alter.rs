//! Tests changes of a table's columns: how old rows look afterwards, what new rows accept, and what is
//! refused.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::{Persona, Store};

/// Creates a store with a table `t` of two rows: `a` 1 and 2, `b` one and two.
async fn store() -> Store {
    let store = Store::start().await;
    store.table("t", &["a INTEGER primary_key", "b STRING"]).await;
    let rows = json!([{ "a": 1, "b": "one" }, { "a": 2, "b": "two" }]);
    store.append("t", &rows).await.expect_status(200);
    store
}

async fn numbers(store: &Store) -> (u64, u64) {
    let detail = store.detail().await;
    let number = |field: &str| detail[field].as_u64().unwrap();
    (number("schema_version"), number("version_count"))
}

#[tokio::test]
async fn a_column_is_added_with_its_default_for_old_rows_and_new() {
    let store = store().await;
    let before = numbers(&store).await;
    let changes = json!({
        "message": "quantities",
        "description": "Things.",
        "add_columns": [
            { "name": "qty", "type": "BIGINT", "default": "7", "nullable": false, "description": "How many." },
            { "name": "note", "type": "STRING", "default": "'it''s \"new\"; --'" },
            { "name": "gone", "type": "DATE" },
            { "name": "seen", "type": "TIMESTAMP", "default": "'2026-01-02 03:04:05+02:00'" },
            { "name": "price", "type": "DECIMAL", "default": "12.50" },
            { "name": "ok", "type": "BOOLEAN", "default": "TRUE" },
            { "name": "j", "type": "JSON", "default": "'{\"a\": [1]}'" },
            { "name": "made", "type": "TIMESTAMP", "default": "current_timestamp" },
            { "name": "day", "type": "DATE", "default": "current_date" },
            { "name": "f", "type": "FLOAT", "default": "0.5" }
        ]
    });
    let altered = store.alter("T", &changes).await.expect_status(200);
    assert_eq!(altered.body["description"], "Things.");
    assert_eq!(altered.body["row_count"], 2);
    assert_eq!(
        altered.body["columns"][2],
        json!({ "name": "qty", "type": "BIGINT", "default": "7", "nullable": false, "description": "How many." })
    );
    assert_eq!(store.get("/tables/t").await.expect_status(200).body, altered.body);
    assert_eq!(numbers(&store).await, (before.0 + 1, before.1 + 1));
    store
        .append("t", &json!([{ "a": 3, "qty": 9, "note": null }]))
        .await
        .expect_status(200);
    let rows = store
        .rows("SELECT a, b, qty, note, gone, seen, price, ok, j, f FROM t ORDER BY a")
        .await;
    let (note, time) = ("it's \"new\"; --", "2026-01-02T01:04:05.000Z");
    let old = |a: i64, b: &str| json!([a, b, 7, note, null, time, "12.5000", true, { "a": [1] }, 0.5]);
    assert_eq!(
        rows,
        json!([
            old(1, "one"),
            old(2, "two"),
            [3, null, 9, null, null, time, "12.5000", true, { "a": [1] }, 0.5]
        ])
    );
    // Old rows get the time of the change, the same for all.
    let sql = "SELECT count(DISTINCT made), bool_and(made BETWEEN now()::TIMESTAMP - INTERVAL 1 HOUR AND now()::TIMESTAMP), \
               bool_and(day = made::DATE) FROM t WHERE a < 3";
    assert_eq!(store.rows(sql).await, json!([[1, true, true]]));
    let sql = "SELECT a FROM t WHERE qty = 7 AND note LIKE 'it%' AND gone IS NULL ORDER BY a";
    assert_eq!(store.rows(sql).await, json!([[1], [2]]));
}

#[tokio::test]
async fn a_uuid_default_is_another_one_in_each_old_row() {
    let store = store().await;
    store.append("t", &json!([{ "a": 3 }])).await.expect_status(200);
    let add =
        json!([{ "name": "u", "type": "STRING", "default": "uuid()", "unique": true, "nullable": false }]);
    store
        .alter("t", &json!({ "add_columns": add }))
        .await
        .expect_status(200);
    let sql = "SELECT count(DISTINCT u), min(length(u)) FROM t";
    assert_eq!(store.rows(sql).await, json!([[3, 36]]));
    let stable = store.rows("SELECT u FROM t ORDER BY a").await;
    assert_eq!(store.rows("SELECT u FROM t ORDER BY a").await, stable);
    store.append("t", &json!([{ "a": 4 }])).await.expect_status(200);
    assert_eq!(store.rows(sql).await, json!([[4, 36]]));
}

#[tokio::test]
async fn a_dropped_column_never_comes_back() {
    let store = store().await;
    store
        .alter("t", &json!({ "drop_columns": ["B"] }))
        .await
        .expect_status(200);
    store
        .query("SELECT b FROM t", &json!({}))
        .await
        .expect_error(400, "invalid_request");
    let refused = store.append("t", &json!([{ "a": 3, "b": "x" }])).await;
    refused.expect_error(422, "unprocessable");
    store.append("t", &json!([{ "a": 3 }])).await.expect_status(200);
    let add = json!({ "add_columns": [{ "name": "b", "type": "STRING" }] });
    store.alter("t", &add).await.expect_status(200);
    store
        .append("t", &json!([{ "a": 4, "b": "four" }]))
        .await
        .expect_status(200);
    let rows = store.rows("SELECT * FROM t ORDER BY a").await;
    assert_eq!(rows, json!([[1, null], [2, null], [3, null], [4, "four"]]));
    // In one request, with another type.
    let both =
        json!({ "drop_columns": ["b"], "add_columns": [{ "name": "B", "type": "BIGINT", "default": "0" }] });
    store.alter("t", &both).await.expect_status(200);
    let rows = store.rows("SELECT a, b FROM t ORDER BY a").await;
    assert_eq!(rows, json!([[1, 0], [2, 0], [3, 0], [4, 0]]));
}

#[tokio::test]
async fn names_are_changed_and_swapped_without_their_values() {
    let store = store().await;
    let rename = |pairs: &[(&str, &str)]| -> Value {
        let renames = pairs.iter().map(|(from, to)| json!({ "from": from, "to": to }));
        json!({ "rename_columns": renames.collect::<Vec<_>>() })
    };
    store
        .alter(
            "t",
            &json!({ "add_columns": [{ "name": "c", "type": "STRING", "default": "'c'" }] }),
        )
        .await
        .expect_status(200);
    store
        .alter("t", &rename(&[("b", "c"), ("c", "b")]))
        .await
        .expect_status(200);
    let swapped = store.rows("SELECT a, b, c FROM t ORDER BY a").await;
    assert_eq!(swapped, json!([[1, "c", "one"], [2, "c", "two"]]));
    store
        .append("t", &json!([{ "a": 3, "c": "three" }]))
        .await
        .expect_status(200);
    let rows = store.rows("SELECT b, c FROM t WHERE a = 3").await;
    assert_eq!(rows, json!([["c", "three"]]));
    // A name in another case is another spelling. A renamed column can be modified, and its old name reused,
    // in the same request.
    store
        .alter("t", &rename(&[("A", "Key")]))
        .await
        .expect_status(200);
    let changes = json!({
        "rename_columns": [{ "from": "b", "to": "old" }],
        "modify_columns": [{ "name": "old", "description": "What b was.", "default": null }],
        "add_columns": [{ "name": "b", "type": "BOOLEAN" }]
    });
    let altered = store.alter("t", &changes).await.expect_status(200);
    let names: Vec<_> = altered.body["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].clone())
        .collect();
    assert_eq!(json!(names), json!(["Key", "c", "old", "b"]));
    assert_eq!(
        altered.body["columns"][2],
        json!({ "name": "old", "type": "STRING", "nullable": true, "description": "What b was." })
    );
    let rows = store.rows("SELECT * FROM t ORDER BY key").await;
    assert_eq!(
        rows,
        json!([
            [1, "one", "c", null],
            [2, "two", "c", null],
            [3, "three", "c", null]
        ])
    );
}

#[tokio::test]
async fn not_null_and_keys_are_checked_against_the_rows() {
    let store = Store::start().await;
    store.table("t", &["a BIGINT", "b STRING", "c BIGINT"]).await;
    for rows in [
        json!([{ "a": 1, "b": "x", "c": 1 }, { "a": 2, "b": "y", "c": 1 }]),
        json!([{ "a": 3, "b": null, "c": 2 }, { "a": 4, "b": "x", "c": 3 }]),
    ] {
        store.append("t", &rows).await.expect_status(200);
    }
    let before = numbers(&store).await;
    let modify = |column: Value| json!({ "modify_columns": [column] });
    for (column, says) in [
        (json!({ "name": "b", "nullable": false }), vec!["row 3", "'b'"]),
        (json!({ "name": "b", "primary_key": true }), vec!["row 3", "'b'"]),
        (
            json!({ "name": "b", "unique": true }),
            vec!["(b) = ('x')", "unique"],
        ),
        (json!({ "name": "c", "unique": true }), vec!["(c) = ('1')"]),
        (
            json!({ "name": "c", "primary_key": true }),
            vec!["(c) = ('1')", "primary key"],
        ),
    ] {
        let refused = store.alter("t", &modify(column.clone())).await;
        let refused = refused.expect_error(409, "conflict");
        for says in says {
            assert!(
                refused.message().contains(says),
                "{column}: {}",
                refused.message()
            );
        }
    }
    let add = json!({ "add_columns": [{ "name": "d", "type": "BIGINT", "unique": true, "default": "1" }] });
    let refused = store.alter("t", &add).await.expect_error(409, "conflict");
    assert!(refused.message().contains("(d) = ('1')"), "{}", refused.message());
    let add = json!({ "add_columns": [{ "name": "d", "type": "BIGINT", "nullable": false }] });
    let refused = store.alter("t", &add).await.expect_error(409, "conflict");
    assert!(refused.message().contains("default"), "{}", refused.message());
    assert_eq!(numbers(&store).await, before);

    // A key that the rows satisfy is accepted, and applies to later imports.
    let altered = store
        .alter("t", &json!({ "modify_columns": [{ "name": "a", "primary_key": true }, { "name": "c", "nullable": false }] }))
        .await
        .expect_status(200);
    assert_eq!(altered.body["columns"][0]["nullable"], false);
    for row in [json!({ "a": 4, "c": 1 }), json!({ "c": 1 }), json!({ "a": 5 })] {
        let refused = store.append("t", &json!([row])).await;
        refused.expect_error(409, "conflict");
    }
    // The key can be removed again.
    let free = json!({ "modify_columns": [{ "name": "a", "primary_key": false, "nullable": true }] });
    store.alter("t", &free).await.expect_status(200);
    store
        .append("t", &json!([{ "a": 4, "c": 1 }, { "c": 1 }]))
        .await
        .expect_status(200);
    let refused = store
        .alter(
            "t",
            &modify(json!({ "name": "a", "primary_key": true, "nullable": true })),
        )
        .await;
    refused.expect_error(400, "invalid_request");
    // A part of a key is not a key.
    store
        .table("k", &["a BIGINT primary_key", "b BIGINT primary_key"])
        .await;
    let rows = json!([{ "a": 1, "b": 1 }, { "a": 1, "b": 2 }]);
    store.append("k", &rows).await.expect_status(200);
    let refused = store.alter("k", &json!({ "drop_columns": ["b"] })).await;
    let refused = refused.expect_error(409, "conflict");
    assert!(refused.message().contains("(a) = ('1')"), "{}", refused.message());
    store
        .alter("k", &json!({ "drop_columns": ["a"] }))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn faults_are_refused_with_their_paths() {
    let store = store().await;
    let before = store.detail().await;
    let many: Vec<_> = (0..5_000)
        .map(|n| json!({ "name": format!("c{n}"), "type": "STRING" }))
        .collect();
    let full: Vec<_> = (0..1_999)
        .map(|n| json!({ "name": format!("c{n}"), "type": "STRING" }))
        .collect();
    let add = |column: Value| json!({ "add_columns": [column] });
    let column = |name: &str| add(json!({ "name": name, "type": "STRING" }));
    let modify = |column: Value| json!({ "modify_columns": [column] });
    let name = "add_columns[0].name";
    for (changes, status, says) in [
        (json!({}), 400, "Nothing is to be changed"),
        (
            json!({ "add_columns": [], "message": "nothing" }),
            400,
            "Nothing is to be changed",
        ),
        (json!([]), 400, "expected an object"),
        (json!({ "add_columns": {} }), 400, "add_columns"),
        (json!({ "add_columns": null }), 400, "add_columns"),
        (json!({ "add_columns": [7] }), 400, "add_columns[0]"),
        (json!({ "drop_columns": [7] }), 400, "drop_columns[0]"),
        (json!({ "drop_columns": "b" }), 400, "drop_columns"),
        (
            json!({ "rename_columns": [{ "from": "b" }] }),
            400,
            "rename_columns[0]",
        ),
        (
            json!({ "rename_columns": [{ "from": "b", "to": 7 }] }),
            400,
            "rename_columns[0].to",
        ),
        (
            json!({ "rename_columns": [["b", "c"]] }),
            400,
            "rename_columns[0]",
        ),
        (
            json!({ "rename_columns": [{ "from": "b", "to": "" }] }),
            400,
            "rename_columns[0].to",
        ),
        (json!({ "message": 7, "drop_columns": ["b"] }), 400, "message"),
        (
            json!({ "message": "x".repeat(2_001), "drop_columns": ["b"] }),
            400,
            "message",
        ),
        (json!({ "description": "x".repeat(10_001) }), 400, "description"),
        (modify(json!({ "name": "b", "nulable": false })), 400, "nulable"),
        (
            modify(json!({ "name": "b", "nullable": "no" })),
            400,
            "modify_columns[0].nullable",
        ),
        (
            modify(json!({ "name": "b", "type": "TEXT" })),
            400,
            "modify_columns[0].type",
        ),
        (
            modify(json!({ "name": "b", "semantic_type": "mail" })),
            400,
            "modify_columns[0].semantic_type",
        ),
        (
            modify(json!({ "name": "b", "semantic_type": 7 })),
            400,
            "modify_columns[0].semantic_type",
        ),
        (modify(json!({ "type": "STRING" })), 400, "name"),
        (add(json!({ "name": "c" })), 400, "type"),
        (
            add(json!({ "name": "c", "type": "STRING", "primaryKey": true })),
            400,
            "primaryKey",
        ),
        (
            add(json!({ "name": "c", "type": "INTEGER", "default": "1 + 1" })),
            400,
            "add_columns[0].default",
        ),
        (column(""), 400, name),
        (column("a b"), 400, name),
        (column("é"), 400, name),
        (column("c\u{0}"), 400, name),
        (column("c\"; DROP TABLE t; --"), 400, name),
        (column("c'"), 400, name),
        (column(&"c".repeat(64)), 400, name),
        (json!({ "add_columns": many }), 400, "add_columns"),
        (json!({ "add_columns": full }), 400, "2001 columns"),
        (column("B"), 409, "'B'"),
        (json!({ "drop_columns": ["x"] }), 404, "'t.x'"),
        (json!({ "drop_columns": ["b\"; DROP TABLE t; --"] }), 404, "t.b\""),
        (json!({ "drop_columns": ["x".repeat(100_000)] }), 404, "t.xxx"),
        (
            json!({ "rename_columns": [{ "from": "x", "to": "y" }] }),
            404,
            "'t.x'",
        ),
        (modify(json!({ "name": "x", "type": "STRING" })), 404, "'t.x'"),
        (json!({ "drop_columns": ["a", "b"] }), 400, "no column left"),
        (
            json!({ "drop_columns": ["b"], "modify_columns": [{ "name": "b", "type": "JSON" }] }),
            400,
            "'b'",
        ),
        (json!({ "drop_columns": ["b", "B"] }), 400, "drop_columns[1]"),
    ] {
        let start = changes.to_string();
        let start = start.get(..120).unwrap_or(&start);
        let refused = store.alter("t", &changes).await.expect_status(status);
        refused.check_error();
        assert!(refused.message().contains(says), "{start}: {}", refused.message());
        assert!(refused.message().len() < 1_000, "{start}");
    }
    let drop = json!({ "drop_columns": ["b"] });
    store.alter("nothing", &drop).await.expect_error(404, "not_found");
    for table in ["t%22", "t%3B", "%C3%A9", "t%20t"] {
        let refused = store.alter(table, &drop).await;
        assert!(
            [400, 404].contains(&refused.status),
            "{table}: {}",
            refused.text()
        );
        refused.check_error();
    }
    for (persona, status) in [
        (Persona::OtherProject, 404),
        (Persona::OtherAccount, 404),
        (Persona::Reader, 403),
    ] {
        let token = store.scope.token(persona);
        let path = store.path("/tables/t");
        let refused = store.service.put(&token, &path, &drop).await;
        refused.expect_status(status).check_error();
        let refused = store.service.delete(&token, &path).await;
        refused.expect_status(status).check_error();
    }
    assert_eq!(store.detail().await, before);
    // A change without effect makes no version.
    let same = modify(json!({ "name": "b", "type": "STRING", "nullable": true, "default": null }));
    store.alter("t", &same).await.expect_status(200);
    assert_eq!(store.detail().await, before);
}

#[tokio::test]
async fn changes_at_once_land_together_or_are_told_why_not() {
    let store = store().await;
    let before = numbers(&store).await;
    let tasks = (0..8).map(|n| {
        let changes = json!({ "add_columns": [{ "name": format!("c{n}"), "type": "BIGINT", "default": n.to_string() }] });
        let store = &store;
        async move { store.alter("t", &changes).await.status }
    });
    assert_eq!(join_all(tasks).await, [200; 8]);
    assert_eq!(numbers(&store).await, (before.0 + 8, before.1 + 8));
    let sum = store
        .rows("SELECT sum(c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7) FROM t")
        .await;
    assert_eq!(sum, json!([[56]]));

    // Of conflicting changes, one succeeds.
    let drop = json!({ "drop_columns": ["c0"] });
    let drops = (0..4).map(|_| store.alter("t", &drop));
    let mut statuses: Vec<_> = join_all(drops)
        .await
        .into_iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404, 404, 404]);
    let add = json!({ "add_columns": [{ "name": "c0", "type": "DATE" }] });
    let mut statuses: Vec<_> = join_all((0..4).map(|_| store.alter("t", &add)))
        .await
        .into_iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409]);
}

#[tokio::test]
async fn rows_imported_during_a_column_change_fit_the_schema() {
    let store = store().await;
    let imports = (10..16).map(|n| {
        let store = &store;
        async move { store.append("t", &json!([{ "a": n, "b": "12" }])).await.status }
    });
    let changes = [
        json!({ "add_columns": [{ "name": "c", "type": "BIGINT", "default": "1", "nullable": false }] }),
        json!({ "modify_columns": [{ "name": "a", "type": "BIGINT" }] }),
        json!({ "add_columns": [{ "name": "u", "type": "STRING", "default": "uuid()", "nullable": false }] }),
    ];
    let alterations = changes.iter().map(|changes| {
        let store = &store;
        async move { store.alter("t", changes).await.status }
    });
    let (imported, altered) = futures::future::join(join_all(imports), join_all(alterations)).await;
    assert_eq!((imported, altered), (vec![200; 6], vec![200; 3]));
    let sql = "SELECT count(*), count(c), count(DISTINCT u), count(DISTINCT a), typeof(any_value(a)) FROM t";
    assert_eq!(store.rows(sql).await, json!([[8, 8, 8, 8, "BIGINT"]]));
    if !store.service.is_shared() {
        let report = store.service.operator().json(&["check"]);
        assert_eq!(report["findings"], json!([]));
    }
}
