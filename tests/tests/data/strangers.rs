//! Tests values as strangers send them (`tests/data/strangers/values.jsonl`): each is kept exactly or
//! refused.
//!
//! A case of the source `text` is the same text for every source: a field of CSV, a value of a JSON file and
//! of a row in the request, a text whose column changes its type, and a parameter. All of them take it as the
//! same value, or all of them refuse it.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tests::stores::{artifact, columns, inline};
use tests::{Answer, Method, Store};

const CASES: &str = include_str!("../../data/strangers/values.jsonl");

#[derive(Deserialize)]
struct Case {
    source: String,
    #[serde(default, rename = "type")]
    column_type: String,
    #[serde(default)]
    columns: Vec<String>,
    #[serde(default)]
    input: String,
    #[serde(default)]
    rows: Value,
    #[serde(default)]
    sql: String,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    body: Value,
    right: Value,
    why: String,
}

fn cases(source: &str) -> Vec<Case> {
    let cases = CASES
        .lines()
        .map(|line| serde_json::from_str::<Case>(line).unwrap());
    cases.filter(|case| case.source == source).collect()
}

/// Adds a line to `wrong` where an answer is not what a case says.
fn judge(case: &Case, rows: Option<&Value>, answer: &Answer, wrong: &mut Vec<String>) {
    let text = answer.text();
    let is_right = match case.right.get("status") {
        Some(status) => {
            let says = case.right["says"].as_array().unwrap();
            json!(answer.status) == *status && says.iter().all(|part| text.contains(part.as_str().unwrap()))
        }
        None => rows == Some(&case.right),
    };
    if !is_right {
        wrong.push(format!(
            "{} ({}): {} {:?} {} is not {}",
            case.input, case.why, case.sql, rows, text, case.right
        ));
    }
}

