//! Tests functions that Lambda freezes between invocations: unfinished work would be lost.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::lambda::invocations::{api_request, messages, url_request};
use tests::lambda::{Answer, Aws, Emulators, Function};
use tests::{Runs, Scope, binary, unique};

/// Requests, each followed by a freeze, per function.
const FREEZES: usize = 4;
/// Longest wait for a process to sleep, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Local service whose tables and objects the functions use.
struct World {
    runs: Runs,
    aws: Aws,
    _emulators: Emulators,
    _folder: TempDir,
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let emulators = Emulators::start(&binary("emulators"), folder.path());
        let variables = emulators.of_a_runner();
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let runs = Runs::start_local_with(&variables).await;
        let aws = Aws::over(&emulators, &runs.service.data_dir()).await;
        Self {
            runs,
            aws,
            _emulators: emulators,
            _folder: folder,
        }
    }

    async fn function(&self, name: &str) -> Function {
        let folder = self.runs.service.folder();
        Function::start(&binary(name), &self.aws, &self.runs.service.data_dir(), folder).await
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        api_request(method, path, &self.runs.token, body)
    }

    /// Gives an event to a function, freezes it, and asserts that no work was left. Its connections are
    /// closed before it continues, as AWS closes idle ones.
    async fn ask(&self, function: &mut Function, event: Value) -> Answer {
        let count = self.aws.calls_after(0).len();
        let answer = function.invoke(event).await;
        wait_for_children(function).await;
        function.freeze();
        for call in self.aws.calls_after(count) {
            let in_time = call.answered.is_some_and(|answered| answered <= answer.at);
            assert!(in_time, "{} was under way after the answer", call.name);
        }
        let count = self.aws.calls_after(0).len();
        self.aws.close_connections().await;
        function.thaw();
        assert_eq!(
            self.aws.calls_after(count).len(),
            0,
            "called while nothing was asked"
        );
        answer
    }

    /// Sends a request in this way, and asserts its status.
    async fn ask_api(
        &self,
        function: &mut Function,
        method: &str,
        path: &str,
        body: &Value,
        status: u64,
    ) -> Value {
        let answer = self.ask(function, self.request(method, path, body)).await;
        assert_eq!(answer.status(), status, "{method} {path}: {}", answer.body);
        answer.json()
    }

    /// Returns the number of audit records of a resource.
    async fn records_of(&self, resource: &str) -> usize {
        let path = format!("/audit-trail?resourceId={resource}");
        let page = self
            .runs
            .service
            .get(&self.runs.token, &path)
            .await
            .expect_status(200)
            .body;
        page["events"].as_array().map_or(0, Vec::len)
    }
}

