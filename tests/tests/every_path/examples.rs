//! Sends each example of the API reference, and compares its answer with the example. `UPDATE_EXAMPLES=1`
//! writes the answers into the examples instead.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};
use tests::examples::{Example, Names};
use tests::runs::{PAUSE, WITHIN};
use tests::{Answer, Events, Method, examples};

/// URL of deliveries in the examples.
const RECEIVER: &str = "https://accounting.example.com/orders";

/// Runs the examples in an order in which each finds the resources of earlier ones.
struct Story {
    world: Events,
    names: Names,
    operations: BTreeMap<String, (Method, String)>,
    covered_operations: BTreeSet<String>,
    ingest_token: String,
    faults: Vec<String>,
}

impl Story {
    async fn start() -> Self {
        let world = Events::start().await;
        let mut names = Names::default();
        names.bind(&format!("{}/orders", world.receiver.origin), RECEIVER);
        names.bind(&world.scope.account, "acme");
        names.bind(&world.scope.project, "demo");
        names.bind("user:developer", "user:dev");
        let document = world.openapi().await;
        let mut operations = BTreeMap::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                if let Some(id) = operation["operationId"].as_str() {
                    let method = method.to_uppercase().parse().unwrap();
                    operations.insert(id.to_owned(), (method, path.clone()));
                }
            }
        }
        Self {
            world,
            names,
            operations,
            covered_operations: BTreeSet::new(),
            ingest_token: String::new(),
            faults: Vec::new(),
        }
    }

    async fn tell(&mut self, operations: &str) {
        for operation in operations.split_whitespace() {
            if self.world.has(&self.operations[operation].1) {
                self.send(operation).await;
            } else {
                self.covered_operations.insert(operation.to_owned());
            }
        }
    }

    /// Sends the example of an operation and compares the answer with it.
    async fn send(&mut self, operation: &str) -> Answer {
        let example = Example::read(operation);
        let answer = self
            .answer(operation, &example)
            .await
            .expect_status(example.status());
        self.covered_operations.insert(operation.to_owned());
        let body = match answer.header("content-type") {
            "text/event-stream" => json!(answer.text()),
            _ => answer.body.clone(),
        };
        let field = if body.is_string() { "stream" } else { "" };
        let mut like = self.names.like(field, example.body(), &body);
        // Advice depends on the settings of a deployment.
        let warnings = example.body().and_then(|body| body.get("warnings"));
        if let Some(warnings) = warnings.filter(|_| self.world.is_shared()) {
            like["warnings"] = warnings.clone();
        }
        if tests::variable("UPDATE_EXAMPLES").is_some() {
            example.write_body(like);
        } else if example.body() != Some(&like) {
            let body = example.body().unwrap_or(&Value::Null);
            self.faults.push(format!(
                "{operation} says {body:#}\nand the service answers {like:#}"
            ));
        }
        answer
    }

    async fn answer(&self, operation: &str, example: &Example) -> Answer {
        let (method, path) = &self.operations[operation];
        let mut path = path.clone();
        for (name, value) in parts(self.names.actual(example.request("path").unwrap_or(&json!({})))) {
            path = path.replace(&format!("{{{name}}}"), &value);
        }
        let (url, token) = match path.strip_prefix("/api/v1") {
            Some(path) => (path.to_owned(), &self.world.token),
            None => (
                format!("{}{path}", self.world.service.ingest_url()),
                &self.ingest_token,
            ),
        };
        let query = parts(self.names.actual(example.request("query").unwrap_or(&json!({}))));
        let query: Vec<_> = query
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let url = if query.is_empty() {
            url
        } else {
            format!("{url}?{}", query.join("&"))
        };
        let request = self.world.request(method.clone(), &url).token(token);
        match example.request("body") {
            Some(body) => request.json(&self.names.actual(body)).await,
            None => request.await,
        }
    }

    /// Loads an interaction that uses the template, with the operator command.
    fn load_interaction(&self) {
        let prompt = self.names.actual_text(
            Example::read("getPrompt").request("path").unwrap()["pt_id"]
                .as_str()
                .unwrap(),
        );
        let file = self.world.folder().join("interactions.json");
        let versions = json!([{ "version": 3, "prompts": [prompt] }]);
        let interactions = json!([{ "id": "order-mail", "name": "Order mail", "versions": versions }]);
        std::fs::write(&file, interactions.to_string()).unwrap();
        let loaded = self
            .world
            .scope
            .ops(&["interaction", "load", &file.to_string_lossy()]);
        loaded.expect_success();
    }

    /// Publishes the events that the aggregation counts, and waits until they count.
    async fn process_documents(&self) {
        let pages = [
            ("2026-11-01T09:00:00Z", 12.0),
            ("2026-11-01T15:30:00Z", 3.0),
            ("2026-11-03T10:00:00Z", 3.0),
        ];
        for (index, (timestamp, pages)) in pages.into_iter().enumerate() {
            let id = format!("document-{index}");
            let envelope = json!({
                "event_id": id, "event_category": "content", "action": "document_processed",
                "resource_type": "content_object", "resource_id": id, "source": "pipeline", "timestamp": timestamp,
                "account_id": self.world.scope.account, "project_id": self.world.scope.project,
                "details": { "schema_version": 1 },
                "meters": [{ "category": "processing", "type": "pages", "quantity": pages }],
            });
            let file = self.world.folder().join("event.json");
            std::fs::write(&file, envelope.to_string()).unwrap();
            let published = self
                .world
                .scope
                .ops(&["event", "publish", "--file", &file.to_string_lossy()]);
            published.expect_success();
        }
        let query = json!({
            "from": "2026-11-01T00:00:00Z", "to": "2026-11-04", "metrics": [{ "id": "documents", "operation": "count" }],
        });
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self
                .world
                .post(&self.world.token, "/audit-trail/aggregate", &query)
                .await;
            let answer = answer.expect_status(200);
            if answer.body["rows"][0]["metrics"]["documents"] == pages.len() {
                return;
            }
            assert!(Instant::now() < deadline, "{}", answer.text());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Starts the runs that the examples name.
    async fn start_runs(&mut self) {
        for operation in ["getWorkflowRun", "actOnWorkflowRun"] {
            let path = Example::read(operation).request("path").unwrap().clone();
            let (id, run_id) = (
                path["workflow_id"].as_str().unwrap(),
                path["run_id"].as_str().unwrap(),
            );
            let arguments = [
                "run",
                "start",
                "Approval",
                "--id",
                id,
                "--input",
                r#"{"title":"A large order"}"#,
            ];
            let started = self.world.scope.ops_json(&arguments);
            self.names.bind(started["run_id"].as_str().unwrap(), run_id);
            self.wait_for(id, run_id, "/updates", |answer| {
                answer.body["messages"][0].is_object()
            })
            .await;
        }
    }

    async fn wait_for_end(&self) {
        let path = Example::read("getWorkflowRun").request("path").unwrap().clone();
        let (id, run_id) = (
            path["workflow_id"].as_str().unwrap(),
            path["run_id"].as_str().unwrap(),
        );
        self.wait_for(id, run_id, "", |answer| answer.body["status"] == "COMPLETED")
            .await;
    }

    async fn wait_for(&self, workflow_id: &str, run_id: &str, below: &str, is_so: fn(&Answer) -> bool) {
        let path = format!(
            "/workflows/runs/{workflow_id}/{}{below}",
            self.names.actual_text(run_id)
        );
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self.world.get(&self.world.token, &path).await.expect_status(200);
            if is_so(&answer) {
                return;
            }
            assert!(Instant::now() < deadline, "{}", answer.text());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the search finds the event of the example.
    async fn wait_for_logged_event(&self) {
        let search = self
            .names
            .actual(Example::read("searchEvents").request("body").unwrap());
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self
                .world
                .post(&self.world.token, "/events/search", &search)
                .await;
            if answer.expect_status(200).body["events"][0].is_object() {
                return;
            }
            assert!(Instant::now() < deadline, "the event is not found");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Makes the delivery that the examples cancel and retry: one to a run that waits for a decision.
    async fn open_delivery(&mut self) {
        let subscription = json!({
            "name": "Approvals", "run_as_role": "reader", "target": { "type": "workflow", "endpoint": "Approval" },
            "filter": { "event_category": ["external"], "resource_type": ["refund"] },
        });
        let subscription = self.world.subscribe(&subscription).await;
        let path = format!(
            "/events/subscriptions/{}/send",
            subscription["id"].as_str().unwrap()
        );
        let event = json!({ "event": { "details": { "title": "A refund" } } });
        let answer = self.world.post(&self.world.token, &path, &event).await;
        let test = answer.expect_status(202).body;
        let delivery = test["delivery_id"].as_str().unwrap();
        self.names.bind(delivery, delivery_in("cancelDelivery").as_str());
        let event = test["event_id"].as_str().unwrap();
        self.world.delivery_of(event, &["running"]).await;
    }

    async fn wait_for_cancelled_delivery(&self) {
        let path = format!(
            "/events/deliveries/{}",
            self.names.actual_text(&delivery_in("cancelDelivery"))
        );
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self.world.get(&self.world.token, &path).await.expect_status(200);
            if answer.body["status"] == "cancelled" {
                return;
            }
            assert!(Instant::now() < deadline, "{}", answer.text());
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn wait_for_delivery(&self) {
        let example = Example::read("searchDeliveries");
        let event = example.request("body").unwrap()["event_id"].as_str().unwrap();
        self.world
            .delivery_of(&self.names.actual_text(event), &["succeeded"])
            .await;
    }
}

fn delivery_in(operation: &str) -> String {
    let example = Example::read(operation);
    let id = &example.request("path").unwrap()["delivery_id"];
    id.as_str().unwrap().to_owned()
}

fn parts(values: Value) -> Vec<(String, String)> {
    let values = values.as_object().cloned().unwrap_or_default().into_iter();
    let text = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(","),
        other => other.to_string(),
    };
    values.map(|(name, value)| (name, text(value))).collect()
}

#[tokio::test]
async fn every_example_is_answered_as_it_says() {
    let mut story = Story::start().await;
    story.tell("createPrompt getPrompt updatePrompt").await;
    story.load_interaction();
    story
        .tell("listPrompts countPromptFacets renderPrompt forkPrompt listPromptForks listPromptVersions getPromptVersion listPromptInteractions publishPrompt")
        .await;
    story.tell("deletePrompt listAuditEvents").await;

    story
        .tell("createDataStore createTables createUpload importRows getImport listDataStores getDataStore")
        .await;
    story
        .tell("listTables getTable queryDataStore queryDataStoreBatch validateQueries")
        .await;
    story
        .tell("createDashboard listDashboards getDashboard setDashboardVersioning updateDashboard")
        .await;
    story
        .tell("createDashboardSnapshot listDashboardVersions promoteDashboardVersion archiveDashboard")
        .await;
    story
        .tell("alterTable updateSchema getSchema listSchemaChanges")
        .await;
    story
        .tell("createStoreSnapshot listStoreVersions queryStoreVersion dropTable rollBackDataStore")
        .await;
    story.tell("downloadDataStore archiveDataStore").await;

    story
        .tell("createKey listKeys getKey rotateKey revokeKey addMember listMembers getMember updateMember removeMember getMe")
        .await;

    let channel = story.send("createChannel").await;
    story.ingest_token = channel.body["ingest_token"].as_str().unwrap().to_owned();
    story
        .tell("listPresets listChannels getChannel updateChannel")
        .await;
    story
        .tell(
            "testFilter createSubscription listSubscriptions getSubscription updateSubscription ingestEvent",
        )
        .await;
    story.wait_for_delivery().await;
    story
        .tell("searchDeliveries getDelivery getEvent getSubscriptionStatistics")
        .await;
    story.wait_for_logged_event().await;
    story.tell("searchEvents sendTestEvent redriveDeliveries").await;
    story.open_delivery().await;
    story.tell("cancelDelivery").await;
    story.wait_for_cancelled_delivery().await;
    story.tell("retryDelivery deleteSubscription deleteChannel").await;

    story.process_documents().await;
    story.tell("aggregateEvents").await;

    story.start_runs().await;
    story
        .tell("listWorkflowTypes listWorkflowRuns queryWorkflowRun publishRunUpdate listRunUpdates signalWorkflowRun")
        .await;
    story.wait_for_end().await;
    story
        .tell("getWorkflowRun streamRunUpdates actOnWorkflowRun listConversations")
        .await;

    assert!(
        story.faults.is_empty(),
        "{}\nUPDATE_EXAMPLES=1 writes these answers into the examples; `make openapi` puts them into the document.",
        story.faults.join("\n")
    );
    assert_eq!(story.covered_operations, examples::all());
    let operations: BTreeSet<_> = story.operations.into_keys().collect();
    assert_eq!(story.covered_operations, operations);
}
