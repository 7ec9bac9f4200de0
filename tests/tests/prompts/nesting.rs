//! Tests prompt templates that are nested very deep: each is refused or accepted, and none stops the service.

use serde_json::Value;
use tests::samples::prompt;
use tests::{Persona, Service};

/// Far deeper than any hand-written template, in a body of at most 200 KB.
const DEPTH: usize = 8_000;

fn body(content_type: &str, content: String) -> Value {
    let mut body = prompt("Deep");
    body["content_type"] = content_type.into();
    body["content"] = content.into();
    body
}

/// Sends each content, and reports those that stopped the service or got a 5xx.
async fn check(content_type: &str, contents: impl IntoIterator<Item = (String, String)>) {
    let mut service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let mut failures = Vec::new();
    for (name, content) in contents {
        let request = service.post(&token, "/prompts", &body(content_type, content));
        match request.send().await {
            Ok(answer) if matches!(answer.status, 201 | 400) => {}
            Ok(answer) => failures.push(format!("{name}: {} {}", answer.status, answer.text())),
            Err(_) => {
                let log = service.log();
                let last = log.trim_end().lines().last().unwrap_or_default();
                failures.push(format!("{name}: the service ended: {last}"));
                if !service.is_shared() {
                    service.restart();
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns a start, a repeated opening, a middle, and an equally repeated closing.
fn nested(parts: [&str; 4]) -> (String, String) {
    let [before, open, middle, close] = parts;
    let content = format!("{before}{}{middle}{}", open.repeat(DEPTH), close.repeat(DEPTH));
    (format!("{before}{open}…{middle}{close}…"), content)
}

#[tokio::test]
async fn nested_handlebars_is_stored_or_refused_without_a_crash() {
    let cases = [
        ["", "{{#if a}}", "", "{{/if}}"],
        ["", "{{#if a}}", "", ""],
        ["", "{{#each a as |b|}}", "", "{{/each}}"],
        ["", "{{^a}}", "", "{{/a}}"],
        ["", "{{~#if a~}}", "", "{{~/if~}}"],
        ["", "{{ #if a}}", "", "{{/if}}"],
        ["", "{{#unless a}}{{else}}", "", "{{/unless}}"],
        ["{{#if a}}", "{{else if a}}", "", ""],
        ["", "{{#> a}}", "", "{{/a}}"],
        ["", "{{#*inline \"a\"}}", "", "{{/inline}}"],
        ["", "{{{{raw}}}}", "", "{{{{/raw}}}}"],
        ["{{x ", "(", "a", ")"],
        ["{{x ", "(a ", "b", ")"],
        ["{{x a=", "(a b=", "b", ")"],
        ["{{a", ".b", "}}", ""],
        ["{{", "../", "a}}", ""],
        ["{{x ", "[", "", "]"],
        ["{{x ", "{\"a\":", "1", "}"],
        ["", "{", "", "}"],
    ];
    check("handlebars", cases.map(nested)).await;
}

#[tokio::test]
async fn nested_jst_is_stored_or_refused_without_a_crash() {
    let cases = [
        ["", "${`", "", "`}"],
        ["", "${`", "", ""],
        ["${", "[", "", "]}"],
        ["${", "(", "a", ")}"],
        ["${", "{a:", "a", "}}"],
        ["${", "!", "a}", ""],
        ["${", "- ", "a}", ""],
        ["${", "typeof ", "a}", ""],
        ["${", "new ", "a}", ""],
        ["${", "a=>", "a}", ""],
        ["${", "a?", "a", ":a}"],
        ["${", "a?a:", "a}", ""],
        ["${", "a=", "a}", ""],
        ["${", "a**", "a}", ""],
        ["${", "a+", "a}", ""],
        ["${a", ".b", "}", ""],
        ["${a", "[0]", "}", ""],
        ["${a", "()", "}", ""],
        ["${a", "?.b", "}", ""],
        ["${a", "``", "}", ""],
        ["${", "a,", "a}", ""],
        ["${", "function a(){", "", "}}"],
        ["${()=>{", "if(a)", "a}}", ""],
        ["${()=>{", "a:", "a}}", ""],
        ["${()=>{", "if(a){}else ", "a}}", ""],
        ["${", "class extends ", "a{}}", ""],
    ];
    check("jst", cases.map(nested)).await;
}

#[tokio::test]
async fn nested_schema_or_test_data_is_stored_or_refused_without_a_crash() {
    let mut service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let mut failures = Vec::new();
    // JSON itself is accepted up to a certain depth; within that, the schema compiler and the validator must
    // not fail either.
    for depth in [10, 60, 100, 120] {
        let nest = |open: &str, middle: &str, close: &str| {
            format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
        };
        for (schema, data) in [
            (nest(r#"{"not":"#, "{}", "}"), "{}".to_owned()),
            (nest(r#"{"items":"#, "{}", "}"), nest(r#"{"a":"#, "1", "}")),
            (
                r##"{"properties":{"a":{"$ref":"#"}}}"##.to_owned(),
                nest(r#"{"a":"#, "{}", "}"),
            ),
            (r##"{"$ref":"#"}"##.to_owned(), "{}".to_owned()),
            (
                r##"{"allOf":[{"$ref":"#"},{"$ref":"#"}]}"##.to_owned(),
                "{}".to_owned(),
            ),
        ] {
            let body = format!(
                r#"{{"name":"a","role":"user","content_type":"text","content":"","inputSchema":{schema},"test_data":{data}}}"#
            );
            let request = service.request(tests::Method::POST, "/prompts").token(&token);
            let request = request.header("content-type", "application/json").body(body);
            match request.send().await {
                Ok(answer) if matches!(answer.status, 201 | 400) => {}
                Ok(answer) => failures.push(format!("{schema}: {} {}", answer.status, answer.text())),
                Err(_) => {
                    failures.push(format!("{schema}: the service ended"));
                    if !service.is_shared() {
                        service.restart();
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
