//! `POST /workflows/runs/{workflow_id}/{run_id}/signal/{signal_name}`: sends a signal to a run.
//!
//! The answer comes when the signal is in the run's history. When the run's code reads it depends on that
//! code.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::openapi::problem;
use platform::http::text::check_name;
use platform::http::{Call, Json, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use workflow::payload::Payload;

use crate::model::run;
use crate::{App, audience};

/// The path of a signal to a run.
#[derive(Deserialize, JsonSchema)]
pub struct SignalPath {
    /// Workflow id of the run.
    pub workflow_id: String,
    /// Run id.
    pub run_id: String,
    /// Name of a signal that the workflow type declares; 1 to 200 characters.
    pub signal_name: String,
}

/// Body of a signal, which the workflow's code receives whole.
#[derive(Serialize, JsonSchema)]
pub struct SendSignal {
    /// Text of the signal.
    pub message: String,
    /// Further fields that the workflow's code reads.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

/// Implemented by hand, because the derived reader of flattened fields keeps the last of two equal keys.
impl<'de> Deserialize<'de> for SendSignal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let strict::Json(body) = strict::Json::deserialize(deserializer)?;
        let Value::Object(mut further) = body else {
            return Err(D::Error::custom("expected an object"));
        };
        match further.remove("message") {
            Some(Value::String(message)) => Ok(Self { message, further }),
            Some(_) => Err(D::Error::custom("the field `message` must be a string")),
            None => Err(D::Error::missing_field("message")),
        }
    }
}

/// Confirmation that the signal was written.
#[derive(Serialize, JsonSchema)]
pub struct SignalSent {
    /// `success`.
    pub status: &'static str,
    /// Sentence for people.
    pub message: String,
}

pub fn route(platform: &Platform, app: &App) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "workflow")
        .identified_by("run_id")
        .on(audience::layered(app, post_with(handler, doc)))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("signalWorkflowRun")
        .tag("workflow runs")
        .summary("Send a signal to a workflow run")
        .description(
            "Sends a signal to a running run: the answer comes once the signal is in the run's history, and the workflow's code \
             receives it with its next turn. A signal that the code does not wait for at the time stays in the history; one that the \
             workflow type does not declare is a 404 that names those that it does.\n\n\
             Limits: 10,000 signals a run, a body of 256 KiB. Side effects: an audit record of the action `update`.",
        )
        .response::<200, axum::Json<SignalSent>>()
        .with(problem(
            ErrorKind::Conflict,
            "The run has ended.",
            "The run '0197f3c2-8a41-7d0e-9b1c-000000000012' has ended; it is COMPLETED.",
        ))
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<SignalPath>,
    Json(body): Json<SendSignal>,
) -> Result<Reply<SignalSent>> {
    check_name("signal_name", &path.signal_name)?;
    let state = run(&app, &call, &path.workflow_id, &path.run_id).await?;
    check_declared(&app, &state.workflow_type, &path.signal_name)?;
    let input = Payload::from_value(&body).map_err(Error::internal)?;
    let identity = call.principal.reference();
    app.workflows
        .engine
        .signal(
            &call.tenant()?,
            &state.run_id,
            &path.signal_name,
            &input,
            &identity,
        )
        .await?;
    Ok(Reply::ok(SignalSent {
        status: "success",
        message: format!(
            "The signal {} was sent to the run {}.",
            path.signal_name, state.run_id
        ),
    }))
}

/// Fails with 404 for a signal that the workflow type does not declare.
fn check_declared(app: &App, workflow_type: &str, name: &str) -> Result<()> {
    let registry = app.workflows.engine.registry();
    let Some(declared) = registry
        .interactions(workflow_type)
        .map(|type_of| type_of.signals)
    else {
        return Ok(());
    };
    if declared.contains(&name) {
        return Ok(());
    }
    let names: Vec<String> = declared.iter().map(|name| format!("'{name}'")).collect();
    let there = match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(" and "),
    };
    Err(Error::new(
        ErrorKind::NotFound,
        format!("The workflow type '{workflow_type}' has no signal '{name}'; it has {there}."),
    ))
}
