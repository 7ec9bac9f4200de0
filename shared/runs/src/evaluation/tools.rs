//! Implements the tools of the evaluator `agent`: they read the event and its content object, and nothing
//! else.
//!
//! They read with the role of the run: a role without `content:read` gets no text.

use events::envelope::Envelope;
use models::{Tool, ToolCall, ToolResult};
use platform::Result;
use platform::auth::Permission;
use platform::objects::Objects;
use serde_json::{Value, json};
use workflow::ActivityContext;

use super::content::{Excerpt, excerpt};
use super::question::{MAX_EXCERPT_BYTES, beginning, escaped, quoted};

const READ_EVENT: &str = "read_event";
const READ_CONTENT: &str = "read_content";
/// Highest offset at which a read may start, in bytes.
const MAX_OFFSET: usize = 4 * 1_024 * 1_024;

/// Returns the tools as the model sees them.
pub(super) fn tools() -> Vec<Tool> {
    let schema = json!({
        "type": "object",
        "properties": { "offset": { "type": "integer", "minimum": 0, "description": "First byte to read. Default: 0." } },
        "additionalProperties": false,
    });
    let tool = |name: &str, description: &str| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.clone(),
    };
    vec![
        tool(
            READ_EVENT,
            "Reads up to 16,384 bytes of the event as JSON text, from an offset on.",
        ),
        tool(
            READ_CONTENT,
            "Reads up to 16,384 bytes of the text of the content object that the event is about, from an offset on.",
        ),
    ]
}

/// Carries out a tool call. The result reports invalid arguments to the model.
pub(super) async fn carry_out(
    context: &ActivityContext,
    objects: &Objects,
    event: &Envelope,
    call: &ToolCall,
) -> Result<ToolResult> {
    let told = match (call.name.as_str(), offset(&call.arguments)) {
        (READ_EVENT | READ_CONTENT, None) => Err(format!(
            "The field 'offset' is an integer from 0 to {MAX_OFFSET}."
        )),
        (READ_EVENT, Some(offset)) => Ok(part_of_event(event, offset)?),
        (READ_CONTENT, Some(_)) if !may_read(context) => {
            Err("The role of the subscription may not read content.".to_owned())
        }
        (READ_CONTENT, Some(offset)) => {
            let range = (offset, MAX_EXCERPT_BYTES);
            match excerpt(objects, &context.tenant, event, range).await? {
                Excerpt::Missing(why) => Err(why.to_owned()),
                Excerpt::Text { text, is_cut } => Ok(delimited(&quoted(&text), is_cut)),
            }
        }
        _ => Err(format!(
            "There is no such tool; there are {READ_EVENT} and {READ_CONTENT}."
        )),
    };
    Ok(ToolResult {
        id: call.id.clone(),
        failed: told.is_err(),
        text: told.unwrap_or_else(|why| why),
    })
}

fn may_read(context: &ActivityContext) -> bool {
    let role = context.principal.as_ref().map(|run| run.role.role());
    role.is_some_and(|role| role.permissions().contains(&Permission::ContentRead))
}

fn offset(arguments: &Value) -> Option<usize> {
    match arguments.get("offset") {
        None | Some(Value::Null) => Some(0),
        Some(value) => {
            let offset = usize::try_from(value.as_u64()?).ok()?;
            (offset <= MAX_OFFSET).then_some(offset)
        }
    }
}

fn part_of_event(event: &Envelope, offset: usize) -> Result<String> {
    let whole = escaped(&event.to_json()?);
    let start = whole.floor_char_boundary(offset);
    let (part, is_cut) = beginning(whole.get(start..).unwrap_or_default(), MAX_EXCERPT_BYTES);
    Ok(delimited(part, is_cut))
}

fn delimited(part: &str, is_cut: bool) -> String {
    let rest = match is_cut {
        true => "\nThere is more behind it.",
        false => "\nThis is the end.",
    };
    format!("<data>\n{part}\n</data>{rest}")
}
