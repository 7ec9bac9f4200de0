//! Sends each case of `tests/data/strangers/templates.jsonl`: what is refused when a template is written,
//! what the service warns of, and what is rendered.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::requests::started;

const CASES: &str = include_str!("../../data/strangers/templates.jsonl");

#[derive(Deserialize)]
struct Case {
    content_type: String,
    template: String,
    data: Value,
    #[serde(default, rename = "inputSchema")]
    input_schema: Value,
    right: Right,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Right {
    /// What is rendered.
    text: Option<String>,
    /// Why the data cannot be rendered.
    error: Option<String>,
    /// Why the template is not stored.
    refused: Option<String>,
    /// What the author is warned of; without it there is no warning.
    warning: Option<String>,
}

#[tokio::test]
async fn each_case_is_stored_and_rendered_as_is_right_or_refused() {
    let (service, token) = started().await;
    let cases: Vec<Case> = CASES
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let body = json!({
            "name": "Case", "role": "user", "content_type": case.content_type, "content": case.template,
            "inputSchema": case.input_schema,
        });
        let answer = service.post(&token, "/prompts", &body).await;
        let body = json!({ "content_type": case.content_type, "content": case.template, "data": case.data });
        let rendered = service.post(&token, "/prompts/render", &body).await;
        let right = &case.right;
        let is_right = match (&right.text, &right.error, &right.refused) {
            (Some(text), None, None) => {
                let warnings = answer.body["warnings"].to_string();
                let is_warned = match &right.warning {
                    Some(warning) => warnings.contains(warning),
                    None => answer.body["warnings"].is_null(),
                };
                answer.status == 201 && is_warned && rendered.body["text"] == text.as_str()
            }
            (None, Some(error), None) => {
                answer.status == 201 && rendered.status == 400 && rendered.message().contains(error)
            }
            (None, None, Some(refused)) => [&answer, &rendered]
                .iter()
                .all(|answer| answer.status == 400 && answer.message().contains(refused)),
            _ => false,
        };
        if !is_right {
            let (template, why) = (&case.template, &case.why);
            wrong.push(format!(
                "{template}: {why}\n  {}\n  {}",
                answer.text(),
                rendered.text()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
