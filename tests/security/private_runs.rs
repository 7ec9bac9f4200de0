//! Tests what callers learn of a private run that is not theirs: nothing, wherever its events, deliveries and
//! audit records go.

use serde_json::{Value, json};
use tests::agents::Agents;
use tests::model::Reply;
use tests::{Persona, Receiver, Run};

/// Words of the model, which the owner alone may read.
const WORDS: &str = "the-merger-is-on-friday";
/// User who started the private run.
const OWNER: &str = "ada";
const RANGE: &str = "from=2020-01-01&to=2100-01-01";

/// Conversation of `ada` that failed, its events counted and delivered where they may go.
struct Household {
    world: Agents,
    private: Run,
    receiver: Receiver,
}

impl Household {
    async fn start() -> Self {
        let world = Agents::start_local().await;
        let total = json!({ "type": "object", "properties": { "total": { "type": "number" } }, "required": ["total"] });
        let prompt = world.prompt(&world.runs.token, "Sum up.").await;
        world.load(
            "Sums",
            &json!({ "prompts": [prompt], "tools": ["read_prompt"], "output_schema": total }),
        );
        world
            .model
            .answers(|_| Reply::Calls(vec![("finish", json!({ "result": { "total": WORDS } }))]));
        let receiver = Receiver::start().await;
        let household = Self {
            private: Run::missing(),
            world,
            receiver,
        };
        household.subscribe("/leaks").await;
        household.listen().await;
        let private = household.fail("private", &["--user", OWNER]).await;
        let signal = private.path("/signal/UserInput");
        let refused = household.post(&household.owner(), &signal, &json!({ "message": 7 }));
        refused.await.expect_status(400);
        let refused = household.post(&household.owner(), &signal, &json!({ "message": "More." }));
        refused.await.expect_status(409);
        Self { private, ..household }
    }

    fn post(&self, token: &str, path: &str, body: &Value) -> tests::Request {
        self.world.runs.service.post(token, path, body)
    }

    /// Starts a conversation, and waits until it has failed.
    async fn fail(&self, visibility: &str, more: &[&str]) -> Run {
        let input = json!({ "visibility": visibility, "interaction_ref": "app:Sums" });
        let arguments = [&["--role", "reader"], more].concat();
        let runs = &self.world.runs;
        let (run, _) = runs.begin_with("AgentConversation", &tests::unique("talk"), &input, &arguments);
        let owner = self.owner();
        loop {
            let detail = runs
                .service
                .get(&owner, &run.path(""))
                .await
                .expect_status(200)
                .body;
            if detail["status"] == "FAILED" {
                return run;
            }
            assert_eq!(detail["status"], "RUNNING", "{detail}");
            tokio::time::sleep(tests::runs::PAUSE).await;
        }
    }

    /// Subscribes a path of the receiver to all that runs cause.
    async fn subscribe(&self, path: &str) {
        let body = json!({
            "name": "Everything", "run_as_role": "automation", "filter": { "event_category": ["*"] },
            "target": { "type": "webhook", "url": format!("{}{path}", self.receiver.origin) },
        });
        let created = self.post(&self.world.runs.token, "/events/subscriptions", &body);
        created.await.expect_status(201);
    }

    /// Starts a process that waits for the next failure of a run.
    async fn listen(&self) {
        let definition = json!({
            "document": { "dsl": "1.0.0", "namespace": "tests", "name": "listener", "version": "1.0.0" },
            "do": [{ "failure": { "listen": { "to": { "one": { "with": { "type": "workflow.workflow_failed" } } } } } }],
        });
        let body = json!({
            "name": "Listener", "run_as_role": "reader", "filter": { "event_category": ["workflow"], "action": ["workflow_started"] },
            "target": { "type": "process", "definition": definition, "run_type": "programmatic" },
        });
        let created = self
            .post(&self.world.runs.token, "/events/subscriptions", &body)
            .await;
        let id = created.expect_status(201).id();
        let first = self.world.runs.begin("Steps", &json!({ "steps": 0 }));
        self.world.runs.wait_for_status(&first, "COMPLETED").await;
        loop {
            let list = self
                .world
                .runs
                .list(&json!({ "type": "Process", "rule_id": id }))
                .await
                .expect_status(200)
                .body;
            let run = &list["runs"][0];
            if run["status"] == "RUNNING" {
                let path = format!("/events/subscriptions/{id}");
                let deleted = self.world.runs.service.delete(&self.world.runs.token, &path);
                deleted.await.expect_status(200);
                let (workflow, run) = (run["workflow_id"].as_str(), run["run_id"].as_str());
                let run = Run {
                    workflow_id: workflow.expect("an id").to_owned(),
                    run_id: run.expect("an id").to_owned(),
                };
                loop {
                    let state = self
                        .world
                        .runs
                        .get(&run, "/query/__state")
                        .await
                        .expect_status(200)
                        .body;
                    let detail = self.world.runs.detail(&run).await;
                    let is_idle = detail["pendingActivities"].as_array().is_none_or(Vec::is_empty);
                    if is_idle && state["tasks"][0]["waits_for"] == "Event" {
                        return;
                    }
                    tokio::time::sleep(tests::runs::PAUSE).await;
                }
            }
            tokio::time::sleep(tests::runs::PAUSE).await;
        }
    }

