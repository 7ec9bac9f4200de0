//! Manages workflow runs of a project of the test's own.

use std::ops::Deref;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Request;
use crate::scope::{Persona, Scope};
use crate::service::Service;
use crate::unique;

/// Longest wait for an expected result. Far above what a slow and busy machine needs.
pub const WITHIN: Duration = Duration::from_secs(120);
/// Pause between two reads while waiting.
pub const PAUSE: Duration = Duration::from_millis(20);
/// Runs that are started concurrently.
const AT_ONCE: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub workflow_id: String,
    pub run_id: String,
}

impl Run {
    /// Returns a path below the run.
    pub fn path(&self, rest: &str) -> String {
        format!("/workflows/runs/{}/{}{rest}", self.workflow_id, self.run_id)
    }

    /// Returns a run that does not exist.
    pub fn missing() -> Self {
        Self {
            workflow_id: unique("workflow"),
            run_id: unique("run"),
        }
    }
}

/// Starts workflow runs, whether the service is up or not.
#[derive(Clone, Debug)]
pub struct Starter {
    pub scope: Scope,
    variables: Vec<(String, String)>,
}

impl Starter {
    /// Starts a run of a type.
    #[track_caller]
    pub fn begin(&self, workflow_type: &str, input: &Value) -> Run {
        self.begin_as(workflow_type, &unique("workflow"), input).0
    }

    /// Starts a run with a workflow id. Returns the open run of that id, and whether it is new.
    #[track_caller]
    pub fn begin_as(&self, workflow_type: &str, id: &str, input: &Value) -> (Run, bool) {
        self.begin_with(workflow_type, id, input, &[])
    }

    /// Starts a run with further arguments.
    #[track_caller]
    pub fn begin_with(&self, workflow_type: &str, id: &str, input: &Value, more: &[&str]) -> (Run, bool) {
        let started = self.try_begin(workflow_type, id, input, more).expect_success();
        let started: Value = serde_json::from_str(&started.stdout).expect("the operator command prints JSON");
        let run = Run {
            workflow_id: started["workflow_id"].as_str().unwrap_or_default().to_owned(),
            run_id: started["run_id"].as_str().unwrap_or_default().to_owned(),
        };
        (run, started["is_new"] == true)
    }

    /// Tries to start a run. Returns the command's result.
    pub fn try_begin(&self, workflow_type: &str, id: &str, input: &Value, more: &[&str]) -> crate::Finished {
        let input = input.to_string();
        let mut arguments = vec!["--json", "run", "start", workflow_type];
        arguments.extend(["--id", id, "--input", &input]);
        arguments.extend(more);
        let variables: Vec<_> = self
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.scope.ops_with(&arguments, &variables)
    }

