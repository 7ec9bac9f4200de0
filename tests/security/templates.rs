//! Tests hostile and malformed templates: each is refused with a position or accepted unchanged, and none
//! stops the service.
//!
//! The service renders no template here, so one that attacks a renderer is stored byte for byte.

use std::time::Duration;

use futures::future::join_all;
use serde_json::{Deserializer, Value, json};
use tests::{Answer, Persona, Service};

const TEMPLATES: &str = include_str!("data/templates.txt");
const REPEATED: &str = include_str!("data/templates_repeated.txt");
/// Concurrent requests.
const AT_ONCE: usize = 16;
/// Time after which an unanswered request counts as hung.
const GUARD: Duration = Duration::from_secs(30);
/// Maximum number of bytes of a Handlebars or JavaScript content.
const LONGEST: usize = 65_536;

/// Template and its expected result.
struct Row {
    what: String,
    status: u16,
    /// Line of the fault; 0 for a refusal that is not about syntax.
    line: usize,
    content_type: String,
    content: String,
}

impl Row {
    fn new(what: impl Into<String>, status: u16, content_type: &str, content: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            status,
            line: 1,
            content_type: content_type.to_owned(),
            content: content.into(),
        }
    }

    /// Parses `400@2 "jst" "content"`.
    fn parse(text: &str) -> Self {
        let (status, strings) = text.split_once(' ').expect("each row begins with a status");
        let (status, line) = status.split_once('@').unwrap_or((status, "1"));
        let [content_type, content] = strings_of(strings);
        let row = Self::new(text, status.parse().expect("a status"), &content_type, content);
        Self {
            line: line.parse().expect("a line"),
            ..row
        }
    }

    fn body(&self) -> Value {
        json!({ "name": "Row", "role": "user", "content_type": self.content_type, "content": self.content })
    }

    /// Creates the template, and reads it back if it is accepted. Returns the fault, or None after the time
    /// limit.
    async fn run(&self, service: &Service, token: &str) -> Option<Option<String>> {
        let fault = async {
            let created = service.post(token, "/prompts", &self.body()).await;
            let path = format!("/prompts/{}", created.body["id"].as_str().unwrap_or("none"));
            let stored_prompt = match created.status {
                201 => Some(service.get(token, &path).await.expect_status(200)),
                _ => None,
            };
            self.fault(&created, stored_prompt.as_ref())
        };
        tokio::time::timeout(GUARD, fault).await.ok()
    }

    fn fault(&self, answer: &Answer, stored_prompt: Option<&Answer>) -> Option<String> {
        if answer.status >= 400 {
            answer.check_error();
        }
        let message: String = answer.message().chars().take(200).collect();
        if answer.status != self.status {
            return Some(format!("{} {message}", answer.status));
        }
        let place = match (self.status, self.line) {
            (400, 0) => "$.content_type".to_owned(),
            (400, line) => format!(" template at line {line}, column "),
            _ => String::new(),
        };
        let is_stored = stored_prompt.is_none_or(|prompt| prompt.body["content"] == self.content.as_str());
        // A content that is too long has no place.
        let is_long = message.contains("at most 65536 bytes");
        match (is_stored, is_long || message.contains(&place)) {
            (true, true) => None,
            (true, false) => Some(format!("no {place:?} in {message}")),
            (false, _) => Some("what is read is not what was written".to_owned()),
        }
    }
}

/// Parses `COUNT` JSON strings, one after the other.
fn strings_of<const COUNT: usize>(text: &str) -> [String; COUNT] {
    let mut strings = Deserializer::from_str(text).into_iter();
    [(); COUNT].map(|()| {
        strings
            .next()
            .expect("no string is missing")
            .expect("each is JSON")
    })
}

async fn started() -> (Service, String) {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    (service, token)
}

