//! Tests the schema as a whole: read in both formats, updated in one request, its history; and dropped
//! tables.

use std::future::IntoFuture as _;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::stores::columns;
use tests::{Answer, Persona, Store, redacted};

/// Creates a shop: customers, and orders that refer to them.
async fn shop() -> Store {
    let store = Store::start().await;
    let body = json!({
        "description": "A shop.",
        "tables": [
            { "name": "orders", "description": "One row an order.", "columns": [
                { "name": "id", "type": "BIGINT", "primary_key": true },
                { "name": "customer_id", "type": "BIGINT", "nullable": false },
                { "name": "total", "type": "DECIMAL", "semantic_type": "currency", "default": "0" }
            ] },
            { "name": "Customers", "columns": [
                { "name": "id", "type": "BIGINT", "primary_key": true, "semantic_type": "identifier" },
                { "name": "email", "type": "STRING", "unique": true, "semantic_type": "email" }
            ] }
        ],
        "relationships": [{ "from": "ORDERS.customer_id", "to": "customers.ID", "type": "many-to-one" }],
        "message": "the shop opens"
    });
    store.put("/schema", &body).await.expect_status(200);
    store
}

#[tokio::test]
async fn the_schema_is_shown_in_both_formats() {
    let store = shop().await;
    let full = store.get("/schema").await.expect_status(200);
    insta::assert_json_snapshot!(redacted(&full.body), @r#"
    {
      "description": "A shop.",
      "name": "store",
      "relationships": [
        {
          "from": "orders.customer_id",
          "to": "Customers.id",
          "type": "many-to-one"
        }
      ],
      "schema_format": "full",
      "tables": [
        {
          "columns": [
            {
              "name": "id",
              "nullable": false,
              "primary_key": true,
              "type": "BIGINT"
            },
            {
              "name": "customer_id",
              "nullable": false,
              "type": "BIGINT"
            },
            {
              "default": "0",
              "name": "total",
              "nullable": true,
              "semantic_type": "currency",
              "type": "DECIMAL(18,4)"
            }
          ],
          "description": "One row an order.",
          "name": "orders",
          "row_count": 0
        },
        {
          "columns": [
            {
              "name": "id",
              "nullable": false,
              "primary_key": true,
              "semantic_type": "identifier",
              "type": "BIGINT"
            },
            {
              "name": "email",
              "nullable": true,
              "semantic_type": "email",
              "type": "STRING",
              "unique": true
            }
          ],
          "name": "Customers",
          "row_count": 0
        }
      ],
      "updated_at": "<time>",
      "version": 2
    }
    "#);
    assert_eq!(store.get("/schema?format=full").await.body, full.body);
    assert_eq!(store.detail().await["schema"], full.body);
    let ai = store.get("/schema?format=ai").await.expect_status(200);
    let expected = json!({
        "name": store.detail().await["name"],
        "version": 2,
        "tables": {
            "orders": { "description": "One row an order.", "columns": {
                "id": { "type": "BIGINT", "primary_key": true },
                "customer_id": { "type": "BIGINT" },
                "total": { "type": "DECIMAL(18,4)", "semantic_type": "currency" }
            } },
            "Customers": { "columns": {
                "id": { "type": "BIGINT", "primary_key": true, "semantic_type": "identifier" },
                "email": { "type": "STRING", "semantic_type": "email" }
            } }
        },
        "relationships": [{ "from": "orders.customer_id", "to": "Customers.id", "type": "many-to-one" }]
    });
    assert_eq!(ai.body, expected);
    // Compare the text, because a JSON object read into a map loses the order of creation.
    let text = ai.text();
    let at = |name: &str| text.find(&format!("\"{name}\":")).unwrap();
    assert!(
        at("orders") < at("Customers") && at("customer_id") < at("total"),
        "{text}"
    );
    for bad in ["AI", "sql", "full,ai"] {
        let refused = store.get(&format!("/schema?format={bad}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("'format'"), "{}", refused.message());
    }
    let empty = Store::start().await;
    let schema = empty.get("/schema").await.expect_status(200).body;
    assert_eq!((&schema["version"], &schema["tables"]), (&json!(1), &json!([])));
    let schema = empty.get("/schema?format=ai").await.expect_status(200).body;
    assert_eq!(
        (&schema["tables"], &schema["relationships"]),
        (&json!({}), &json!([]))
    );
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_leaves_the_rest() {
    let store = shop().await;
    store
        .append("orders", &json!([{ "id": 1, "customer_id": 1 }]))
        .await
        .expect_status(200);
    let before = store.detail().await;
    let body = json!({
        "tables": [
            { "name": "ORDERS", "columns": [
                { "name": "ID", "type": "DECIMAL(20,0)" },
                { "name": "qty", "type": "BIGINT", "default": "1", "nullable": false }
            ] },
            { "name": "stock", "description": null, "columns": columns(&["item STRING primary_key"]) }
        ],
        "drop_tables": ["customers"],
        "relationships": [{ "from": "orders.id", "to": "stock.item", "type": "one-to-one" }]
    });
    let updated = store.put("/schema", &body).await.expect_status(200);
    assert_eq!(updated.body, store.get("/schema").await.body);
    assert_eq!(
        updated.body["version"],
        before["schema_version"].as_u64().unwrap() + 1
    );
    assert_eq!(updated.body["description"], "A shop.");
    assert_eq!(
        updated.body["relationships"],
        json!([{ "from": "orders.id", "to": "stock.item", "type": "one-to-one" }])
    );
    let orders = &updated.body["tables"][0];
    // The request did not name the description, the key and the default, so they stayed.
    assert_eq!(orders["description"], "One row an order.");
    assert_eq!(
        orders["columns"],
        json!([
            { "name": "id", "type": "DECIMAL(20,0)", "nullable": false, "primary_key": true },
            { "name": "customer_id", "type": "BIGINT", "nullable": false },
            { "name": "total", "type": "DECIMAL(18,4)", "nullable": true, "semantic_type": "currency", "default": "0" },
            { "name": "qty", "type": "BIGINT", "nullable": false, "default": "1" }
        ])
    );
    assert_eq!(updated.body["tables"][1]["name"], "stock");
    assert_eq!(store.rows("SELECT id, qty FROM orders").await, json!([["1", 1]]));
    let detail = store.detail().await;
    assert_eq!(
        detail["version_count"],
        before["version_count"].as_u64().unwrap() + 1
    );
    // The same request again changes nothing, except that the dropped table is missing.
    let refused = store.put("/schema", &body).await;
    refused.expect_error(404, "not_found");
    let mut again = body.clone();
    again["drop_tables"] = json!([]);
    let same = store.put("/schema", &again).await.expect_status(200);
    assert_eq!(same.body, updated.body);
    assert_eq!(store.detail().await, detail);
    // A schema that was read can be sent back.
    let schema = store.get("/schema").await.body;
    store.put("/schema", &schema).await.expect_status(200);
    assert_eq!(store.detail().await, detail);
    // null removes a value, and so does an empty list.
    let nothing = json!({ "description": null, "relationships": [], "tables": [{ "name": "orders", "description": null }] });
    let cleared = store.put("/schema", &nothing).await.expect_status(200).body;
    assert_eq!(cleared.get("description"), None);
    assert_eq!(cleared["tables"][0].get("description"), None);
    assert_eq!(cleared["relationships"], json!([]));
}

#[tokio::test]
async fn an_update_lands_whole_or_not_at_all() {
    let store = shop().await;
    store
        .append("orders", &json!([{ "id": 1, "customer_id": 1 }]))
        .await
        .expect_status(200);
    let before = store.detail().await;
    let good = json!({ "name": "good", "columns": columns(&["a STRING"]) });
    let table = |table: Value| json!({ "tables": [good, table] });
    let related = |from: &str, to: &str, kind: &str| json!({ "relationships": [{ "from": from, "to": to, "type": kind }] });
    let many: Vec<_> = (0..5_000)
        .map(|n| json!({ "name": format!("c{n}"), "type": "STRING" }))
        .collect();
    for (body, status, says) in [
        (json!({}), 400, "Nothing is to be changed"),
        (json!([]), 400, "expected an object"),
        (json!({ "tables": {} }), 400, "$.tables"),
        (json!({ "relationships": null }), 400, "$.relationships"),
        (json!({ "relationships": [7] }), 400, "$.relationships[0]"),
        (json!({ "drop_tables": [7] }), 400, "$.drop_tables[0]"),
        (json!({ "description": 7 }), 400, "$.description"),
        (json!({ "description": "x".repeat(10_001) }), 400, "'description'"),
        (json!({ "description": "x", "message": 7 }), 400, "$.message"),
        (table(json!({ "columns": [] })), 400, "name"),
        (table(json!({ "name": "bad" })), 400, "tables[1].columns"),
        (
            table(json!({ "name": "b d", "columns": columns(&["a STRING"]) })),
            400,
            "tables[1].name",
        ),
        (
            table(json!({ "name": "bad\u{0}", "columns": columns(&["a STRING"]) })),
            400,
            "tables[1].name",
        ),
        (
            table(json!({ "name": "bad", "columns": [{ "name": "a" }] })),
            400,
            "tables[1].columns[0].type",
        ),
        (
            table(json!({ "name": "bad", "columns": columns(&["a TEXT"]) })),
            400,
            "tables[1].columns[0].type",
        ),
        (
            table(json!({ "name": "bad", "columns": columns(&["a STRING", "A STRING"]) })),
            400,
            "tables[1].columns[1].name",
        ),
        (
            table(json!({ "name": "bad", "columns": [{ "name": "a", "type": "STRING", "uniqe": true }] })),
            400,
            "uniqe",
        ),
        (
            table(json!({ "name": "bad", "columns": many })),
            400,
            "tables[1].columns",
        ),
        (
            table(json!({ "name": "GOOD", "columns": columns(&["a STRING"]) })),
            400,
            "tables[1].name 'GOOD'",
        ),
        (
            table(json!({ "name": "orders", "columns": [{ "name": "new" }] })),
            400,
            "tables[1].columns[0].type",
        ),
        (
            table(json!({ "name": "orders", "columns": columns(&["new STRING required"]) })),
            409,
            "'new'",
        ),
        (
            table(json!({ "name": "orders", "columns": columns(&["customer_id BOOLEAN", "x DATE"]) })),
            200,
            "",
        ),
        (json!({ "drop_tables": ["nothing"] }), 404, "'nothing'"),
        (
            json!({ "drop_tables": ["orders", "ORDERS"] }),
            400,
            "drop_tables[1]",
        ),
        (
            json!({ "drop_tables": ["good"], "tables": [good] }),
            400,
            "tables[0].name 'good' is named by drop_tables[0]",
        ),
        (json!({ "drop_tables": ["customers"] }), 409, "Customers.id"),
        (
            json!({ "drop_tables": ["customers"], "tables": [good] }),
            409,
            "Customers.id",
        ),
        (
            related("orders.nothing", "Customers.id", "many-to-one"),
            400,
            "relationships[0].from 'orders.nothing'",
        ),
        (
            related("orders.id", "nothing.id", "many-to-one"),
            400,
            "relationships[0].to 'nothing.id'",
        ),
        (
            related("orders", "Customers.id", "many-to-one"),
            400,
            "relationships[0].from",
        ),
        (
            related("", "Customers.id", "many-to-one"),
            400,
            "relationships[0].from",
        ),
        (
            related("orders.id", "Customers.id", "some-to-some"),
            400,
            "$.relationships[0].type",
        ),
        (
            json!({ "drop_tables": ["customers"], "relationships": [
                { "from": "orders.customer_id", "to": "customers.id", "type": "many-to-one" }
            ] }),
            400,
            "relationships[0].to",
        ),
        (
            json!({ "relationships": [
                { "from": "orders.id", "to": "customers.id", "type": "many-to-one" },
                { "from": "Orders.ID", "to": "Customers.id", "type": "one-to-one" }
            ] }),
            400,
            "relationships[1]",
        ),
    ] {
        let start = body.to_string();
        let start = start.get(..150).unwrap_or(&start);
        let answer = store.put("/schema", &body).await;
        assert_eq!(answer.status, status, "{start}: {}", answer.text());
        if status == 200 {
            // Undo the change for the next case.
            let undo = json!({ "drop_columns": ["x"], "modify_columns": [{ "name": "customer_id", "type": "BIGINT" }] });
            store.alter("orders", &undo).await.expect_status(200);
            store.delete("/tables/good").await.expect_status(200);
            continue;
        }
        answer.check_error();
        assert!(answer.message().contains(says), "{start}: {}", answer.message());
        assert!(answer.message().len() < 1_000, "{start}");
    }
    let after = store.detail().await;
    assert_eq!(after["schema"]["tables"], before["schema"]["tables"]);
    assert_eq!(
        after["schema"]["relationships"],
        before["schema"]["relationships"]
    );
    assert_eq!(
        after["version_count"],
        before["version_count"].as_u64().unwrap() + 3
    );
}

#[tokio::test]
async fn tables_are_dropped_and_come_back_empty() {
    let store = shop().await;
    store
        .append("customers", &json!([{ "id": 1 }]))
        .await
        .expect_status(200);
    // A relationship prevents the removal of both of its ends.
    for table in ["orders", "customers"] {
        let refused = store.delete(&format!("/tables/{table}")).await;
        let refused = refused.expect_error(409, "conflict");
        assert!(
            refused.message().contains("orders.customer_id → Customers.id"),
            "{}",
            refused.message()
        );
    }
    let refused = store
        .alter("orders", &json!({ "drop_columns": ["customer_id"] }))
        .await;
    refused.expect_error(409, "conflict");
    // The relationship follows new names.
    let rename = json!({ "rename_columns": [{ "from": "customer_id", "to": "who" }] });
    store.alter("orders", &rename).await.expect_status(200);
    let schema = store.get("/schema").await.body;
    assert_eq!(schema["relationships"][0]["from"], "orders.who");
    let clear = json!({ "relationships": [] });
    store.put("/schema", &clear).await.expect_status(200);
    let before = store.detail().await;
    let dropped = store.delete("/tables/CUSTOMERS").await.expect_status(200);
    assert_eq!(dropped.body, json!({ "dropped": "Customers" }));
    let after = store.detail().await;
    for (field, change) in [
        ("schema_version", 1),
        ("version_count", 1),
        ("table_count", -1),
        ("total_rows", -1),
    ] {
        let number = |detail: &Value| detail[field].as_i64().unwrap();
        assert_eq!(number(&after), number(&before) + change, "{field}");
    }
    for _ in 0..2 {
        store
            .delete("/tables/Customers")
            .await
            .expect_error(404, "not_found");
    }
    store
        .get("/tables/Customers")
        .await
        .expect_error(404, "not_found");
    store
        .append("Customers", &json!([]))
        .await
        .expect_error(404, "not_found");
    let gone = store.query("SELECT * FROM customers", &json!({})).await;
    gone.expect_error(400, "invalid_request");
    store.table("Customers", &["id BIGINT primary_key"]).await;
    assert_eq!(store.rows("SELECT * FROM customers").await, json!([]));
    store
        .append("customers", &json!([{ "id": 1 }]))
        .await
        .expect_status(200);
    // Of several concurrent drops, one succeeds.
    let mut statuses: Vec<_> = join_all((0..4).map(|_| store.delete("/tables/orders").into_future()))
        .await
        .into_iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404, 404, 404]);
}

#[tokio::test]
async fn dropping_needs_its_own_permission_in_every_way() {
    let store = Store::start().await;
    store.table("t", &["a STRING"]).await;
    let writer = store.scope.token_with(&[
        "--user-id",
        "writer",
        "--roles",
        "",
        "--permissions",
        "content:read,content:write",
    ]);
    let refused = store.service.delete(&writer, &store.path("/tables/t")).await;
    refused.expect_error(403, "forbidden");
    let drop = json!({ "drop_tables": ["t"] });
    let refused = store.service.put(&writer, &store.path("/schema"), &drop).await;
    let refused = refused.expect_error(403, "forbidden");
    assert!(
        refused.message().contains("content:delete"),
        "{}",
        refused.message()
    );
    let describe = json!({ "description": "x", "drop_tables": [] });
    let described = store
        .service
        .put(&writer, &store.path("/schema"), &describe)
        .await;
    described.expect_status(200);
}

/// Returns a field of each change of each version.
fn each_of(history: &Answer, field: &str) -> Value {
    let changes = history.each("changes").into_iter().map(|changes| {
        let changes = changes.as_array().unwrap().iter();
        changes.map(|change| change[field].clone()).collect::<Vec<_>>()
    });
    json!(changes.collect::<Vec<_>>())
}

#[tokio::test]
async fn schema_of_an_earlier_version_has_its_tables_and_numbers_of_rows() {
    let store = Store::start().await;
    store.table("a", &["id BIGINT primary_key"]).await;
    store
        .append("a", &json!([{ "id": 1 }, { "id": 2 }]))
        .await
        .expect_status(200);
    let earlier = store.detail().await["version_id"].as_str().unwrap().to_owned();
    let now = store.get("/schema").await.expect_status(200).body;
    store.delete("/tables/a").await.expect_status(200);
    store.table("b", &["id BIGINT"]).await;
    let path = format!("/schema?version_id={earlier}");
    let schema = store.get(&path).await.expect_status(200);
    assert_eq!(schema.body["tables"], now["tables"]);
    assert_eq!(schema.body["tables"][0]["row_count"], 2);
    assert_eq!(schema.body["version"], 2);
    let short = store.get(&format!("{path}&format=ai")).await.expect_status(200);
    assert_eq!(
        short.body["tables"],
        json!({ "a": { "columns": { "id": { "type": "BIGINT", "primary_key": true } } } })
    );
    let other = Store::start().await;
    for path in [path.as_str(), "/schema?version_id=gone"] {
        other.get(path).await.expect_error(404, "not_found");
    }
}

#[tokio::test]
async fn schema_history_lists_each_change() {
    let store = Store::start().await;
    assert_eq!(
        store.get("/schema/history").await.expect_status(200).body,
        json!([])
    );
    store
        .table("orders", &["id BIGINT primary_key", "state STRING"])
        .await;
    store
        .append("orders", &json!([{ "id": 1 }]))
        .await
        .expect_status(200);
    let changes = json!({
        "message": "more columns",
        "add_columns": [{ "name": "qty", "type": "BIGINT", "default": "1" }],
        "rename_columns": [{ "from": "state", "to": "status" }],
        "modify_columns": [{ "name": "id", "type": "DECIMAL(20,0)" }, { "name": "status", "unique": true }]
    });
    store.alter("orders", &changes).await.expect_status(200);
    store
        .append("orders", &json!([{ "id": 2 }]))
        .await
        .expect_status(200);
    let relate =
        json!({ "relationships": [{ "from": "orders.qty", "to": "orders.id", "type": "many-to-one" }] });
    store.put("/schema", &relate).await.expect_status(200);
    store
        .put(
            "/schema",
            &json!({ "drop_tables": ["orders"], "relationships": [] }),
        )
        .await
        .expect_status(200);
    let history = store.get("/schema/history").await.expect_status(200);
    assert_eq!(history.each("schema_version"), [5, 4, 3, 2]);
    let expected = json!([
        [
            "Dropped table orders",
            "Removed the relationship orders.qty → orders.id (many-to-one)"
        ],
        ["Added the relationship orders.qty → orders.id (many-to-one)"],
        [
            "Changed the type of column orders.id from BIGINT to DECIMAL(20,0)",
            "Renamed column orders.state to status",
            "Made column orders.status unique",
            "Added column orders.qty BIGINT default 1"
        ],
        ["Created table orders (id BIGINT primary key, state STRING)"]
    ]);
    assert_eq!(each_of(&history, "message"), expected);
    let expected = json!([
        [["table_dropped", "orders"], ["relationship_removed", null]],
        [["relationship_added", null]],
        [
            ["column_altered", "orders", "id"],
            ["column_renamed", "orders", "status"],
            ["column_altered", "orders", "status"],
            ["column_added", "orders", "qty"]
        ],
        [["table_created", "orders"]]
    ]);
    let changes = history.each("changes").into_iter().map(|changes| {
        let changes = changes.as_array().unwrap().iter();
        let summaries = changes.map(|change| match &change["column"] {
            Value::Null => json!([change["kind"], change["table"]]),
            column => json!([change["kind"], change["table"], column]),
        });
        summaries.collect::<Vec<_>>()
    });
    assert_eq!(json!(changes.collect::<Vec<_>>()), expected);
    assert_eq!(history.body[0]["changes"][0]["rows_removed"], 2);
    assert_eq!(
        history.each("message"),
        [
            "Dropped table orders; Removed the relationship orders.qty → orders.id (many-to-one)",
            "Added the relationship orders.qty → orders.id (many-to-one)",
            "more columns",
            "Created orders"
        ]
    );
    let newest = &history.body[0];
    assert_eq!(newest["id"], newest["version_id"]);
    assert_eq!(newest["id"], store.detail().await["version_id"]);
    assert!(newest["created_by"].as_str().unwrap().contains(':'), "{newest}");
    assert!(newest["created_at"].as_str() >= history.body[1]["created_at"].as_str());
    let two = store.get("/schema/history?limit=2").await.expect_status(200);
    assert_eq!(two.each("schema_version"), [5, 4]);
    for bad in ["0", "501", "-1", "x", "1.5"] {
        let refused = store.get(&format!("/schema/history?limit={bad}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("'limit'"), "{}", refused.message());
    }
}

#[tokio::test]
async fn a_long_history_ends_at_its_limit() {
    let store = Store::start().await;
    store.table("t", &["a STRING"]).await;
    for n in 0..60 {
        let changes = json!({ "description": format!("number {n}") });
        store.alter("t", &changes).await.expect_status(200);
    }
    let history = store.get("/schema/history").await.expect_status(200);
    let expected: Vec<_> = (13..=62).rev().map(Value::from).collect();
    assert_eq!(history.each("schema_version"), expected);
    let all = store.get("/schema/history?limit=500").await.expect_status(200);
    assert_eq!(all.body.as_array().unwrap().len(), 61);
}

#[tokio::test]
async fn strangers_and_missing_stores_are_404() {
    let store = shop().await;
    let update = json!({ "description": "mine" });
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = store.scope.token(persona);
        let (service, path) = (&store.service, store.path("/schema"));
        service.get(&token, &path).await.expect_error(404, "not_found");
        service
            .get(&token, &format!("{path}/history"))
            .await
            .expect_error(404, "not_found");
        service
            .put(&token, &path, &update)
            .await
            .expect_error(404, "not_found");
    }
    let reader = store.scope.token(Persona::Reader);
    let path = store.path("/schema");
    store
        .service
        .put(&reader, &path, &update)
        .await
        .expect_error(403, "forbidden");
    store.service.get(&reader, &path).await.expect_status(200);
    store.delete("").await.expect_status(200);
    store.get("/schema").await.expect_error(404, "not_found");
    store.get("/schema/history").await.expect_error(404, "not_found");
    store.put("/schema", &update).await.expect_error(404, "not_found");
    store
        .delete("/tables/orders")
        .await
        .expect_error(404, "not_found");
}
