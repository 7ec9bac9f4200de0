//! Creates the data of a household.

use std::path::PathBuf;
use std::time::Instant;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tests::dashboards::dashboard;
use tests::runs::{PAUSE, WITHIN};
use tests::stores::{columns, inline};
use tests::{Answer, Client, Method};

use super::household::Household;

/// Body that `signature` signs.
const SIGNED_BODY: &str = r#"{"action":"signed"}"#;

pub struct Furnishing {
    pub client: Client,
    pub household: Household,
    pub token: String,
    pub folder: PathBuf,
    pub receiver: String,
    /// Base URL of channel paths.
    pub ingest: String,
    pub extent: Extent,
}

/// Amount of data. The operator command is slow, so only the victim gets everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Data that the API creates, and two runs.
    Plain,
    /// An API key as well.
    WithKey,
    /// One record of every kind.
    Whole,
}

impl Furnishing {
    /// Creates everything. `namesake` is the workflow id that every household uses for a run.
    pub async fn furnish(mut self, user: &str, namesake: &str) -> Household {
        let token = self.token.clone();
        self.household.keep("token", &token);
        self.household.keep("user", user);
        self.household.keep("namesake", namesake);
        self.access().await;
        self.prompts().await;
        self.stores().await;
        self.runs().await;
        if self.extent == Extent::Whole {
            self.operated();
        }
        self.events().await;
        self.cursors().await;
        self.household
    }