    fn owner(&self) -> String {
        self.token(OWNER, "executor", "audit:read")
    }

    fn token(&self, user: &str, roles: &str, permissions: &str) -> String {
        let arguments = ["--user-id", user, "--roles", roles, "--permissions", permissions];
        self.world.runs.scope.token_with(&arguments)
    }

    /// Returns an aggregation over the events of runs and models, grouped by all that names a run.
    async fn aggregated(&self, token: &str) -> Value {
        let by = |name: &str| json!({ "dimension": name });
        let body = json!({
            "groupBy": [
                by("action"), by("resource_id"), by("details.workflow_run_id"), by("details.initiated_by"),
                by("details.error.message"),
            ],
            "metrics": [
                { "id": "events", "operation": "count" },
                { "id": "tokens", "operation": "sum_meter", "meterCategory": "inference", "meterType": "input_tokens" },
            ],
            "limit": 1000,
        });
        let answer = self.post(token, "/audit-trail/aggregate", &body).await;
        answer.expect_status(200).body
    }

    /// Returns everything that a caller reads about runs, by the name of the attempt.
    async fn attempts(&self, token: &str) -> Vec<(&'static str, String)> {
        let service = &self.world.runs.service;
        let mut answers = vec![("aggregation", self.aggregated(token).await.to_string())];
        let query = json!({
            "metrics": [{ "id": "runs", "operation": "count_distinct", "field": "details.workflow_run_id" }],
            "filter": { "details": [{ "field": "workflow_run_id", "values": [self.private.run_id] }] },
        });
        let answer = self.post(token, "/audit-trail/aggregate", &query).await;
        let count = answer.expect_status(200).body["rows"][0]["metrics"]["runs"].clone();
        answers.push((
            "count of the run itself",
            if count == 0 {
                String::new()
            } else {
                self.private.run_id.clone()
            },
        ));
        for (name, path) in [
            ("audit trail", format!("/audit-trail?{RANGE}&limit=200")),
            (
                "audit trail of the run",
                format!("/audit-trail?{RANGE}&resourceId={}", self.private.run_id),
            ),
            (
                "audit trail of the owner",
                format!("/audit-trail?{RANGE}&principalUserId={OWNER}"),
            ),
        ] {
            let answer = service.get(token, &path).await.expect_status(200);
            answers.push((name, answer.text()));
        }
        for (name, path, body) in [
            ("runs", "/workflows/runs", json!({ "page_size": 500 })),
            (
                "runs by id",
                "/workflows/runs",
                json!({ "search_term": self.private.run_id }),
            ),
            ("conversations", "/workflows/conversations", json!({})),
            ("deliveries", "/events/deliveries/search", json!({ "limit": 200 })),
        ] {
            let answer = self.post(token, path, &body).await.expect_status(200);
            answers.push((name, answer.text()));
        }
        for (name, path) in [
            ("detail", ""),
            ("updates", "/updates"),
            ("stream", "/stream?since=0"),
            ("query", "/query/__state"),
        ] {
            let answer = service.get(token, &self.private.path(path)).await;
            let text = answer.text().replace(&self.private.run_id, "");
            answers.push((
                name,
                if answer.status == 404 {
                    text
                } else {
                    self.private.run_id.clone()
                },
            ));
        }
        answers
    }

