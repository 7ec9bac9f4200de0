//! Tests hostile list filters of workflow runs, and the query parameters of the other lists.

use futures::StreamExt as _;
use serde_json::{Value, json};
use tests::{Answer, Method, Persona, Runs};

use crate::sql::expanded;

/// Filters; the head of the file describes the format of a line.
const FILTERS: &str = include_str!("data/filters.txt");

/// Concurrent requests.
const AT_ONCE: usize = 4;

/// Project with two runs, two prompts, and their records in the audit trail.
struct Target {
    runs: Runs,
    prompt: String,
}

impl Target {
    async fn start() -> Self {
        let runs = Runs::start().await;
        let (run, _) = runs.begin_as("Steps", "kept-1", &json!({ "steps": 0 }));
        runs.wait_for_status(&run, "COMPLETED").await;
        runs.begin_as(
            "Approval",
            "kept-2",
            &json!({ "title": "Kept", "document_id": "doc-1" }),
        );
        let target = Self {
            prompt: String::new(),
            runs,
        };
        let prompt = target.prompt("Alpha 100%", &["red"]).await;
        target.prompt("Beta", &[]).await;
        let path = format!("/prompts/{prompt}");
        let updated = target.runs.service.put(&target.runs.token, &path, &json!({}));
        updated.await.expect_status(200);
        Self { prompt, ..target }
    }

    async fn prompt(&self, name: &str, tags: &[&str]) -> String {
        let mut body = tests::samples::prompt(name);
        body["tags"] = json!(tags);
        let created = self.runs.service.post(&self.runs.token, "/prompts", &body);
        created.await.expect_status(201).id()
    }

    /// Sends the request of a line.
    async fn ask(&self, request: &str) -> Answer {
        let request = expanded(&request.replace("{prompt}", &self.prompt));
        if request.starts_with('/') {
            return self.runs.service.get(&self.runs.token, &request).await;
        }
        let list = self.runs.service.request(Method::POST, "/workflows/runs");
        let list = list
            .token(&self.runs.token)
            .header("content-type", "application/json");
        list.body(request).await
    }

    /// Returns the fault of the answer to a line.
    async fn check(&self, number: usize, line: &str) -> Option<String> {
        let mut parts = line.splitn(3, " | ");
        let status: u16 = parts.next().unwrap().parse().unwrap();
        let (expected, request) = (parts.next().unwrap(), parts.next().unwrap());
        let answer = self.ask(request).await;
        let is_right = match answer.status {
            200 => entries(&answer.body) == expected,
            _ => {
                answer.check_error();
                answer.body["error"] == "invalid_request" && answer.message().contains(expected)
            }
        };
        let text: String = answer.text().chars().take(200).collect();
        (!is_right || answer.status != status)
            .then(|| format!("line {number}: {line}: {} {text}", answer.status))
    }

    /// Returns the page token of a listing's first page of one run.
    async fn page_token(&self, selection: &Value) -> String {
        let mut body = selection.clone();
        body["page_size"] = json!(1);
        let page = self.runs.list(&body).await.expect_status(200).body;
        page["next_page_token"]
            .as_str()
            .expect("there is a second page")
            .to_owned()
    }
}

/// Returns the workflow ids of a listing of runs, or the number of entries of another list.
fn entries(body: &Value) -> String {
    if let Some(runs) = body["runs"].as_array() {
        let ids: Vec<_> = runs
            .iter()
            .filter_map(|run| run["workflow_id"].as_str())
            .collect();
        return ids.join(",");
    }
    let list = body.as_array().or_else(|| body["events"].as_array());
    list.map_or_else(String::new, |list| list.len().to_string())
}

#[tokio::test]
async fn no_filter_finds_more_than_it_asks_for() {
    let target = Target::start().await;
    let lines = FILTERS.lines().zip(1..);
    let lines: Vec<_> = lines
        .filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    assert!(lines.len() >= 30, "{} filters", lines.len());
    let checks = lines.iter().map(|(line, number)| target.check(*number, line));
    let faults: Vec<_> = futures::stream::iter(checks).buffered(AT_ONCE).collect().await;
    let wrong: Vec<_> = faults.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn no_token_but_the_listings_own_is_taken() {
    let target = Target::start().await;
    let token = target.page_token(&json!({})).await;
    let other = target.page_token(&json!({ "query": "WorkflowId != ''" })).await;
    // The first 16 letters are the nonce that the rest was sealed with.
    let (nonce, sealed) = token.split_at(16);
    let swapped: String = token
        .chars()
        .map(|letter| {
            if letter.is_uppercase() {
                letter.to_ascii_lowercase()
            } else {
                letter.to_ascii_uppercase()
            }
        })
        .collect();
    let tokens = [
        ("another listing's token", other.clone()),
        ("another token's nonce", format!("{}{sealed}", &other[..16])),
        ("no nonce", sealed.to_owned()),
        ("a nonce alone", nonce.to_owned()),
        ("an empty nonce", format!("{}{sealed}", "A".repeat(16))),
        (
            "the first letter changed",
            format!(
                "{}{}",
                if nonce.starts_with('A') { 'B' } else { 'A' },
                &token[1..]
            ),
        ),
        ("letters of the other case", swapped),
        ("backwards", token.chars().rev().collect()),
        ("twice", token.repeat(2)),
        ("padded", format!("{token}=")),
        ("a space before", format!(" {token}")),
        ("a new line after", format!("{token}\n")),
        ("a NUL after", format!("{token}\u{0}")),
        (
            "percent-encoded",
            format!("%{:02X}{}", token.as_bytes()[0], &token[1..]),
        ),
        ("in quotes", format!("'{token}'")),
        ("two, with a comma", format!("{token},{token}")),
    ];
    let mut wrong = Vec::new();
    for (what, altered) in tokens {
        let answer = target.runs.list(&json!({ "next_page_token": altered })).await;
        answer.check_error();
        if answer.status != 400 || !answer.message().contains("next_page_token") {
            wrong.push(format!("{what}: {} {}", answer.status, answer.text()));
        }
    }
    // A token belongs to one caller in one project.
    for persona in [
        Persona::OtherAccount,
        Persona::OtherProject,
        Persona::AccountAdmin,
    ] {
        let other = target.runs.scope.token(persona);
        let body = json!({ "next_page_token": token });
        let answer = target.runs.service.post(&other, "/workflows/runs", &body).await;
        if answer.status != 400 || !answer.message().contains("next_page_token") {
            wrong.push(format!("{persona:?}: {} {}", answer.status, answer.text()));
        }
    }
    let rest = target.runs.list(&json!({ "next_page_token": token })).await;
    assert_eq!(entries(&rest.expect_status(200).body), "kept-1");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
