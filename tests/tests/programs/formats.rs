//! Tests that data of every format is read by this build: `tests/data/formats` has a backup that the first
//! release of each format made. `FORMAT_WRITE=1` writes that of the current format, once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::{Client, Operator, Process};

const FOLDER: &str = "data/formats";

/// Returns the backups of all formats.
fn backups() -> Vec<PathBuf> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    paths
}

/// Makes one of each kind of record.
async fn fill(client: &Client, token: &str, operator: &Operator) {
    let prompt =
        json!({ "name": "Kept", "role": "user", "content_type": "handlebars", "content": "Hello {{name}}!" });
    client.post(token, "/prompts", &prompt).await.expect_status(201);
    let store = client
        .post(token, "/data", &json!({ "name": "Kept" }))
        .await
        .expect_status(201)
        .id();
    let columns = json!([{ "name": "id", "type": "BIGINT", "primary_key": true }, { "name": "name", "type": "STRING" }]);
    let tables = json!({ "tables": [{ "name": "horses", "columns": columns }] });
    client
        .post(token, &format!("/data/{store}/tables"), &tables)
        .await
        .expect_status(201);
    let rows = json!([{ "id": 1, "name": "Bella" }, { "id": 2, "name": "Max" }]);
    let import = json!({ "tables": { "horses": { "source": "inline", "data": rows } } });
    client
        .post(token, &format!("/data/{store}/import"), &import)
        .await
        .expect_status(200);
    for arguments in [
        &["run", "start", "Steps", "--id", "kept-steps", "steps:=2"][..],
        &["run", "start", "Approval", "--id", "kept-approval", "title=Horse"],
    ] {
        operator.run(arguments).expect_success();
    }
    let channel = json!({ "name": "Kept", "source": "kept" });
    let channel = client
        .post(token, "/events/channels", &channel)
        .await
        .expect_status(201)
        .body;
    let subscription = json!({
        "name": "Kept", "run_as_role": "executor", "filter": { "event_category": ["external"] },
        "target": { "type": "workflow", "endpoint": "Approval", "vars": {} },
    });
    client
        .post(token, "/events/subscriptions", &subscription)
        .await
        .expect_status(201);
    let origin = client.base_url().trim_end_matches("/api/v1");
    let url = format!(
        "{origin}/ingest/webhooks/events/acme/demo/{}",
        channel["id"].as_str().unwrap()
    );
    let event = client
        .request(tests::Method::POST, &url)
        .json(&json!({ "action": "kept" }));
    let bearer = format!("Bearer {}", channel["ingest_token"].as_str().unwrap());
    event.header("authorization", &bearer).await.expect_status(202);
}

/// Reads what [`fill`] made, and goes on with it.
async fn check(client: &Client, token: &str) {
    let prompts = client.get(token, "/prompts").await.expect_status(200).body;
    let prompt = format!("/prompts/{}", prompts[0]["id"].as_str().unwrap());
    let prompt = client.get(token, &prompt).await.expect_status(200).body;
    assert_eq!(prompt["content"], "Hello {{name}}!", "{prompt}");
    let stores = client.get(token, "/data").await.expect_status(200).body;
    let store = stores[0]["id"].as_str().unwrap().to_owned();
    let query = json!({ "sql": "SELECT name FROM horses ORDER BY id" });
    let names = client
        .post(token, &format!("/data/{store}/query"), &query)
        .await
        .expect_status(200)
        .body;
    assert_eq!(names["rows"], json!([["Bella"], ["Max"]]));
    let rows =
        json!({ "tables": { "horses": { "source": "inline", "data": [{ "id": 3, "name": "Rex" }] } } });
    client
        .post(token, &format!("/data/{store}/import"), &rows)
        .await
        .expect_status(200);
    let deliveries = client
        .post(token, "/events/deliveries/search", &json!({}))
        .await
        .expect_status(200)
        .body;
    assert_eq!(deliveries["deliveries"][0]["status"], "running", "{deliveries}");
    let trail = client.get(token, "/audit-trail").await.expect_status(200).body;
    assert!(trail["events"].as_array().unwrap().len() > 4, "{trail}");
    let runs = client
        .post(token, "/workflows/runs", &json!({}))
        .await
        .expect_status(200)
        .body;
    let run = |id: &str| {
        let mut runs = runs["runs"].as_array().unwrap().iter();
        runs.find(|run| run["workflow_id"] == id)
            .unwrap_or_else(|| panic!("{runs:?}"))
            .clone()
    };
    assert_eq!(run("kept-steps")["status"], "COMPLETED");
    let approval = run("kept-approval");
    assert_eq!(approval["status"], "RUNNING");
    let path = format!(
        "/workflows/runs/kept-approval/{}",
        approval["run_id"].as_str().unwrap()
    );
    client
        .post(
            token,
            &format!("{path}/signal/Approve"),
            &json!({ "message": "Yes." }),
        )
        .await
        .expect_status(200);
    let mut ended = Value::Null;
    for _ in 0..600 {
        ended = client.get(token, &path).await.expect_status(200).body;
        if ended["status"] != "RUNNING" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(ended["status"], "COMPLETED", "{ended}");
}

#[tokio::test]
async fn data_of_every_format_is_read_locally() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let current = folder.path().join("current");
    let process = Process::start(&current, &log, &[]);
    let format: Value = serde_json::from_slice(&fs::read(current.join("format.json")).unwrap()).unwrap();
    let name = format!("format-{}.tar.zst", format["format"]);
    if tests::variable("FORMAT_WRITE").is_some() {
        fs::create_dir_all(FOLDER).unwrap();
        let operator = Operator::new(&current);
        fill(&Client::new(process.base_url()), process.token(), &operator).await;
        // The runs that it started end, and their deliveries are recorded.
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let file = Path::new(FOLDER).join(&name);
        operator.run(&["backup", file.to_str().unwrap()]).expect_success();
    }
    drop(process);
    let backups = backups();
    assert!(
        backups.iter().any(|backup| backup.ends_with(&name)),
        "{name} is missing: {backups:?}"
    );
    for (number, backup) in backups.iter().enumerate() {
        let data = folder.path().join(format!("restored-{number}"));
        let operator = Operator::new(&data);
        operator
            .run(&["restore", backup.to_str().unwrap()])
            .expect_success();
        operator.run(&["check"]).expect_success();
        let mut process = Process::start(&data, &log, &[]);
        check(&Client::new(process.base_url()), process.token()).await;
        process.stop();
        operator.run(&["check"]).expect_success();
    }
}