    /// Starts many runs of a type, several at a time.
    pub fn begin_many(&self, workflow_type: &str, input: &Value, count: usize) -> Vec<Run> {
        std::thread::scope(|scope| {
            let starters: Vec<_> = (0..AT_ONCE)
                .map(|starter| {
                    scope.spawn(move || {
                        (starter..count)
                            .step_by(AT_ONCE)
                            .map(|_| self.begin(workflow_type, input))
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            let runs = starters
                .into_iter()
                .map(|starter| starter.join().expect("all runs start"));
            runs.flatten().collect()
        })
    }
}

/// Service that knows the sample workflow types, a scope of its own, and the workflow runs in it.
pub struct Runs {
    pub service: Service,
    pub token: String,
    starter: Starter,
}

impl Deref for Runs {
    type Target = Starter;

    fn deref(&self) -> &Starter {
        &self.starter
    }
}

impl Runs {
    /// Starts a service.
    pub async fn start() -> Self {
        Self::start_in(Service::start().await, &[])
    }

    /// Starts a new local service.
    pub async fn start_local() -> Self {
        Self::start_local_with(&[]).await
    }

    /// Starts a new local service with variables in its environment and in that of the operator command.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Self {
        let service = Service::start_local_with(variables).await;
        Self::start_in(service, variables)
    }

    fn start_in(service: Service, variables: &[(&str, &str)]) -> Self {
        let scope = service.scope();
        let token = scope.token(Persona::Developer);
        let variables = variables.iter();
        let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables = variables.collect();
        Self {
            service,
            token,
            starter: Starter { scope, variables },
        }
    }

    /// Returns a starter of runs for another thread.
    pub fn starter(&self) -> Starter {
        self.starter.clone()
    }

    /// Sends `GET` to a path below a run.
    pub fn get(&self, run: &Run, rest: &str) -> Request {
        self.service.get(&self.token, &run.path(rest))
    }

    /// Sends `POST` to a path below a run.
    pub fn post(&self, run: &Run, rest: &str, body: &Value) -> Request {
        self.service.post(&self.token, &run.path(rest), body)
    }

    /// Sends `POST` without a body and a content type.
    pub fn post_nothing(&self, run: &Run, rest: &str) -> Request {
        let request = self.service.request(reqwest::Method::POST, &run.path(rest));
        request.token(&self.token)
    }

    /// Terminates or cancels a run.
    pub async fn act(&self, run: &Run, action: &str) {
        let answer = self.post_nothing(run, &format!("/actions/{action}")).await;
        answer.expect_status(200);
    }

    /// Sends a signal that must be accepted.
    pub async fn signal(&self, run: &Run, name: &str, body: &Value) {
        let answer = self.post(run, &format!("/signal/{name}"), body).await;
        answer.expect_status(200);
    }

    pub fn update(&self, run: &Run, body: &Value) -> Request {
        let path = format!("/workflows/runs/{}/updates", run.run_id);
        self.service.post(&self.token, &path, body)
    }

    /// Returns the update messages that a query finds.
    pub async fn updates(&self, run: &Run, query: &str) -> Vec<Value> {
        let answer = self.get(run, &format!("/updates{query}")).await;
        let body = answer.expect_status(200).body;
        body["messages"]
            .as_array()
            .expect("there are messages, or none")
            .clone()
    }

    pub async fn detail(&self, run: &Run) -> Value {
        self.get(run, "").await.expect_status(200).body
    }

    /// Returns the events of a run so far.
    pub async fn events(&self, run: &Run) -> Vec<Value> {
        self.history(run, "events").await
    }

    /// Returns the tasks of a run so far.
    pub async fn tasks(&self, run: &Run) -> Vec<Value> {
        self.history(run, "tasks").await
    }

    async fn history(&self, run: &Run, format: &str) -> Vec<Value> {
        let query = format!("?include_history=true&history_format={format}");
        let history = self.get(run, &query).await.expect_status(200).body["history"].clone();
        assert_eq!(history["type"], format, "{history}");
        history[format].as_array().expect("a history is an array").clone()
    }

    /// Waits until a run satisfies the condition. Returns its detail.
    pub async fn wait_until(&self, run: &Run, is_so: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + WITHIN;
        loop {
            let detail = self.detail(run).await;
            if is_so(&detail) {
                return detail;
            }
            assert!(
                Instant::now() < deadline,
                "the run is not as it must be after {WITHIN:?}: {detail}"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a run has a status. Returns its detail.
    pub async fn wait_for_status(&self, run: &Run, status: &str) -> Value {
        self.wait_until(run, |detail| {
            let now = &detail["status"];
            assert!(now == status || now == "RUNNING", "not {status}: {detail}");
            now == status
        })
        .await
    }

    /// Waits until a run's detail shows that an attempt of its activity has started. Returns the detail.
    pub async fn wait_for_attempt(&self, run: &Run) -> Value {
        self.wait_until(run, |detail| {
            detail["pendingActivities"][0]["lastStartedTime"].is_string()
        })
        .await
    }

    /// Starts a run of the type `Approval`, and waits until it waits for the signal.
    pub async fn approval(&self, title: &str) -> Run {
        let run = self.begin("Approval", &json!({ "title": title }));
        let deadline = Instant::now() + WITHIN;
        while self.updates(&run, "").await.is_empty() {
            assert!(
                Instant::now() < deadline,
                "the run does not wait after {WITHIN:?}"
            );
            tokio::time::sleep(PAUSE).await;
        }
        run
    }

    pub fn list(&self, body: &Value) -> Request {
        self.service.post(&self.token, "/workflows/runs", body)
    }

    /// Returns the workflow ids of the runs that a selection finds, newest first.
    pub async fn workflow_ids(&self, selection: &Value) -> Vec<String> {
        let page = self.list(selection).await.expect_status(200).body;
        let runs = page["runs"].as_array().expect("a listing has runs");
        let id = |run: &Value| run["workflow_id"].as_str().unwrap_or_default().to_owned();
        runs.iter().map(id).collect()
    }
}

/// Returns the types of events, in their order and without their common prefix.
#[track_caller]
pub fn event_types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| {
            let name = event["event_type"].as_str().unwrap_or_default();
            name.strip_prefix("EVENT_TYPE_").expect("every event has a type")
        })
        .collect()
}

/// Returns the event of a history with this type, without the types' common prefix.
#[track_caller]
pub fn event<'a>(events: &'a [Value], name: &str) -> &'a Value {
    let name = format!("EVENT_TYPE_{name}");
    match events.iter().find(|event| event["event_type"] == name) {
        Some(event) => event,
        None => panic!("no {name} in {events:?}"),
    }
}

/// True for a time in the API's form: in UTC, with milliseconds.
pub fn is_time(value: &Value) -> bool {
    let shape = |text: &str| -> String {
        let kind = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
        text.chars().map(kind).collect()
    };
    value
        .as_str()
        .is_some_and(|text| shape(text) == "0000-00-00T00:00:00.000Z")
}