/// Returns a field of CSV with this text.
fn field(text: &str) -> String {
    let is_plain = !text.is_empty() && text.trim() == text && !text.contains([',', '"', '\n']);
    match is_plain {
        true => text.to_owned(),
        false => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

/// Imports texts as the rows of the table `t`, from one of the sources.
async fn import(store: &Store, source: &str, texts: &[&str]) -> Answer {
    let rows: Vec<_> = texts
        .iter()
        .zip(1..)
        .map(|(text, id)| json!({ "id": id, "v": text }))
        .collect();
    let mut body = match source {
        "inline" => inline("t", &Value::Array(rows)),
        "csv" => {
            let lines = texts
                .iter()
                .zip(1..)
                .map(|(text, id)| format!("{id},{}\n", field(text)));
            let file = format!("id,v\n{}", lines.collect::<String>());
            store.put_artifact("out/texts.csv", file.as_bytes());
            artifact("t", "out/texts.csv")
        }
        _ => {
            let lines = rows.iter().map(|row| format!("{row}\n"));
            store.put_artifact("out/texts.ndjson", lines.collect::<String>().as_bytes());
            artifact("t", "out/texts.ndjson")
        }
    };
    body["mode"] = "replace".into();
    store.post("/import", &body).await
}

async fn values(store: &Store) -> Vec<Value> {
    let rows = store.rows("SELECT v FROM t ORDER BY id").await;
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row[0].clone())
        .collect()
}

/// JSON of a text in a JSON file is that text, so the JSON of a case is sent as it is.
fn is_json_in_json(source: &str, column_type: &str) -> bool {
    column_type == "JSON" && source != "csv"
}

#[tokio::test]
async fn a_text_is_the_same_value_from_every_source() {
    let store = Store::start().await;
    let mut by_type: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in cases("text") {
        by_type.entry(case.column_type.clone()).or_default().push(case);
    }
    let mut wrong = Vec::new();
    for (column_type, cases) in &by_type {
        let (bad, good): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.right == "refused");
        let texts = |cases: &[&Case]| cases.iter().map(|case| case.input.clone()).collect::<Vec<_>>();
        let (bad, good_texts) = (texts(&bad), texts(&good));
        let (bad, good_texts): (Vec<_>, Vec<_>) = (
            bad.iter().map(String::as_str).collect(),
            good_texts.iter().map(String::as_str).collect(),
        );
        let right: Vec<_> = good.iter().map(|case| case.right.clone()).collect();
        store
            .table("t", &["id BIGINT", &format!("v {column_type}")])
            .await;
        for source in ["csv", "json", "inline"] {
            if is_json_in_json(source, column_type) {
                continue;
            }
            import(&store, source, &good_texts).await.expect_status(200);
            let actual = values(&store).await;
            if actual != right {
                wrong.push(format!(
                    "{column_type} from {source}: {actual:?} is not {right:?}"
                ));
            }
            if bad.is_empty() {
                continue;
            }
            let answer = import(&store, source, &bad).await;
            let errors = answer.body["errors"].as_array().cloned().unwrap_or_default();
            let refused: BTreeSet<_> = errors.iter().filter_map(|error| error["row"].as_u64()).collect();
            for (text, row) in bad.iter().zip(1..) {
                if !refused.contains(&row) {
                    wrong.push(format!("{column_type} from {source}: '{text}' is not refused"));
                }
            }
        }
        // The table still has the good values of the last source.
        let is_comparable = |id: &usize| column_type != "JSON" && !right[id - 1].is_null();
        let ids: Vec<_> = (1..=right.len()).filter(is_comparable).collect();
        if !ids.is_empty() {
            let conditions: Vec<_> = ids
                .iter()
                .map(|id| format!("(id = {id} AND v = {{{{p{id}}}}})"))
                .collect();
            let sql = format!("SELECT id FROM t WHERE {} ORDER BY id", conditions.join(" OR "));
            let params: Map<_, _> = ids
                .iter()
                .map(|id| (format!("p{id}"), good_texts[id - 1].into()))
                .collect();
            let answer = store.query(&sql, &params.into()).await;
            let expected: Value = ids.iter().map(|id| json!([id])).collect();
            if answer.body["rows"] != expected {
                wrong.push(format!(
                    "{column_type} as parameters: {good_texts:?} find {}",
                    answer.text()
                ));
            }
        }
        for text in &bad {
            let answer = store
                .query("SELECT id FROM t WHERE v = {{p}}", &json!({ "p": text }))
                .await;
            if answer.status != 422 {
                wrong.push(format!(
                    "{column_type} as a parameter: '{text}' answers {}",
                    answer.text()
                ));
            }
        }
        store.delete("/tables/t").await;
        changed_types(&store, column_type, &good_texts, &right, &bad, &mut wrong).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes the type of a column of texts.
async fn changed_types(
    store: &Store,
    column_type: &str,
    good: &[&str],
    right: &[Value],
    bad: &[&str],
    wrong: &mut Vec<String>,
) {
    if column_type == "STRING" {
        return;
    }
    let change = json!({ "modify_columns": [{ "name": "v", "type": column_type }] });
    store.table("t", &["id BIGINT", "v STRING"]).await;
    for text in bad {
        import(store, "inline", &[text]).await.expect_status(200);
        let answer = store.alter("t", &change).await;
        if answer.status != 422 {
            wrong.push(format!(
                "{column_type} from STRING: '{text}' answers {}",
                answer.text()
            ));
            store.delete("/tables/t").await;
            store.table("t", &["id BIGINT", "v STRING"]).await;
        }
    }
    import(store, "inline", good).await.expect_status(200);
    store.alter("t", &change).await.expect_status(200);
    let actual = values(store).await;
    if actual != right {
        wrong.push(format!("{column_type} from STRING: {actual:?} is not {right:?}"));
    }
    store.delete("/tables/t").await;
}

/// Imports JSON as the only row of the table `t`.
async fn import_json(store: &Store, source: &str, json: &str) -> Answer {
    let file = match source {
        "csv" => ("out/deep.csv", format!("id,v\n1,{json}\n")),
        "json" => ("out/deep.ndjson", format!("{{\"id\":1,\"v\":{json}}}\n")),
        _ => {
            let body = format!(
                "{{\"mode\":\"replace\",\"tables\":{{\"t\":{{\"source\":\"inline\",\"data\":[{{\"id\":1,\"v\":{json}}}]}}}}}}"
            );
            let request = store.service.request(Method::POST, &store.path("/import"));
            let request = request
                .token(&store.token)
                .header("content-type", "application/json");
            return request.body(body).await;
        }
    };
    store.put_artifact(file.0, file.1.as_bytes());
    let mut body = artifact("t", file.0);
    body["mode"] = "replace".into();
    store.post("/import", &body).await
}

#[tokio::test]
async fn json_nests_128_levels_from_every_source() {
    let store = Store::start().await;
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let (good, bad) = (lists(128), lists(129));
    // What looks like brackets within texts, and many values beside one another, are no levels.
    let wide = format!("[{}]", vec![r#"["[[[[[[[[[["]"#; 200].join(","));
    store.table("t", &["id BIGINT", "v JSON"]).await;
    for source in ["csv", "json", "inline"] {
        import_json(&store, source, &good).await.expect_status(200);
        let length = store.rows("SELECT strlen(CAST(v AS VARCHAR)) FROM t").await;
        assert_eq!(length, json!([[256]]), "{source}");
        if source != "csv" {
            import_json(&store, source, &wide).await.expect_status(200);
        }
        let refused = import_json(&store, source, &bad).await;
        let refused = refused.expect_error(422, "unprocessable");
        for part in ["row 1", "'v'", "128 levels"] {
            assert!(
                refused.message().contains(part),
                "{source}: {}",
                refused.message()
            );
        }
    }
    store.delete("/tables/t").await;
    store.table("t", &["id BIGINT", "v STRING"]).await;
    let change = json!({ "modify_columns": [{ "name": "v", "type": "JSON" }] });
    store
        .append("t", &json!([{ "id": 1, "v": bad }]))
        .await
        .expect_status(200);
    let refused = store.alter("t", &change).await.expect_error(422, "unprocessable");
    assert!(
        refused.text().contains("row 1") && refused.text().contains("'v'"),
        "{}",
        refused.text()
    );
    let mut texts = inline("t", &json!([{ "id": 1, "v": good }, { "id": 2, "v": wide }]));
    texts["mode"] = "replace".into();
    store.post("/import", &texts).await.expect_status(200);
    store.alter("t", &change).await.expect_status(200);
}

#[tokio::test]
async fn files_are_imported_exactly_or_refused() {
    let store = Store::start().await;
    let mut wrong = Vec::new();
    for (source, ending) in [("csv", "csv"), ("json", "ndjson"), ("parquet", "parquet")] {
        for case in cases(source) {
            let definitions: Vec<_> = case.columns.iter().map(String::as_str).collect();
            store.table("t", &definitions).await;
            let bytes = match source {
                "parquet" => BASE64.decode(&case.input).unwrap(),
                _ => case.input.clone().into_bytes(),
            };
            let uri = format!("out/file.{ending}");
            store.put_artifact(&uri, &bytes);
            let answer = store.post("/import", &artifact("t", &uri)).await;
            let rows = match answer.status {
                200 => Some(store.rows("SELECT * FROM t").await),
                _ => None,
            };
            judge(&case, rows.as_ref(), &answer, &mut wrong);
            store.delete("/tables/t").await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn queries_answer_exactly_or_are_refused() {
    let store = Store::start().await;
    let cases = cases("query");
    let definitions: Vec<_> = cases[0].columns.iter().map(String::as_str).collect();
    store.table("t", &definitions).await;
    store.append("t", &cases[0].rows).await.expect_status(200);
    let mut wrong = Vec::new();
    for case in &cases {
        let answer = store.query(&case.sql, &case.params).await;
        let rows = answer.body.get("rows").cloned();
        judge(case, rows.as_ref(), &answer, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_import_with_an_unknown_field_is_refused_with_its_place() {
    let store = Store::start().await;
    let table = json!({ "name": "t", "columns": columns(&["id BIGINT"]) });
    store
        .post("/tables", &json!({ "tables": [table] }))
        .await
        .expect_status(201);
    let mut wrong = Vec::new();
    for case in cases("import") {
        let answer = store.post("/import", &case.body).await;
        judge(&case, None, &answer, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(store.rows("SELECT count(*) FROM t").await, json!([[0]]));
}

#[tokio::test]
async fn a_default_that_its_column_would_round_is_refused_when_it_is_set() {
    let store = Store::start().await;
    store
        .table("t", &["id BIGINT", "n BIGINT", "f DOUBLE", "seen TIMESTAMP"])
        .await;
    let time = "'2024-01-05T10:00:00.123456789Z'";
    for (column, default) in [
        ("x DOUBLE", "9007199254740993"),
        ("x FLOAT", "16777217"),
        ("x TIMESTAMP", time),
        ("x TIMESTAMP", "'2016-12-31T23:59:60Z'"),
    ] {
        let mut definitions = columns(&[column]);
        definitions[0]["default"] = default.into();
        let table = json!({ "tables": [{ "name": "u", "columns": definitions }] });
        let added = json!({ "add_columns": definitions });
        for (answer, place) in [
            (store.post("/tables", &table).await, "columns[0].default"),
            (store.alter("t", &added).await, "add_columns[0].default"),
        ] {
            let refused = answer.expect_error(400, "invalid_request");
            let message = refused.message();
            assert!(
                message.contains(place) && message.contains("without loss"),
                "{message}"
            );
        }
    }
    let modify = |change: Value| json!({ "modify_columns": [change] });
    let exact = modify(json!({ "name": "n", "default": "9007199254740993" }));
    store.alter("t", &exact).await.expect_status(200);
    for change in [
        json!({ "name": "n", "type": "DOUBLE" }),
        json!({ "name": "f", "default": "9007199254740993" }),
        json!({ "name": "seen", "default": time }),
    ] {
        let refused = store.alter("t", &modify(change)).await;
        refused.expect_error(400, "invalid_request");
    }
    let exact_time = modify(json!({ "name": "seen", "default": "'2024-01-05T10:00+02:00'" }));
    store.alter("t", &exact_time).await.expect_status(200);
    store.append("t", &json!([{ "id": 1 }])).await.expect_status(200);
    assert_eq!(
        store.rows("SELECT n, seen FROM t").await,
        json!([["9007199254740993", "2024-01-05T08:00:00.000Z"]])
    );
}
