//! Defines `post_update`: an update message of the agent's own run only. The workflow code publishes it.

use models::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::fault::Refusal;
use super::describe::described;

pub const NAME: &str = "post_update";
/// Maximum length of a message.
const MAX_MESSAGE_CHARACTERS: usize = 2_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    message: String,
}

pub fn tool() -> Tool {
    described(
        NAME,
        "Tells those who follow this run how far the work is. Use it sparingly; the result belongs into the answer.",
        &json!({ "message": { "type": "string", "description": "One or two sentences." } }),
        &["message"],
    )
}

pub fn message(arguments: &Value) -> Result<String, Refusal> {
    let asked: Arguments = read(NAME, arguments)?;
    match asked.message.trim() {
        "" => Err(Refusal("The argument 'message' is empty.".to_owned())),
        text => Ok(text.chars().take(MAX_MESSAGE_CHARACTERS).collect()),
    }
}