#[tokio::test]
async fn each_template_is_taken_as_it_is_or_refused_with_its_place() {
    let (service, token) = started().await;
    let lines = TEMPLATES.lines().filter(|line| !line.starts_with("# "));
    let all: Vec<_> = lines.map(Row::parse).collect();
    let base = service
        .post(&token, "/prompts", &Row::new("", 201, "text", "kept").body())
        .await;
    let path = format!("/prompts/{}", base.expect_status(201).id());
    let mut wrong = Vec::new();
    for chunk in all.chunks(AT_ONCE) {
        let runs = join_all(chunk.iter().map(|row| row.run(&service, &token))).await;
        for (row, run) in chunk.iter().zip(runs) {
            let fault = run.unwrap_or_else(|| Some(format!("no answer within {GUARD:?}")));
            wrong.extend(fault.map(|fault| format!("{}: {fault}", row.what)));
        }
        // An update must refuse whatever a creation refuses.
        let refused: Vec<_> = chunk.iter().filter(|row| row.status == 400).collect();
        let updates = refused
            .iter()
            .map(|row| service.put(&token, &path, &row.body()).into_future());
        for (row, answer) in refused.iter().zip(join_all(updates).await) {
            wrong.extend(
                row.fault(&answer, None)
                    .map(|fault| format!("update: {}: {fault}", row.what)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let prompt = service.get(&token, &path).await.expect_status(200);
    assert_eq!(
        (&prompt.body["version"], &prompt.body["content"]),
        (&json!(1), &json!("kept"))
    );
}

#[tokio::test]
async fn no_template_takes_the_service_long() {
    let (mut service, token) = started().await;
    let mut all = Vec::new();
    for line in REPEATED.lines().filter(|line| !line.starts_with("# ")) {
        let (status, strings) = line.split_once(' ').expect("each row begins with a status");
        let [content_type, before, text, behind] = strings_of(strings);
        let count = (LONGEST - before.len() - behind.len()) / text.len();
        let content = format!("{before}{}{behind}", text.repeat(count));
        let status = status.parse().expect("a status");
        all.push(Row::new(line, status, &content_type, content));
    }
    let blocks = |depth: usize| format!("{}{}", "{{#if a}}".repeat(depth), "{{/if}}".repeat(depth));
    let calls = |depth: usize| {
        let (begin, end) = ("(lookup a ".repeat(depth), ")".repeat(depth));
        format!("{{{{lookup a {begin}b{end}}}}}")
    };
    let mut add = |what: &str, status: u16, content_type: &str, content: String| {
        all.push(Row::new(what, status, content_type, content));
    };
    add("100 blocks", 201, "handlebars", blocks(100));
    add("101 blocks", 400, "handlebars", blocks(101));
    add(
        "101 trimmed blocks",
        400,
        "handlebars",
        blocks(101).replace("{{#", "{{~#"),
    );
    add(
        "101 spaced blocks",
        400,
        "handlebars",
        blocks(101).replace("{{#", "{{# "),
    );
    add("100 calls", 201, "handlebars", calls(100));
    add(
        "calls without an end",
        400,
        "handlebars",
        "{{a ".to_owned() + &"(b ".repeat(20_000),
    );
    add("65,536 bytes", 201, "handlebars", "x".repeat(LONGEST));
    add("65,537 bytes", 400, "handlebars", "x".repeat(LONGEST + 1));
    add(
        "65,537 bytes in 16,385 letters",
        400,
        "handlebars",
        "😀".repeat(16_384) + "x",
    );
    add("200,000 bytes", 400, "handlebars", "{{a}}".repeat(40_000));
    add("65,536 bytes", 201, "jst", "x".repeat(LONGEST));
    add("65,537 bytes", 400, "jst", "x".repeat(LONGEST + 1));
    add(
        "65,537 bytes in 16,385 letters",
        400,
        "jst",
        "😀".repeat(16_384) + "x",
    );
    add("200,000 bytes", 400, "jst", "${a}".repeat(50_000));
    add(
        "1,000 calls",
        400,
        "jst",
        format!("${{a{}}}", ".b()".repeat(1_000)),
    );
    add("60,000 bytes", 201, "text", "{{`${".repeat(12_000));
    add("250,000 bytes", 201, "text", "{{`${".repeat(50_000));
    add("300,000 bytes", 413, "text", "x".repeat(300_000));
    let mut wrong = Vec::new();
    for row in &all {
        let run = row.run(&service, &token).await;
        if run.is_none() && !service.is_shared() {
            // Restart, because the parser would continue during the next rows.
            service.restart();
        }
        let fault = run.unwrap_or_else(|| Some(format!("no answer within {GUARD:?}")));
        wrong.extend(fault.map(|fault| format!("{}, {}: {fault}", row.content_type, row.what)));
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn the_texts_of_a_template_have_350_000_bytes_together() {
    let (service, token) = started().await;
    let text = |bytes: usize| "x".repeat(bytes);
    let base = Row::new("", 201, "text", text(200_000)).body();
    let path = format!(
        "/prompts/{}",
        service
            .post(&token, "/prompts", &base)
            .await
            .expect_status(201)
            .id()
    );
    // The data counts as JSON: `{"a":""}` is eight bytes.
    for (change, status) in [
        (json!({ "test_data": { "a": text(139_992) } }), 200),
        (json!({ "description": text(10_000) }), 200),
        (json!({ "tags": ["x"] }), 413),
        (json!({ "content": text(200_001) }), 413),
        (json!({ "content": text(260_000) }), 413),
        (
            json!({ "description": text(9_000), "test_data": { "a": text(140_993) } }),
            413,
        ),
        (
            json!({ "description": text(9_000), "test_data": { "a": text(140_992) } }),
            200,
        ),
    ] {
        let answer = service.put(&token, &path, &change).await.expect_status(status);
        if status == 413 {
            answer.expect_error(413, "payload_too_large");
        }
    }
    let prompt = service.get(&token, &path).await.expect_status(200);
    assert_eq!(prompt.body["version"], 4);
    assert_eq!(prompt.body["content"], base["content"]);
    assert_eq!(
        prompt.body["test_data"]["a"].as_str().map(str::len),
        Some(140_992)
    );
}
