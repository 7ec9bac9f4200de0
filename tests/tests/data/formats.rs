//! Tests files of every format, as artifacts: how the format is detected, which files are accepted, and the
//! errors of the others.

use serde_json::{Map, Value, json};
use tests::stores::{artifact, columns};
use tests::{Answer, Store, peers_node, unique};

const PARQUET: &[u8] = include_bytes!("../../data/rows.parquet");

async fn started() -> Store {
    let store = Store::start().await;
    store
        .table("t", &["id BIGINT", "name STRING", "amount DECIMAL(12,2)"])
        .await;
    store
}

/// Imports a file as the table's only rows.
async fn replace(store: &Store, uri: &str, format: Option<&str>, bytes: &[u8]) -> Answer {
    store.put_artifact(uri, bytes);
    let mut body = artifact("t", uri);
    body["mode"] = "replace".into();
    if let Some(format) = format {
        body["tables"]["t"]["format"] = format.into();
    }
    store.post("/import", &body).await
}

#[tokio::test]
async fn the_format_is_told_by_the_name_or_by_the_request() {
    let store = started().await;
    let csv = b"id,name,amount\n1,a,1.5\n2,,2\n";
    let array = br#"[{"id":1,"name":"a","amount":1.5},{"id":2,"amount":"2.00"}]"#;
    let lines = b"{\"id\":1,\"name\":\"a\",\"amount\":1.5}\n{\"id\":2,\"amount\":2}\n";
    for (uri, format, bytes) in [
        ("out/rows.csv", None, &csv[..]),
        ("out/rows.json", None, array),
        ("out/Rows.JSON", None, lines),
        ("out/rows.ndjson", None, lines),
        ("out/rows.jsonl", None, lines),
        ("out/rows.json.gz", None, array),
        ("out/rows.parquet", None, PARQUET),
        ("out/rows", Some("csv"), csv),
        ("out/rows", Some("json"), array),
        ("out/rows", Some("json"), lines),
        ("out/rows", Some("ndjson"), lines),
        ("out/rows", Some("parquet"), PARQUET),
        ("out/rows.csv", Some("parquet"), PARQUET),
    ] {
        let answer = replace(&store, uri, format, bytes).await;
        assert_eq!(answer.status, 200, "{uri} {format:?}: {}", answer.text());
        let rows = store.rows("SELECT id, name, amount FROM t ORDER BY id").await;
        assert_eq!(
            rows,
            json!([[1, "a", "1.50"], [2, null, "2.00"]]),
            "{uri} {format:?}"
        );
    }
    for (uri, format) in [
        ("out/rows", None),
        ("out/rows.txt", None),
        ("out/rows.gz", None),
        ("out/rows.xlsx", None),
        ("out/rows.csv", Some("CSV")),
        ("out/rows.csv", Some("")),
        ("out/rows.csv", Some("xlsx")),
    ] {
        let refused = replace(&store, uri, format, csv).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains("format"), "{}", refused.message());
    }
}

#[tokio::test]
async fn a_file_of_another_format_than_told_is_refused() {
    let store = started().await;
    replace(&store, "out/kept.csv", None, b"id\n7\n")
        .await
        .expect_status(200);
    let csv = b"id,name\n1,a\n";
    let json = br#"[{"id":1}]"#;
    for (format, bytes) in [
        ("csv", &json[..]),
        ("csv", PARQUET),
        ("json", csv),
        ("json", PARQUET),
        ("ndjson", csv),
        ("parquet", csv),
        ("parquet", json),
        ("parquet", &PARQUET[..PARQUET.len() - 5]),
        ("json", b""),
        ("parquet", b""),
    ] {
        let refused = replace(&store, "out/bad", Some(format), bytes).await;
        let refused = refused.expect_error(422, "unprocessable");
        assert!(
            refused.message().contains("'t'"),
            "{format}: {}",
            refused.message()
        );
        assert_eq!(store.rows("SELECT id FROM t").await, json!([[7]]), "{format}");
    }
    let deep = format!("[{{\"id\":{}1{}}}]", "[".repeat(1_000), "]".repeat(1_000));
    let refused = replace(&store, "out/deep.json", None, deep.as_bytes()).await;
    refused.expect_error(422, "unprocessable");
    let wide: Vec<_> = (0..5_000).map(|n| format!("c{n}")).collect();
    let wide = format!("{}\n{}\n", wide.join(","), "1,".repeat(4_999) + "1");
    let refused = replace(&store, "out/wide.csv", None, wide.as_bytes()).await;
    let refused = refused.expect_error(422, "unprocessable");
    assert!(refused.message().contains("'c0'"), "{}", refused.message());
    store.table("texts", &["name STRING"]).await;
    store.put_artifact("out/rows.parquet", PARQUET);
    let refused = store
        .post("/import", &artifact("texts", "out/rows.parquet"))
        .await;
    let refused = refused.expect_error(422, "unprocessable");
    assert!(refused.message().contains("'id'"), "{}", refused.message());
}

/// File of the npm package `csv-spectrum`, and the rows that its JSON file lists.
struct Sample {
    name: String,
    csv: String,
    rows: Vec<Map<String, Value>>,
}

fn spectrum() -> Vec<Sample> {
    let folder = peers_node().join("csv-spectrum");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder.join("csvs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut csv = std::fs::read_to_string(&path).unwrap();
        let mut json = std::fs::read_to_string(folder.join("json").join(format!("{name}.json"))).unwrap();
        if name == "location_coordinates" {
            // Column names cannot contain spaces, and the sample's two files disagree about the telephone
            // number.
            for (words, word) in [
                ("Contact Phone Number", "phone"),
                ("Location Coordinates", "location"),
            ] {
                csv = csv.replace(words, word);
                json = json.replace(words, word);
            }
            json = json.replace("1234567890", "2095257564");
        }
        let rows = match serde_json::from_str(&json).unwrap() {
            Value::Array(rows) => rows,
            row => vec![row],
        };
        let rows = rows.into_iter().map(|row| row.as_object().unwrap().clone());
        let rows = rows.collect();
        files.push(Sample { name, csv, rows });
    }
    files
}

#[tokio::test]
async fn csv_spectrum_reads_back_as_its_json_says() {
    let store = Store::start().await;
    let files = spectrum();
    assert_eq!(files.len(), 12);
    for Sample { name, csv, rows } in files {
        let names: Vec<_> = rows[0].keys().cloned().collect();
        let definitions: Vec<_> = names.iter().map(|name| format!("{name} STRING")).collect();
        let definitions: Vec<_> = definitions.iter().map(String::as_str).collect();
        let table = json!({ "name": name, "columns": columns(&definitions) });
        store
            .post("/tables", &json!({ "tables": [table] }))
            .await
            .expect_status(201);
        let uri = format!("{}.csv", unique("spectrum"));
        store.put_artifact(&uri, csv.as_bytes());
        let answer = store.post("/import", &artifact(&name, &uri)).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let actual = store
            .rows(&format!("SELECT {} FROM {name}", names.join(", ")))
            .await;
        let expected: Value = rows
            .iter()
            .map(|row| names.iter().map(|name| row[name].clone()).collect::<Value>())
            .collect();
        assert_eq!(actual, expected, "{name}");
    }
}
