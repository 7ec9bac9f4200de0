//! Adds to a household what its tenant can also have: large parts, which are objects, and processes.

use std::ops::Deref as _;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tests::runs::{PAUSE, WITHIN};
use tests::{Answer, Client, Method};

use crate::isolation::household::Household;
use crate::isolation::world::World;

/// Objects of other services, and of kinds that do not exist yet, each with the folder of its kind.
const KINDS: [&str; 4] = ["content/", "states/", "later/", "payloads/~later/"];
/// Characters of a part that is stored as an object.
const LARGE: usize = 150_000;

struct Extras<'a> {
    client: Client,
    world: &'a World,
    victim: &'a Household,
}

/// Limit with which the service counts the events of a channel: a number of events a second.
const RATE: (&str, &str) = ("MILLRACE_INGEST_CHANNEL_RATE", "20");
/// Events that reach the count.
const COUNTED: usize = 60;

/// Adds everything, while the service runs.
pub async fn add(world: &mut World) {
    world.service.restart_with(&[RATE]);
    let extras = Extras {
        client: world.service.deref().clone(),
        world,
        victim: &world.victim,
    };
    extras.operated();
    extras.large_parts().await;
    extras.files().await;
    extras.listener().await;
    extras.subscriptions().await;
    extras.counted().await;
    extras.paced().await;
}

/// Writes objects that the service itself does not write, into a data directory.
pub fn add_objects(data_dir: &Path, victim: &Household) {
    for kind in KINDS {
        let (account, project) = (victim.value("account"), victim.value("project"));
        let folder = format!("objects/millrace-data/{kind}{account}/{project}/{}", victim.mark);
        let folder = data_dir.join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("text.object"), &victim.mark).unwrap();
    }
}