    /// Returns a name with the mark.
    fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.household.mark)
    }

    async fn get(&self, path: &str) -> Value {
        self.client.get(&self.token, path).await.expect_status(200).body
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        let answer = self.client.post(&self.token, path, &body).await;
        assert!(answer.status < 300, "{}: {}", answer.request, answer.text());
        answer
    }

    /// Posts, and keeps the id of the created resource.
    async fn create(&mut self, name: &str, path: &str, body: Value) -> Value {
        let answer = self.post(path, body).await;
        self.household.keep(name, &answer.id());
        answer.body
    }

    /// Writes a file for the operator command.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(self.name(name));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Repeats a `GET`, or a `POST` where there is a body, until the answer satisfies the condition. Returns
    /// the answer.
    async fn until(&self, path: &str, body: &Value, is_so: fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = match body {
                Value::Null => self.get(path).await,
                body => self.post(path, body.clone()).await.body,
            };
            if is_so(&answer) {
                return answer;
            }
            assert!(
                Instant::now() < deadline,
                "{path} is not as it must be after {WITHIN:?}: {answer}"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn access(&mut self) {
        let body = json!({ "name": self.name("key"), "roles": ["reader"] });
        let key = self.create("shown_key", "/keys", body).await;
        self.household
            .keep("shown_key_secret", key["key"].as_str().unwrap());
        let user = self.name("member-user");
        self.household.keep("member_user", &user);
        let body = json!({ "user_id": user, "name": self.name("member"), "roles": ["reader"] });
        self.create("member", "/members", body).await;
    }

    async fn prompts(&mut self) {
        let (name, tag) = (self.name("prompt"), self.name("tag"));
        let body = json!({
            "name": name, "role": self.name("role"), "description": self.name("description"),
            "content_type": "handlebars", "content": format!("{} {{{{name}}}}", self.name("content")),
            "test_data": { "name": self.name("test") }, "tags": [tag],
        });
        self.create("prompt", "/prompts", body.clone()).await;
        self.create("gone", "/prompts", body).await;
        let gone = format!("/prompts/{}", self.household.value("gone"));
        self.client.delete(&self.token, &gone).await.expect_status(200);
        let path = format!("/prompts/{}", self.household.value("prompt"));
        let change = json!({ "description": self.name("changed") });
        self.client
            .put(&self.token, &path, &change)
            .await
            .expect_status(200);
        self.create("fork", &format!("{path}/fork"), json!({ "keepTags": true }))
            .await;
        self.household.keep("prompt_name", &name);
        self.household.keep("tag", &tag);
    }

    async fn stores(&mut self) {
        let (name, table) = (self.name("store"), self.household.mark.replace('-', "_"));
        self.household.keep("store_name", &name);
        self.household.keep("table", &table);
        let description = self.name("description");
        let body = json!({ "name": name, "description": description, "tags": [self.name("label")] });
        let id = self.create("store", "/data", body).await["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = |rest: &str| format!("/data/{id}{rest}");
        let columns = columns(&["id BIGINT primary_key", &format!("{table}_c STRING")]);
        let tables = json!({ "tables": [{ "name": table, "description": description, "columns": columns }] });
        self.post(&path("/tables"), tables).await;
        for number in 1..=2 {
            let rows = json!([{ "id": number, format!("{table}_c"): self.name("value") }]);
            let import = self
                .create("import", &path("/import"), inline(&table, &rows))
                .await;
            // Keep the version before the last one.
            if number == 1 {
                self.household
                    .keep("version", import["version_id"].as_str().unwrap());
            }
        }
        let snapshot = self.name("snapshot");
        self.household.keep("snapshot_name", &snapshot);
        self.create("snapshot", &path("/versions"), json!({ "name": snapshot }))
            .await;
        self.dashboards(&path("/dashboards"), "dashboard").await;

        let other = json!({ "name": self.name("second") });
        let maker = self.maker();
        let store = self.client.post(&maker, "/data", &other).await.expect_status(201);
        self.household.keep("other_store", &store.id());
        self.household
            .keep("other_version", store.body["version_id"].as_str().unwrap());
        let path = format!("/data/{}/dashboards", store.id());
        self.dashboards(&path, "other_dashboard").await;
    }

    /// Returns the credentials that create the second store: an API key, where the household has one.
    fn maker(&mut self) -> String {
        if self.extent == Extent::Plain {
            return self.token.clone();
        }
        let arguments = ["key", "create", &self.name("key"), "--roles", "developer"];
        let key = self.household.scope.ops_json(&arguments);
        self.household.keep("key", key["id"].as_str().unwrap());
        self.household.keep("key_secret", key["key"].as_str().unwrap());
        self.household.value("key_secret")
    }

    /// Creates the data that only the operator command can create.
    fn operated(&mut self) {
        let (interaction, artifact) = (self.name("interaction"), self.name("rows"));
        let versions = json!([{ "version": 1, "prompts": [self.household.value("prompt")] }]);
        let interactions = json!([{ "id": interaction, "name": self.name("task"), "versions": versions }]);
        let file = self.file("interactions.json", &interactions.to_string());
        let scope = &self.household.scope;
        scope.ops(&["interaction", "load", &file]).expect_success();
        let rows = format!(
            "id,{}_c\n7,{}\n",
            self.household.value("table"),
            self.name("artifact")
        );
        let (file, place) = (self.file("rows.csv", &rows), format!("out/{artifact}.csv"));
        scope.ops(&["artifact", "put", &file, &place]).expect_success();
        // It matches no event of these tests, and so causes no third delivery.
        let body = json!({
            "name": self.name("system"), "run_as_role": "executor",
            "filter": { "action": [self.name("nothing")] },
            "target": { "type": "workflow", "endpoint": "Approval" },
        });
        let file = self.file("system.json", &body.to_string());
        let system = scope.ops_json(&["subscription", "create", "--file", &file, "--protected"]);
        for (name, value) in [("interaction", &interaction), ("artifact", &artifact)] {
            self.household.keep(name, value);
        }
        self.household
            .keep("system", system["subscription_id"].as_str().unwrap());
    }

    /// Creates a dashboard with a snapshot.
    async fn dashboards(&mut self, path: &str, name: &str) {
        let title = self.name(name);
        let dashboard = self.create(name, path, dashboard(&title)).await;
        self.household.keep(&format!("{name}_name"), &title);
        let path = format!("{path}/{}/versions", dashboard["id"].as_str().unwrap());
        let body = json!({ "name": self.name("shot") });
        self.create(&format!("{name}_version"), &path, body).await;
    }

    /// Starts a run, and keeps its ids.
    fn start(&mut self, name: &str, workflow_type: &str, workflow: &str) {
        let input = json!({ "title": self.name("title"), "steps": 0 }).to_string();
        let started = self.household.scope.ops_json(&[
            "run",
            "start",
            workflow_type,
            "--id",
            workflow,
            "--input",
            &input,
        ]);
        assert_eq!(started["is_new"], true, "{started}");
        self.household
            .keep(&format!("{name}_run"), started["run_id"].as_str().unwrap());
        self.household.keep(&format!("{name}_workflow"), workflow);
    }

    async fn runs(&mut self) {
        self.start("waiting", "Approval", &self.name("waiting"));
        self.start("namesake", "Approval", &self.household.value("namesake"));
        if self.extent == Extent::Whole {
            self.start("second", "Approval", &self.name("another"));
            self.start("done", "Steps", &self.name("done"));
            self.until(&self.run_path("second", "/updates"), &Value::Null, waits)
                .await;
            let ended = |run: &Value| run["status"] == "COMPLETED";
            self.until(&self.run_path("done", ""), &Value::Null, ended).await;
            let path = format!("/workflows/runs/{}/updates", self.household.value("done_run"));
            let body = json!({ "message": self.name("message") });
            self.post(&path, body).await;
        }
        for name in ["waiting", "namesake"] {
            self.until(&self.run_path(name, "/updates"), &Value::Null, waits)
                .await;
        }
    }

    fn run_path(&self, name: &str, rest: &str) -> String {
        let value = |kind: &str| self.household.value(&format!("{name}_{kind}"));
        format!("/workflows/runs/{}/{}{rest}", value("workflow"), value("run"))
    }

    async fn events(&mut self) {
        let filter = json!({ "event_category": ["external"] });
        let webhook =
            json!({ "type": "webhook", "url": format!("{}/{}", self.receiver, self.household.mark) });
        let workflow = json!({ "type": "workflow", "endpoint": "Approval" });
        let subscription = |name: String, target: &Value| {
            let mut body = json!({ "name": name, "run_as_role": "executor", "filter": filter });
            body["target"] = target.clone();
            body
        };
        let body = subscription(self.name("subscription"), &webhook);
        self.create("subscription", "/events/subscriptions", body).await;
        let body = subscription(self.name("trigger"), &workflow);
        self.create("trigger", "/events/subscriptions", body).await;
        let channel = json!({ "name": self.name("channel"), "source": self.name("source") });
        let channel = self.create("channel", "/events/channels", channel.clone()).await;
        self.household
            .keep("channel_token", channel["ingest_token"].as_str().unwrap());
        let mut signed = channel;
        signed["signature"] = json!({ "header": "x-signature" });
        let signed_channel = self.create("signed_channel", "/events/channels", signed).await;
        let secret = signed_channel["signing_secret"].as_str().unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(SIGNED_BODY.as_bytes());
        self.household
            .keep("signature", &hex::encode(mac.finalize().into_bytes()));
        self.household.keep("signing_secret", secret);

        let (action, thing) = (self.name("action"), self.name("thing"));
        let idempotency = self.name("idempotency");
        let body = json!({ "action": action, "resource_id": thing, "idempotency_key": idempotency });
        let event = self.ingest(&body).await;
        for (name, value) in [
            ("event", &event),
            ("action", &action),
            ("thing", &thing),
            ("idempotency", &idempotency),
        ] {
            self.household.keep(name, value);
        }
        let search = json!({ "event_id": event });
        let settled = |answer: &Value| {
            let deliveries = answer["deliveries"].as_array().unwrap();
            let is = |delivery: &Value| {
                delivery["status"] == "succeeded"
                    || delivery["target_type"] == "workflow" && delivery["status"] == "running"
            };
            deliveries.len() == 2 && deliveries.iter().all(is)
        };
        let answer = self.until("/events/deliveries/search", &search, settled).await;
        let delivery = &answer["deliveries"][0];
        self.household.keep("delivery", delivery["id"].as_str().unwrap());
        let by_trigger = json!({ "rule_id": self.household.value("trigger") });
        let begun = |page: &Value| page["runs"] != json!([]);
        let page = self.until("/workflows/runs", &by_trigger, begun).await;
        for name in ["workflow", "run"] {
            let value = page["runs"][0][format!("{name}_id")].as_str().unwrap();
            self.household.keep(&format!("triggered_{name}"), value);
        }
        self.until(&self.run_path("triggered", "/updates"), &Value::Null, waits)
            .await;
    }

    /// Sends an event through the channel. Returns its id.
    async fn ingest(&self, body: &Value) -> String {
        let value = |name: &str| self.household.value(name);
        let (account, project, channel) = (value("account"), value("project"), value("channel"));
        let url = format!("{}/webhooks/events/{account}/{project}/{channel}", self.ingest);
        let request = self
            .client
            .request(Method::POST, &url)
            .token(&value("channel_token"));
        let answer = request.json(body).await.expect_status(202);
        answer.body["event_id"].as_str().unwrap().to_owned()
    }

    async fn cursors(&mut self) {
        let page = self.post("/workflows/runs", json!({ "page_size": 1 })).await.body;
        self.household
            .keep("run_page", page["next_page_token"].as_str().unwrap());
        let page = self
            .post("/events/deliveries/search", json!({ "limit": 1 }))
            .await
            .body;
        self.household
            .keep("delivery_cursor", page["next_cursor"].as_str().unwrap());
    }
}

/// True if an `Approval` has reported that it waits.
fn waits(listed: &Value) -> bool {
    listed["messages"] != json!([])
}
