//! `POST /workflows/runs/{run_id}/updates`: publishes an update message of a run. Meant for the run's own
//! work, not for clients.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::UseRuns;
use platform::http::strict::optional_json;
use platform::http::text::check_name;
use platform::http::{Call, OptionalJson, Path, Reply, audited};
use platform::records::audit::AuditAction;
use platform::{Error, Platform, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workflow::engine::visible;
use workflow::turn::NewUpdate;
use workflow::updates::{MAX_MESSAGE_CHARACTERS, UpdateMessage};

use crate::model::viewer;
use crate::{App, audience};

const DEFAULT_TYPE: &str = "UPDATE";

/// The path of the update messages of a run.
#[derive(Deserialize, JsonSchema)]
pub struct UpdatePath {
    /// Run id.
    pub run_id: String,
}

/// An update message to publish. The body may be left out.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PublishUpdate {
    /// Type of the message, 1 to 200 characters. Default: `UPDATE`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Text for people, at most 10,000 characters. Default: the type.
    pub message: Option<String>,
    /// Data for programs, any JSON.
    #[serde(deserialize_with = "optional_json")]
    pub details: Option<Value>,
    /// Part of the run that the message is about, 1 to 200 characters.
    pub workstream_id: Option<String>,
}

/// Confirmation that the message was published.
#[derive(Serialize, JsonSchema)]
pub struct UpdatePublished {
    /// Always true: a failure is an error.
    pub success: bool,
}

pub fn route(platform: &Platform, app: &App) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "workflow")
        .identified_by("run_id")
        .on(audience::layered(app, post_with(handler, doc)))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("publishRunUpdate")
        .tag("workflow runs")
        .summary("Publish an update message of a workflow run")
        .description(
            "Publishes a message about a run, for those who list its messages or follow its stream: progress, for example. The \
             workflow's code publishes such messages itself; this operation is for programs that work for the run, also after its end.\n\n\
             Limits: the last 1,000 messages of a run are kept, for 90 days; a body of 256 KiB. Side effects: an audit record of \
             the action `update`.",
        )
        .response::<200, axum::Json<UpdatePublished>>()
}

fn check_message(message: Option<&str>) -> Result<()> {
    if message.is_some_and(|text| text.chars().count() > MAX_MESSAGE_CHARACTERS) {
        return Err(Error::invalid_field(
            "message",
            format!("is longer than {MAX_MESSAGE_CHARACTERS} characters; put more into 'details'."),
        ));
    }
    Ok(())
}

async fn handler(
    call: Call<UseRuns>,
    State(app): State<App>,
    Path(path): Path<UpdatePath>,
    OptionalJson(body): OptionalJson<PublishUpdate>,
) -> Result<Reply<UpdatePublished>> {
    let tenant = call.tenant()?;
    let kind = body.kind.unwrap_or_else(|| DEFAULT_TYPE.to_owned());
    check_name("type", &kind)?;
    check_message(body.message.as_deref())?;
    if let Some(workstream_id) = &body.workstream_id {
        check_name("workstream_id", workstream_id)?;
    }
    let state = app.workflows.engine.get(&tenant, &path.run_id).await?;
    let state = visible(state, None, &viewer(&call))?;
    call.is_private_to(state.about.private_to());
    let update = NewUpdate {
        message: body.message.unwrap_or_else(|| kind.clone()),
        kind,
        details: body.details,
        workstream_id: body.workstream_id,
    };
    let update = UpdateMessage::from_new(update).map_err(Error::internal)?;
    app.workflows
        .engine
        .post_update(&tenant, &state.run_id, &update)
        .await?;
    Ok(Reply::ok(UpdatePublished { success: true }))
}