impl Extras<'_> {
    fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.victim.mark)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.world.service.folder().join(self.name(name));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    async fn post(&self, path: &str, body: &Value) -> Answer {
        let answer = self.client.post(&self.victim.value("token"), path, body).await;
        assert!(answer.status < 300, "{}: {}", answer.request, answer.text());
        answer
    }

    async fn until(&self, path: &str, is_so: impl Fn(&Answer) -> bool) {
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self.client.get(&self.victim.value("token"), path).await;
            if is_so(&answer) {
                return;
            }
            assert!(Instant::now() < deadline, "{path}: {}", answer.text());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Settings, a process and a secret.
    fn operated(&self) {
        let scope = &self.victim.scope;
        let process = json!({
            "document": { "dsl": "1.0.0", "namespace": "shop", "name": self.name("process"), "version": "1.0.0" },
            "do": [{ "one": { "set": { "text": self.name("x").repeat(2_000) } } }],
        });
        let process = self.file("process.json", &process.to_string());
        let value = self.file("secret", &self.name("value"));
        let (name, bound) = (self.name("secret"), format!("shop/{}", self.name("process")));
        for arguments in [
            &["project", "shards", "2"][..],
            &["project", "inline-secrets", "allow"],
            &["process", "load", &process],
            &[
                "secret",
                "set",
                &name,
                "--text",
                "--value-file",
                &value,
                "--for",
                &bound,
                "--host",
                "api.example.com",
            ],
        ] {
            scope.ops(arguments).expect_success();
        }
    }

    /// An event, a run's input and details of an update that exceed a record.
    async fn large_parts(&self) {
        let text = self.name("large");
        let text = text.repeat(LARGE / text.len());
        let event = json!({ "action": self.name("unheard"), "text": text });
        self.ingest(self.channel(), &event).await;
        let run = format!("/workflows/runs/{}", self.victim.value("waiting_run"));
        let details = json!({ "message": "large", "details": text });
        self.post(&format!("{run}/updates"), &details).await;
        let input = self.file("input.json", &json!({ "title": text, "steps": 1 }).to_string());
        let id = self.name("large-run");
        let arguments = ["run", "start", "Steps", "--id", &id, "--input-file", &input];
        let started = self.victim.scope.ops_json(&arguments);
        let path = format!("/workflows/runs/{id}/{}", started["run_id"].as_str().unwrap());
        self.until(&path, |answer| answer.body["status"] == "COMPLETED")
            .await;
    }

    /// An upload, a download, and the list of a garbage collection.
    async fn files(&self) {
        let store = self.victim.value("store");
        let text = self.name("upload");
        let body = json!({ "name": "rows.csv", "bytes": text.len() });
        let link = self.post(&format!("/data/{store}/uploads"), &body).await.body;
        let mut request = self.client.request(Method::PUT, link["url"].as_str().unwrap());
        for (name, value) in link["headers"].as_object().unwrap() {
            request = request.header(name, value.as_str().unwrap());
        }
        request.body(text).await.expect_status(200);
        let token = self.victim.value("token");
        let download = format!("/data/{store}/download?format=parquet");
        self.client.get(&token, &download).await.expect_status(200);
        self.victim
            .scope
            .ops(&["store", "collect", &store, "--keep-versions-days", "0"])
            .expect_success();
    }

    /// One that takes the place of the operator's.
    async fn subscriptions(&self) {
        let subscription = json!({
            "name": self.name("override"), "run_as_role": "executor",
            "filter": { "action": [self.name("nothing")] },
            "target": { "type": "workflow", "endpoint": "Approval" },
            "overrides_system_subscription_id": self.victim.value("system"),
        });
        self.post("/events/subscriptions", &subscription).await;
    }

    /// Events until they are counted, through a channel of their own.
    async fn counted(&self) {
        let channel = json!({ "name": self.name("counted"), "source": self.name("counted"), "keep_refused_bodies": true });
        let channel = self.post("/events/channels", &channel).await.body;
        let id = channel["id"].as_str().unwrap();
        let token = channel["ingest_token"].as_str().unwrap();
        for _ in 0..COUNTED {
            let event = json!({ "action": self.name("counted"), "event_category": "content" });
            self.ingest((id.to_owned(), token.to_owned()), &event).await;
        }
        let request = self
            .client
            .request(Method::POST, &self.ingest_url(id))
            .token("wrong");
        request
            .json(&json!({ "refused": self.name("refused") }))
            .await
            .expect_status(401);
    }

    /// A delivery that keeps its place among those of its key, because nothing listens at its address.
    async fn paced(&self) {
        let subscription = json!({
            "name": self.name("paced"), "run_as_role": "executor",
            "filter": { "event_category": ["external"], "action": [self.name("paced")] },
            "target": {
                "type": "webhook", "url": format!("http://127.0.0.1:61234/{}", self.victim.mark),
                "ordered_by": "details.payload.key", "rate_per_second": 10,
            },
        });
        self.post("/events/subscriptions", &subscription).await;
        let event = json!({ "action": self.name("paced"), "key": self.name("key") });
        let event = self.ingest(self.channel(), &event).await;
        let search = json!({ "event_id": event, "status": ["retrying"] });
        let deadline = Instant::now() + WITHIN;
        loop {
            let answer = self.post("/events/deliveries/search", &search).await.body;
            if answer["deliveries"]
                .as_array()
                .is_some_and(|found| !found.is_empty())
            {
                return;
            }
            assert!(Instant::now() < deadline, "{answer}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn channel(&self) -> (String, String) {
        (self.victim.value("channel"), self.victim.value("channel_token"))
    }

    fn ingest_url(&self, channel: &str) -> String {
        let (account, project) = (self.victim.value("account"), self.victim.value("project"));
        let base = self.world.service.ingest_url();
        format!("{base}/webhooks/events/{account}/{project}/{channel}")
    }

    /// Sends an event through a channel. Returns its id.
    async fn ingest(&self, (channel, token): (String, String), event: &Value) -> Value {
        let request = self
            .client
            .request(Method::POST, &self.ingest_url(&channel))
            .token(&token);
        let answer = request.json(event).await.expect_status(202);
        answer.body["event_id"].clone()
    }

    /// A run that waits for an event.
    async fn listener(&self) {
        let definition = json!({
            "document": { "dsl": "1.0.0", "namespace": "shop", "name": self.name("listens"), "version": "1.0.0" },
            "do": [{ "paid": { "listen": { "to": { "one": { "with": { "type": self.name("paid") } } } } } }],
        });
        let subscription = json!({
            "name": self.name("listening"), "run_as_role": "executor",
            "filter": { "event_category": ["external"], "action": [self.name("placed")] },
            "target": { "type": "process", "definition": definition },
        });
        self.post("/events/subscriptions", &subscription).await;
        let placed = json!({ "action": self.name("placed") });
        let event = self.ingest(self.channel(), &placed).await;
        let search = json!({ "event_id": event });
        let deadline = Instant::now() + WITHIN;
        let run = loop {
            let answer = self.post("/events/deliveries/search", &search).await.body;
            let deliveries = answer["deliveries"].as_array().unwrap();
            let of_process = deliveries
                .iter()
                .find(|delivery| delivery["target_type"] == "process");
            if let Some(delivery) = of_process.filter(|delivery| delivery["workflow_run_id"].is_string()) {
                break format!(
                    "/workflows/runs/{}/{}/query/__state",
                    delivery["workflow_id"].as_str().unwrap(),
                    delivery["workflow_run_id"].as_str().unwrap()
                );
            }
            assert!(Instant::now() < deadline, "{answer}");
            tokio::time::sleep(PAUSE).await;
        };
        let waits = |answer: &Answer| answer.text().contains("\"waits_for\":\"Event\"");
        self.until(&run, waits).await;
    }
}
