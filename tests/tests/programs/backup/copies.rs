//! Tests `ops backup` and `ops restore`, of a service under load and of one that was killed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use tests::runs::{PAUSE, Starter, WITHIN};
use tests::samples::prompt;
use tests::stores::{columns, inline};
use tests::{Client, Method, Operator, Runs, Scope, unique};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Characters of an event; its details are stored as an object.
const LARGE: usize = 150_000;

/// Load during the backups: writers that each count their answered requests.
struct Load {
    writers: Vec<JoinHandle<()>>,
    counts: Vec<watch::Receiver<u64>>,
}

impl Load {
    async fn start(runs: &Runs, store: &str) -> Self {
        let mut load = Self {
            writers: Vec::new(),
            counts: Vec::new(),
        };
        let (client, token) = (Client::clone(&runs.service), runs.token.clone());
        let scope = runs.starter().scope.clone();
        let channel = json!({ "name": "Load", "source": "tests" });
        let channel = client.post(&token, "/events/channels", &channel).await;
        let channel = channel.expect_status(201).body;
        let url = format!(
            "{}/webhooks/events/{}/{}/{}",
            runs.service.ingest_url(),
            scope.account,
            scope.project,
            channel["id"].as_str().unwrap()
        );
        let ingest_token = channel["ingest_token"].as_str().unwrap().to_owned();
        load.add(|count| prompts(client.clone(), token.clone(), count));
        load.add(|count| events(client.clone(), ingest_token, url, count));
        load.add(|count| versions(client, token, (scope, store.to_owned()), count));
        let starter = runs.starter();
        load.add(|count| async move {
            tokio::task::spawn_blocking(move || starts(&starter, &count))
                .await
                .unwrap();
        });
        load
    }

    fn add<F: Future<Output = ()> + Send + 'static>(&mut self, writer: impl FnOnce(Count) -> F) {
        let (sender, count) = watch::channel(0);
        self.counts.push(count);
        self.writers.push(tokio::spawn(writer(Count(sender))));
    }

    /// Waits until each writer has made `least` requests.
    async fn until(&mut self, least: u64) {
        for count in &mut self.counts {
            count.wait_for(|count| *count >= least).await.unwrap();
        }
    }

    async fn end(self) {
        drop(self.counts);
        for writer in self.writers {
            writer.await.unwrap();
        }
    }
}

/// Counts for as long as a reader exists.
struct Count(watch::Sender<u64>);

impl Count {
    /// Counts one more. Returns whether to continue.
    fn one_more(&self) -> bool {
        self.0.send_modify(|count| *count += 1);
        !self.0.is_closed()
    }
}

async fn prompts(client: Client, token: String, count: Count) {
    while count.one_more() {
        let answer = client.post(&token, "/prompts", &prompt(&unique("load"))).await;
        answer.expect_status(201);
    }
}

async fn events(client: Client, token: String, url: String, count: Count) {
    while count.one_more() {
        let body = json!({ "text": "a".repeat(LARGE) });
        let answer = client.request(Method::POST, &url).token(&token).json(&body).await;
        answer.expect_status(202);
    }
}

/// Makes versions of a store, and removes the earlier ones with their objects.
async fn versions(client: Client, token: String, (scope, store): (Scope, String), count: Count) {
    while count.one_more() {
        for mode in ["append", "append", "replace"] {
            let mut body = inline("t", &json!([{ "n": 1 }]));
            body["mode"] = json!(mode);
            let answer = client.post(&token, &format!("/data/{store}/import"), &body).await;
            answer.expect_status(200);
        }
        let (scope, store) = (scope.clone(), store.clone());
        let collecting = tokio::task::spawn_blocking(move || {
            let arguments = [
                "store",
                "collect",
                &store,
                "--keep-versions-days",
                "0",
                "--grace-hours",
                "0",
            ];
            scope.ops(&arguments).expect_success();
        });
        collecting.await.unwrap();
    }
}