/// Asserts that no child still works for an answer that was given: each waits for its next task.
async fn wait_for_children(function: &Function) {
    let deadline = Instant::now() + PATIENCE;
    for id in function.processes().into_iter().skip(1) {
        while state(id) == Some('R') {
            assert!(Instant::now() < deadline, "process {id} does not come to rest");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Returns the third field of `/proc/<id>/stat`, after the name in parentheses. None for a process that is
/// gone.
fn state(id: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn succeeded(answer: &Answer) {
    let failures = &answer.body["batchItemFailures"];
    assert!(failures.is_null() || failures == &json!([]), "{}", answer.body);
}

#[tokio::test]
async fn prompts_function_frozen_after_each_answer_loses_nothing_locally() {
    let world = World::start().await;
    let mut function = world.function("prompts").await;
    for _ in 0..FREEZES {
        let body = json!({ "name": unique("prompt"), "role": "user", "content_type": "handlebars", "content": "Hello {{name}}!" });
        let prompt = world.ask_api(&mut function, "POST", "/prompts", &body, 201).await;
        let id = prompt["id"].as_str().unwrap();
        assert_eq!(world.records_of(id).await, 1);
        world
            .ask_api(&mut function, "GET", &format!("/prompts/{id}"), &Value::Null, 200)
            .await;
        let change = json!({ "content": "Hi {{name}}!" });
        world
            .ask_api(&mut function, "PUT", &format!("/prompts/{id}"), &change, 200)
            .await;
        assert_eq!(world.records_of(id).await, 2);
    }
}

#[tokio::test]
async fn datastores_function_frozen_after_each_answer_loses_nothing_locally() {
    let world = World::start().await;
    let mut function = world.function("datastores").await;
    let body = json!({ "name": unique("store") });
    let store = world.ask_api(&mut function, "POST", "/data", &body, 201).await;
    let id = store["id"].as_str().unwrap();
    let columns = json!([{ "name": "id", "type": "BIGINT", "primary_key": true }]);
    let table = json!({ "tables": [{ "name": "t", "columns": columns }] });
    world
        .ask_api(&mut function, "POST", &format!("/data/{id}/tables"), &table, 201)
        .await;
    for number in 0..FREEZES {
        let rows = json!({ "tables": { "t": { "source": "inline", "data": [{ "id": number }] } } });
        world
            .ask_api(&mut function, "POST", &format!("/data/{id}/import"), &rows, 200)
            .await;
        let query = json!({ "sql": "SELECT count(*) FROM t" });
        let answer = world
            .ask_api(&mut function, "POST", &format!("/data/{id}/query"), &query, 200)
            .await;
        assert_eq!(answer["rows"], json!([[number + 1]]));
        // One statement that fails, and one that stops at its limit of rows.
        let wrong = json!({ "sql": "SELECT 1 FROM nowhere" });
        world
            .ask_api(&mut function, "POST", &format!("/data/{id}/query"), &wrong, 400)
            .await;
        let many = json!({ "sql": "SELECT * FROM range(1000000)", "limit": 3 });
        world
            .ask_api(&mut function, "POST", &format!("/data/{id}/query"), &many, 200)
            .await;
    }
    assert!(world.records_of(id).await > FREEZES);
}

#[tokio::test]
async fn subscriptions_and_ingest_functions_frozen_after_each_answer_lose_nothing_locally() {
    let world = World::start().await;
    let mut function = world.function("subscriptions").await;
    let mut ingest = world.function("ingest").await;
    for _ in 0..FREEZES {
        let channel = json!({ "name": "Plain", "source": "tests" });
        let channel = world
            .ask_api(&mut function, "POST", "/events/channels", &channel, 201)
            .await;
        let (id, token) = (
            channel["id"].as_str().unwrap(),
            channel["ingest_token"].as_str().unwrap(),
        );
        assert_eq!(world.records_of(id).await, 1);
        let Scope { account, project, .. } = &world.runs.scope;
        let path = format!("/webhooks/events/{account}/{project}/{id}");
        let event = json!({ "action": "made", "resource_type": "thing", "resource_id": "1" });
        let answer = world
            .ask(&mut ingest, url_request("POST", &path, token, &event))
            .await;
        assert_eq!(answer.status(), 202, "{}", answer.body);
    }
}

#[tokio::test]
async fn workflows_and_audit_functions_frozen_after_each_answer_lose_nothing_locally() {
    let world = World::start().await;
    for (name, method, path, body) in [
        ("workflows", "POST", "/workflows/runs", json!({})),
        ("audit", "GET", "/audit-trail", Value::Null),
    ] {
        let mut function = world.function(name).await;
        for _ in 0..FREEZES {
            world.ask_api(&mut function, method, path, &body, 200).await;
        }
    }
}

#[tokio::test]
async fn stream_function_frozen_after_each_answer_loses_nothing_locally() {
    let world = World::start().await;
    let mut function = world.function("stream").await;
    for since in ["", "?since=0"] {
        let run = world.runs.approval("Invoice").await;
        let request = world.request("GET", &run.path(&format!("/stream{since}")), &Value::Null);
        let decision = json!({ "message": "yes" });
        let (answer, ()) = tokio::join!(
            world.ask(&mut function, request),
            world.runs.signal(&run, "Approve", &decision)
        );
        assert_eq!(answer.status(), 200, "{}", answer.body);
        let frames = answer.body["body"].as_str().unwrap();
        assert_eq!(
            frames.contains("waiting for an approval"),
            !since.is_empty(),
            "{frames}"
        );
        assert!(frames.contains("\"status\":\"COMPLETED\""), "{frames}");
    }
}

#[tokio::test]
async fn queue_functions_frozen_after_each_batch_lose_nothing_locally() {
    let world = World::start().await;
    let Scope { account, project, .. } = &world.runs.scope;
    let run = json!({ "account": account, "project": project, "run_id": unique("run") });
    let event = json!({
        "detail-type": "millrace.event",
        "detail": {
            "event_id": unique("event"), "event_category": "external", "action": "made", "resource_type": "thing",
            "resource_id": "1", "account_id": account, "project_id": project, "timestamp": "2026-01-01T00:00:00Z",
            "source": "external:tests",
        },
    });
    for (name, event) in [
        ("worker", messages(&[run])),
        ("matcher", messages(&[event])),
        ("sweeper", json!({})),
        ("importer", json!({})),
        ("importer", json!({ "collect": true })),
    ] {
        let mut function = world.function(name).await;
        for _ in 0..FREEZES {
            let answer = world.ask(&mut function, event.clone()).await;
            succeeded(&answer);
        }
    }
}
