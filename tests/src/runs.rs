//! Workflow runs of a project that nobody else works in.

use std::ops::Deref;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Request;
use crate::scope::{Persona, Scope};
use crate::service::Service;
use crate::unique;

/// How long something may take that must come.
pub const WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at something that must come.
pub const PAUSE: Duration = Duration::from_millis(20);
/// How many runs are started at a time.
const AT_ONCE: usize = 8;

/// A workflow run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
}

impl Run {
    /// A path below it.
    pub fn path(&self, rest: &str) -> String {
        format!("/workflows/runs/{}/{}{rest}", self.workflow_id, self.run_id)
    }

    /// A run that there is not.
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
    /// The account and project.
    pub scope: Scope,
    variables: Vec<(String, String)>,
}

impl Starter {
    /// Starts a run of a type.
    #[track_caller]
    pub fn begin(&self, workflow_type: &str, input: &Value) -> Run {
        self.begin_as(workflow_type, &unique("workflow"), input).0
    }

    /// Starts a run of a workflow id: the run that is under way, and whether it is a new one.
    #[track_caller]
    pub fn begin_as(&self, workflow_type: &str, id: &str, input: &Value) -> (Run, bool) {
        self.begin_with(workflow_type, id, input, &[])
    }

    /// The same with further arguments.
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

    /// Asks for a run, whatever comes of it.
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

/// A service that knows the sample workflow types, a scope of its own, and the workflow runs in it.
pub struct Runs {
    /// The service.
    pub service: Service,
    /// The token of the [`Persona::Developer`].
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
    /// None where [`Service::start_own`] skips.
    pub async fn start() -> Option<Self> {
        Some(Self::start_in(Service::start_own().await?, &[]))
    }

    /// In a new local service. None where [`Service::start_local`] skips.
    pub async fn start_local() -> Option<Self> {
        Self::start_local_with(&[]).await
    }

    /// The same with variables in the environment of the service and of the operator command.
    pub async fn start_local_with(variables: &[(&str, &str)]) -> Option<Self> {
        let service = Service::start_local_with(variables).await?;
        Some(Self::start_in(service, variables))
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

    /// What starts runs, for another thread.
    pub fn starter(&self) -> Starter {
        self.starter.clone()
    }

    /// `GET` below a run.
    pub fn get(&self, run: &Run, rest: &str) -> Request {
        self.service.get(&self.token, &run.path(rest))
    }

    /// `POST` below a run.
    pub fn post(&self, run: &Run, rest: &str, body: &Value) -> Request {
        self.service.post(&self.token, &run.path(rest), body)
    }

    /// `POST` without a body and a content type.
    pub fn post_nothing(&self, run: &Run, rest: &str) -> Request {
        let request = self.service.request(reqwest::Method::POST, &run.path(rest));
        request.token(&self.token)
    }

    /// Ends a run, or asks it to end.
    pub async fn act(&self, run: &Run, action: &str) {
        let done = self.post_nothing(run, &format!("/actions/{action}")).await;
        done.expect_status(200);
    }

    /// Sends a signal that must be taken.
    pub async fn signal(&self, run: &Run, name: &str, body: &Value) {
        let sent = self.post(run, &format!("/signal/{name}"), body).await;
        sent.expect_status(200);
    }

    /// Publishes an update message of a run.
    pub fn update(&self, run: &Run, body: &Value) -> Request {
        let path = format!("/workflows/runs/{}/updates", run.run_id);
        self.service.post(&self.token, &path, body)
    }

    /// The update messages that a query finds.
    pub async fn updates(&self, run: &Run, query: &str) -> Vec<Value> {
        let answer = self.get(run, &format!("/updates{query}")).await;
        let body = answer.expect_status(200).body;
        body["messages"]
            .as_array()
            .expect("there are messages, or none")
            .clone()
    }

    /// A run as it is now.
    pub async fn detail(&self, run: &Run) -> Value {
        self.get(run, "").await.expect_status(200).body
    }

    /// The events of a run so far.
    pub async fn events(&self, run: &Run) -> Vec<Value> {
        self.history(run, "events").await
    }

    /// The tasks of a run so far.
    pub async fn tasks(&self, run: &Run) -> Vec<Value> {
        self.history(run, "tasks").await
    }

    async fn history(&self, run: &Run, format: &str) -> Vec<Value> {
        let query = format!("?include_history=true&history_format={format}");
        let history = self.get(run, &query).await.expect_status(200).body["history"].clone();
        assert_eq!(history["type"], format, "{history}");
        history[format].as_array().expect("a history is an array").clone()
    }

    /// A run as soon as it is as it must be.
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

    /// A run as soon as it has a status.
    pub async fn wait_for_status(&self, run: &Run, status: &str) -> Value {
        self.wait_until(run, |detail| {
            let now = &detail["status"];
            assert!(now == status || now == "RUNNING", "not {status}: {detail}");
            now == status
        })
        .await
    }

    /// A run as soon as an attempt of an activity of it is under way, and is known to be.
    pub async fn wait_for_attempt(&self, run: &Run) -> Value {
        self.wait_until(run, |detail| {
            detail["pendingActivities"][0]["lastStartedTime"].is_string()
        })
        .await
    }

    /// A run of the type `Approval`, as soon as it waits.
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

    /// A page of runs.
    pub fn list(&self, body: &Value) -> Request {
        self.service.post(&self.token, "/workflows/runs", body)
    }

    /// The workflow ids of the runs that a selection finds, newest first.
    pub async fn found(&self, selection: &Value) -> Vec<String> {
        let page = self.list(selection).await.expect_status(200).body;
        let runs = page["runs"].as_array().expect("a listing has runs");
        let id = |run: &Value| run["workflow_id"].as_str().unwrap_or_default().to_owned();
        runs.iter().map(id).collect()
    }
}

/// The types of events, in their order and without what all begin with.
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

/// The event of a history that has a type, without what all begin with.
#[track_caller]
pub fn event<'a>(events: &'a [Value], name: &str) -> &'a Value {
    let name = format!("EVENT_TYPE_{name}");
    match events.iter().find(|event| event["event_type"] == name) {
        Some(event) => event,
        None => panic!("no {name} in {events:?}"),
    }
}

/// Whether it is a time as the API writes it: in UTC, with milliseconds.
pub fn is_time(value: &Value) -> bool {
    let shape = |text: &str| -> String {
        let kind = |letter: char| if letter.is_ascii_digit() { '0' } else { letter };
        text.chars().map(kind).collect()
    };
    value
        .as_str()
        .is_some_and(|text| shape(text) == "0000-00-00T00:00:00.000Z")
}