fn starts(starter: &Starter, count: &Count) {
    while count.one_more() {
        starter.begin("Steps", &json!({ "steps": 4, "pause_ms": 100 }));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn backup(operator: &Operator, file: &Path) -> Value {
    operator.json(&["backup", text(file)])
}

/// Restores a backup into a new folder beside it.
fn restore(file: &Path) -> PathBuf {
    let folder = file.with_extension("restored");
    let restored = Operator::new(&folder).json(&["restore", text(file)]);
    assert_eq!(restored["data_dir"], text(&folder));
    folder
}

async fn statuses(runs: &Runs) -> Vec<String> {
    let mut statuses = Vec::new();
    for status in [
        "RUNNING",
        "COMPLETED",
        "FAILED",
        "TERMINATED",
        "CANCELED",
        "TIMED_OUT",
    ] {
        let page = runs.list(&json!({ "status": status, "page_size": 500 })).await;
        let page = page.expect_status(200).body;
        let runs = page["runs"].as_array().unwrap().iter();
        statuses.extend(runs.map(|run| run["status"].as_str().unwrap().to_owned()));
    }
    statuses
}

async fn all_complete(runs: &Runs) -> usize {
    let deadline = Instant::now() + WITHIN;
    loop {
        let statuses = statuses(runs).await;
        if statuses.iter().all(|status| status == "COMPLETED") {
            return statuses.len();
        }
        assert!(Instant::now() < deadline, "not all runs end: {statuses:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_whole_and_its_runs_come_to_their_end_locally() {
    let mut runs = Runs::start_local().await;
    let store = runs
        .service
        .post(&runs.token, "/data", &json!({ "name": "Load" }))
        .await
        .id();
    let tables = json!({ "tables": [{ "name": "t", "columns": columns(&["n BIGINT"]) }] });
    let tables_path = format!("/data/{store}/tables");
    runs.service
        .post(&runs.token, &tables_path, &tables)
        .await
        .expect_status(201);
    let mut load = Load::start(&runs, &store).await;
    let mut backups = Vec::new();
    for n in 0..3 {
        load.until(3 * (n + 1)).await;
        let before = runs
            .service
            .post(&runs.token, "/prompts", &prompt("Before"))
            .await;
        let file = runs.service.folder().join(format!("{n}.tar.zst"));
        let operator = runs.service.operator();
        let to = file.clone();
        let report = tokio::task::spawn_blocking(move || backup(&operator, &to))
            .await
            .unwrap();
        assert!(report["objects"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        backups.push((file, before.id()));
    }
    load.end().await;
    let mut all = 0;
    for (file, before) in backups {
        runs.service.restart_over(&restore(&file));
        runs.service
            .get(&runs.token, &format!("/prompts/{before}"))
            .await
            .expect_status(200);
        assert_eq!(runs.service.operator().json(&["check"])["findings"], json!([]));
        let count = json!({ "sql": "SELECT count(*) AS n FROM t" });
        let rows = runs
            .service
            .post(&runs.token, &format!("/data/{store}/query"), &count)
            .await;
        rows.expect_status(200);
        let runs_of_backup = all_complete(&runs).await;
        assert!(runs_of_backup > all, "no run was started between two backups");
        all = runs_of_backup;
        assert_eq!(runs.service.operator().json(&["check"])["findings"], json!([]));
    }
    let entries = std::fs::read_dir(runs.service.folder()).unwrap();
    let remains = entries.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with(".millrace-backup")
    });
    assert_eq!(remains.count(), 0);
}

#[tokio::test]
async fn a_killed_service_is_backed_up_with_its_keys_and_secrets_locally() {
    let mut runs = Runs::start_local().await;
    let approval = runs.approval("A horse").await;
    let signature = json!({ "header": "x-hub-signature-256", "prefix": "sha256=" });
    let channel = json!({ "name": "Signed", "source": "tests", "signature": signature });
    let channel = runs.service.post(&runs.token, "/events/channels", &channel).await;
    let channel = channel.expect_status(201).id();
    let created = runs
        .service
        .post(&runs.token, "/prompts", &prompt("Kept"))
        .await
        .expect_status(201);
    runs.service.process().kill();
    let file = runs.service.folder().join("killed.tar.zst");
    let operator = runs.service.operator();
    backup(&operator, &file);
    // The backup does not change the directory.
    operator.json(&["check"]);
    runs.service.restart_over(&restore(&file));
    // The token was signed with the keys from before the backup.
    let path = format!("/prompts/{}", created.id());
    let answer = runs.service.get(&runs.token, &path).await.expect_status(200);
    assert_eq!(answer.body, created.body);
    let path = format!("/events/channels/{channel}");
    runs.service.get(&runs.token, &path).await.expect_status(200);
    runs.signal(&approval, "Approve", &json!({ "message": "Brown" }))
        .await;
    runs.wait_for_status(&approval, "COMPLETED").await;
    assert_eq!(runs.service.operator().json(&["check"])["findings"], json!([]));
}
