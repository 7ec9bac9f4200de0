//! `POST /prompts/render`: renders a content with data, without storing it, so that an author sees what an
//! agent would send.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use platform::auth::permission::ReadPrompts;
use platform::http::{Call, Json, Reply, strict};
use platform::{Result, low_priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use prompts::records::prompts::ContentType;

/// A content to render, with its data.
#[derive(Deserialize, JsonSchema)]
pub struct RenderPrompt {
    /// Language of `content`.
    #[serde(deserialize_with = "strict::name")]
    pub content_type: ContentType,
    /// Text of the template in that language; at most 64 KiB of `handlebars` or `jst`.
    pub content: String,
    /// Values of the variables. Default: none.
    #[serde(default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub data: Map<String, Value>,
}

/// A rendered content.
#[derive(Serialize, JsonSchema)]
pub struct RenderedPrompt {
    /// Text that the content and the data make; at most 1 MiB.
    pub text: String,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("renderPrompt")
        .tag("prompts")
        .summary("Render a content with data")
        .description(
            "Answers the text that an agent would send for this content and these data: while a template is written, or before it is \
             published. The content is checked as on a write: what a language cannot parse is a 400 that names line and column. So is \
             a 400 what these data cannot render, with the line where it is known, or what takes more than a million steps. Nothing is stored. No side effects, and no audit record.",
        )
        .response::<200, axum::Json<RenderedPrompt>>()
}

async fn handler(call: Call<ReadPrompts>, Json(body): Json<RenderPrompt>) -> Result<Reply<RenderedPrompt>> {
    let tenant = call.tenant()?;
    // Large data take up to 0.1 s of processor time.
    let rendered = low_priority::run(tenant.account(), async move {
        prompts::render_unstored(body.content_type, &body.content, &Value::Object(body.data))
    });
    let text = rendered.await??;
    Ok(Reply::ok(RenderedPrompt { text }))
}
