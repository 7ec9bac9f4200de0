//! Tests hostile values in imports and alterations: they are refused like any other, and no row is lost
//! silently.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::runs::WITHIN;
use tests::{Answer, Store};

/// Columns with names that the search for bad rows might use itself.
#[tokio::test]
async fn a_column_may_have_any_name() {
    let store = Store::start().await;
    for (number, name) in ["n", "N", "bad", "i", "v", "row_number", "t"]
        .into_iter()
        .enumerate()
    {
        let table = format!("table{number}");
        store.table(&table, &[&format!("{name} STRING")]).await;
        let rows = json!([{ name: "first" }, { name: "second" }, { name: null }]);
        store.append(&table, &rows).await.expect_status(200);
        for kind in ["DECIMAL(10,2)", "INTEGER", "DATE", "BOOLEAN", "JSON"] {
            let answer = alter(&store, &table, &json!({ "name": name, "type": kind })).await;
            let message = answer.expect_error(422, "unprocessable").message().to_owned();
            assert!(
                message.contains("row 1") && message.contains("'first'"),
                "{name} to {kind}: {message}"
            );
        }
        for rule in [json!({ "nullable": false }), json!({ "primary_key": true })] {
            let mut change = rule.clone();
            change["name"] = name.into();
            let message = alter(&store, &table, &change)
                .await
                .expect_error(409, "conflict")
                .message()
                .to_owned();
            assert!(message.contains("row 3"), "{name}, {rule}: {message}");
        }
    }
}

async fn alter(store: &Store, table: &str, change: &Value) -> Answer {
    let path = format!("/data/{}/tables/{table}", store.id);
    store
        .service
        .put(&store.token, &path, &json!({ "modify_columns": [change] }))
        .await
}

/// Returns the error of a refused import, also where the import outlived its request.
///
/// The files of these tests have an unclosed quote, before or inside which rows could be lost.
async fn refusal(store: &Store, answer: Answer) -> String {
    if answer.status != 202 {
        return answer.expect_error(422, "unprocessable").message().to_owned();
    }
    let record = format!("/data/{}/import/{}", store.id, answer.id());
    let deadline = Instant::now() + WITHIN;
    loop {
        let status = store
            .service
            .get(&store.token, &record)
            .await
            .expect_status(200)
            .body;
        if status["status"] == "FAILED" {
            return status["error"].as_str().unwrap().to_owned();
        }
        assert_eq!(status["status"], "RUNNING", "{status}");
        assert!(Instant::now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn an_open_quote_loses_no_row() {
    let store = Store::start().await;
    store.table("kept", &["id INTEGER", "name STRING"]).await;
    store
        .append("kept", &json!([{ "id": 1, "name": "a" }]))
        .await
        .expect_status(200);
    for (number, file) in [
        format!("id,name\n9,\"{}", "\"\"".repeat(16_500_000)),
        format!("id,name\n2,b\n9,\"{}", "\"\"".repeat(17_000_000)),
        format!("id,name\n9,\"{}\"\n21,b\n", "\"\"".repeat(17_000_000)),
        "id,name\n9,\"b\n".to_owned(),
    ]
    .into_iter()
    .enumerate()
    {
        let path = store.service.folder().join(format!("{number}.csv"));
        std::fs::write(&path, file).unwrap();
        let uri = format!("out/{number}.csv");
        store
            .scope
            .ops(&["artifact", "put", &path.to_string_lossy(), &uri])
            .expect_success();
        let import = json!({ "mode": "replace", "tables": { "kept": { "source": "artifact", "uri": uri } } });
        let path = format!("/data/{}/import", store.id);
        let answer = store.service.post(&store.token, &path, &import).await;
        let message = refusal(&store, answer).await;
        assert!(message.contains("kept"), "{number}: {message}");
        let count = store.query("SELECT count(*) AS n FROM kept", &json!({})).await;
        assert_eq!(count.expect_status(200).body["rows"], json!([[1]]), "{number}");
    }
}

/// Empty members of a gzip file take time and contain nothing.
#[tokio::test]
async fn a_file_of_empty_parts_is_refused() {
    let store = Store::start().await;
    store.table("kept", &["id INTEGER"]).await;
    let member = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    for (parts, status) in [(5_000, 200), (200_000, 422)] {
        let file = [member("id\n7\n"), member("").repeat(parts)].concat();
        let path = store.service.folder().join("parts.csv.gz");
        std::fs::write(&path, file).unwrap();
        store
            .scope
            .ops(&["artifact", "put", &path.to_string_lossy(), "out/parts.csv.gz"])
            .expect_success();
        let import = json!({ "tables": { "kept": { "source": "artifact", "uri": "out/parts.csv.gz" } } });
        let answer = store
            .service
            .post(&store.token, &format!("/data/{}/import", store.id), &import)
            .await;
        assert_eq!(answer.status, status, "{parts}: {}", answer.text());
    }
}
