//! Defines `ask_user`: a question to the user, whose answer is the signal `UserInput`. The workflow code
//! publishes the question and waits.

use models::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::fault::Refusal;
use super::describe::described;

pub const NAME: &str = "ask_user";
/// Maximum length of a question.
const MAX_QUESTION_CHARACTERS: usize = 5_000;

/// Begin of the result, which tells the model whose words follow.
const ANSWER: &str = "The user answers: ";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
}

pub fn tool() -> Tool {
    described(
        NAME,
        "Asks the user and waits for the answer, which may take days. Use it only where the task cannot be done without it.",
        &json!({ "question": { "type": "string", "description": "The question, with what the user must know to answer it." } }),
        &["question"],
    )
}

pub fn question(arguments: &Value) -> Result<String, Refusal> {
    let asked: Arguments = read(NAME, arguments)?;
    match asked.question.trim() {
        "" => Err(Refusal("The argument 'question' is empty.".to_owned())),
        text => Ok(text.chars().take(MAX_QUESTION_CHARACTERS).collect()),
    }
}

/// Returns the result of a question that the user answered with `text`.
pub fn result(text: &str) -> String {
    format!("{ANSWER}{text}")
}

/// Returns the answer of the user from the result of a question; None for one that was refused.
pub fn answer(result: &str) -> Option<&str> {
    result.strip_prefix(ANSWER)
}