    /// Returns the names of attempts whose answers tell of the private run.
    fn leaks(&self, answers: &[(&'static str, String)]) -> Vec<String> {
        let owner = r#""principal_user_id":"ada""#;
        let secrets = [
            WORDS,
            &self.private.run_id,
            &self.private.workflow_id,
            "user:ada",
            owner,
        ];
        let leak = |(name, text): &(&'static str, String)| {
            let secret = secrets.iter().find(|secret| text.contains(**secret))?;
            Some(format!("{name}: {secret}"))
        };
        answers.iter().filter_map(leak).collect()
    }

    fn exported(&self, kind: &str, more: &[&str]) -> String {
        let file = self.world.runs.service.folder().join("exported");
        let path = file.to_str().expect("a path in UTF-8");
        let mut arguments = vec!["audit", "export", "--kind", kind, "--format", "ndjson"];
        arguments.extend(["--from", "2020-01-01", "--to", "2100-01-01"]);
        arguments.extend(more);
        arguments.push(path);
        self.world.runs.scope.ops(&arguments).expect_success();
        std::fs::read_to_string(&file).expect("the file is readable")
    }
}

#[tokio::test]
async fn what_a_private_run_causes_reaches_its_owner_and_superadmins_alone_locally() {
    let household = Household::start().await;
    let runs = &household.world.runs;
    // A failure that everyone sees, whose events come after those of the private run.
    let public = household.fail("project", &["--user", OWNER]).await;
    let strangers = [
        ("a project admin", runs.scope.token(Persona::Developer)),
        ("an account admin", runs.scope.token(Persona::AccountAdmin)),
        (
            "a developer",
            household.token("grace", "developer,project_admin", ""),
        ),
    ];
    let mut wrong = Vec::new();
    for archived in [false, true] {
        if archived {
            runs.scope.ops(&["audit", "archive"]).expect_success();
        }
        for (stranger, token) in &strangers {
            let answers = household.attempts(token).await;
            // What is public names the owner too.
            let answers: Vec<_> = answers
                .into_iter()
                .map(|(name, text)| match name {
                    "aggregation" | "runs" | "conversations" => (name, text.replace("user:ada", "")),
                    _ => (name, text),
                })
                .collect();
            let leaks = household.leaks(&answers);
            wrong.extend(
                leaks
                    .into_iter()
                    .map(|leak| format!("{stranger}, archived {archived}: {leak}")),
            );
            let aggregate = household.aggregated(token).await;
            assert!(aggregate.to_string().contains(&public.run_id), "{aggregate}");
        }
        for kind in ["audit", "events"] {
            let exported = household.exported(kind, &[]);
            if exported.contains(&household.private.run_id) {
                wrong.push(format!("export of {kind}, archived {archived}"));
            }
        }
    }
    let bodies = loop {
        let received = household.receiver.received_at("/leaks");
        let bodies: Vec<String> = received.into_iter().map(|received| received.body).collect();
        if bodies
            .iter()
            .any(|body| body.contains("workflow_failed") && body.contains(&public.run_id))
        {
            break bodies;
        }
        tokio::time::sleep(tests::runs::PAUSE).await;
    };
    wrong.extend(household.leaks(&[("webhook", bodies.concat().replace("user:ada", ""))]));
    let heard = loop {
        let list = runs
            .list(&json!({ "type": "Process" }))
            .await
            .expect_status(200)
            .body;
        let run = &list["runs"][0];
        if run["status"] == "COMPLETED" {
            let path = format!(
                "/workflows/runs/{}/{}",
                run["workflow_id"].as_str().unwrap(),
                run["run_id"].as_str().unwrap()
            );
            break runs.service.get(&runs.token, &path).await.expect_status(200).body["result"].to_string();
        }
        tokio::time::sleep(tests::runs::PAUSE).await;
    };
    wrong.extend(household.leaks(&[("listener", heard.replace("user:ada", ""))]));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(heard.contains(&public.run_id), "{heard}");

    // Those who may see the run see all of it, in files and before.
    let superadmin = household.token("sue", "developer,project_admin", "workflow_superadmin");
    for token in [household.owner(), superadmin.clone()] {
        let aggregate = household.aggregated(&token).await.to_string();
        assert!(aggregate.contains(&household.private.run_id), "{aggregate}");
    }
    let path = format!("/audit-trail?{RANGE}&resourceId={}", household.private.run_id);
    let records = runs.service.get(&superadmin, &path).await.expect_status(200).body;
    let statuses: Vec<_> = records["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| &record["status"])
        .collect();
    assert_eq!(statuses, [409, 400, 200], "{records}");
    for kind in ["audit", "events"] {
        assert!(
            household
                .exported(kind, &["--private"])
                .contains(&household.private.run_id),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn no_failure_quotes_a_conversation_locally() {
    let household = Household::start().await;
    let owner = household.owner();
    let service = &household.world.runs.service;
    for (name, path) in [
        ("detail", ""),
        ("history", "?include_history=true"),
        ("tasks", "?include_history=true&history_format=tasks"),
    ] {
        let detail = service
            .get(&owner, &household.private.path(path))
            .await
            .expect_status(200)
            .body;
        let error = detail["error"].to_string();
        assert!(
            error.contains("OutputInvalid") && !error.contains(WORDS),
            "{name}: {error}"
        );
    }
}

#[tokio::test]
async fn a_page_token_names_no_run() {
    use base64::Engine as _;
    let runs = tests::Runs::start().await;
    let begun = runs.begin_many("Steps", &json!({ "steps": 0 }), 3);
    let page = runs
        .list(&json!({ "page_size": 1 }))
        .await
        .expect_status(200)
        .body;
    let token = page["next_page_token"].as_str().expect("there is a second page");
    let bytes = base64::prelude::BASE64_STANDARD
        .decode(token)
        .expect("a token is base64");
    let text = String::from_utf8_lossy(&bytes);
    for run in &begun {
        assert!(
            !text.contains(&run.run_id) && !text.contains(&run.run_id.replace('-', "")),
            "{text}"
        );
    }
}
