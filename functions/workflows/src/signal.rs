//! `POST /workflows/runs/{workflow_id}/{run_id}/signal/{signal_name}`: tells a run something. The answer comes when the signal is in the
//! run's history; when the run reads it, is the run's affair.

use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::text::check_name;
use platform::http::{Call, Json, Path, Reply, strict};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use workflow::payload::Payload;

use crate::App;
use crate::model::run;

/// Which run to tell, and by which name.
#[derive(Deserialize, JsonSchema)]
pub struct SignalPath {
    /// The run's workflow id.
    pub workflow_id: String,
    /// The run's id.
    pub run_id: String,
    /// The signal's name, as the run's code listens for it.
    pub signal_name: String,
}

/// What to tell. Further fields go with it.
#[derive(Serialize, JsonSchema)]
pub struct SendSignal {
    /// The message.
    pub message: String,
    /// Whatever else the run's code reads.
    #[serde(flatten)]
    pub further: Map<String, Value>,
}

/// By hand, because the derived reader of flattened fields keeps the last of two equal keys.
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

/// The signal was taken.
#[derive(Serialize, JsonSchema)]
pub struct SignalSent {
    /// Always `success`.
    pub status: &'static str,
    /// One sentence.
    pub message: String,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("signalWorkflowRun")
        .tag("workflow runs")
        .summary("Send a signal to a workflow run")
        .response::<200, axum::Json<SignalSent>>()
}

pub async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<SignalPath>,
    Json(body): Json<SendSignal>,
) -> Result<Reply<SignalSent>> {
    check_name("signal_name", &path.signal_name)?;
    let state = run(&app, &call, &path.workflow_id, &path.run_id).await?;
    let input = Payload::of(&body).map_err(Error::internal)?;
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
