//! Tests small inputs that are expensive to process: each is refused or stopped, and delays no other request.

use futures::future::join_all;
use serde_json::{Map, Value, json};
use tests::samples::prompt;
use tests::{Answer, Persona, Service};

/// Maximum memory of the busy service, without its children, in KB.
const MAX_MEMORY_KB: u64 = 500 * 1_024;
/// Concurrent requests with one bomb.
const AT_ONCE: usize = 2;

fn schema(schema: Value) -> Value {
    let mut body = prompt("Bomb");
    body["inputSchema"] = schema;
    body["test_data"] = json!({ "a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "b": {} });
    body
}

fn template(content_type: &str, content: String) -> Value {
    let mut body = prompt("Bomb");
    body["content_type"] = content_type.into();
    body["content"] = content.into();
    body
}

/// Returns a schema whose `levels` parts each refer twice to the next one, by `link`.
fn doubling(levels: usize, link: impl Fn(&str) -> Value) -> Value {
    let mut parts: Map<String, Value> = (0..levels)
        .map(|level| {
            (
                format!("p{level}"),
                link(&format!("#/definitions/p{}", level + 1)),
            )
        })
        .collect();
    parts.insert(format!("p{levels}"), json!({ "type": "object" }));
    json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": parts, "allOf": [{ "$ref": "#/definitions/p0" }] })
}

fn nested(levels: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(inner, |inner, _| wrap(inner))
}

/// Returns the bodies of templates that must each get a 400.
fn refused() -> Vec<(&'static str, Value)> {
    let to = |target: &str| json!({ "$ref": target });
    let k64 = 64 * 1_024;
    vec![
        ("dependentSchemas", {
            let link = |target: &str| json!({ "dependentSchemas": { "a": to(target), "b": to(target) } });
            let mut schema = doubling(40, link);
            schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
            self::schema(schema)
        }),
        (
            "dependencies",
            schema(doubling(
                40,
                |target| json!({ "dependencies": { "a": to(target), "b": to(target) } }),
            )),
        ),
        (
            "allOf",
            schema(doubling(
                40,
                |target| json!({ "allOf": [to(target), to(target)] }),
            )),
        ),
        (
            "anyOf of not",
            schema(doubling(
                40,
                |target| json!({ "anyOf": [{ "not": to(target) }, { "not": { "not": to(target) } }] }),
            )),
        ),
        (
            "if then else",
            schema(doubling(
                40,
                |target| json!({ "if": to(target), "then": to(target), "else": to(target) }),
            )),
        ),
        (
            "an $id below",
            schema(json!({
                "$id": "https://example.com/root",
                "definitions": { "x": { "$id": "https://example.com/x", "definitions": { "y": { "allOf": [{ "$ref": "#/definitions/y" }] } } } },
            })),
        ),
        (
            "unevaluatedProperties",
            schema(nested(
                12,
                json!({}),
                |inner| json!({ "anyOf": [inner, { "required": ["a"] }, {}], "unevaluatedProperties": false }),
            )),
        ),
        (
            "a dynamic reference",
            schema(json!({ "$dynamicAnchor": "n", "allOf": [{ "$dynamicRef": "#n" }] })),
        ),
        (
            "unicode patterns",
            schema({
                let many = (0..1_000).map(|number| {
                    (
                        format!("a{number}"),
                        json!({ "pattern": format!("^\\p{{L}}{{1,{number}}}$") }),
                    )
                });
                json!({ "properties": many.collect::<Map<_, _>>() })
            }),
        ),
        (
            "99 unicode patterns",
            schema({
                let many = (0..99).map(|number| {
                    (
                        format!("a{number}"),
                        json!({ "pattern": format!("(\\p{{L}}|\\w){{{number},99}}") }),
                    )
                });
                json!({ "properties": many.collect::<Map<_, _>>() })
            }),
        ),
        (
            "a back-reference",
            schema(json!({ "properties": { "a": { "pattern": "^(a+)+\\1$" } } })),
        ),
        (
            "a look-ahead",
            schema(json!({ "properties": { "a": { "pattern": "^(?=(a+)+$)" } } })),
        ),
        (
            "a pattern that grows",
            schema(json!({ "properties": { "a": { "pattern": "((a{9}){99}){99}" } } })),
        ),
        (
            "patternProperties",
            schema({
                let many = (0..150).map(|number| (format!("^(a|b|{number})+$"), json!({})));
                json!({ "patternProperties": many.collect::<Map<_, _>>() })
            }),
        ),
        ("blocks", template("handlebars", "{{#if a}}".repeat(k64 / 9))),
        ("open braces", template("handlebars", "{{".repeat(k64 / 2))),
        ("open comments", template("handlebars", "{{!--".repeat(k64 / 5))),
        ("raw blocks", template("handlebars", "{{{{a}}}}".repeat(k64 / 9))),
        (
            "parentheses",
            template("handlebars", format!("{{{{x {}", "(a ".repeat(20_000))),
        ),
        ("250 KB of tags", template("handlebars", "{{a}}".repeat(50_000))),
        ("250 KB of braces", template("handlebars", "{{".repeat(125_000))),
        (
            "long after blocks",
            template("handlebars", format!("{}{{{{/if}}}}", "{{a}}".repeat(13_000))),
        ),
        (
            "jst parentheses",
            template("jst", format!("${{{}", "(".repeat(k64 - 2))),
        ),
        (
            "jst arrows",
            template("jst", format!("${{{}", "a=>".repeat(k64 / 3 - 2))),
        ),
        ("jst templates", template("jst", "`${".repeat(k64 / 3))),
        (
            "jst classes",
            template("jst", format!("${{{}", "class extends ".repeat(4_000))),
        ),
    ]
}

/// Returns large but ordinary templates, which must be accepted.
fn ordinary_templates() -> Vec<(&'static str, Value)> {
    let line = "Hello dear {{customer.name}}, your order of {{order.date}} is on its way to you now.\n";
    vec![
        ("itself", schema(json!({ "$ref": "#" }))),
        (
            "64 KB of lines",
            template("handlebars", line.repeat(64 * 1_024 / line.len())),
        ),
        ("64 KB of tags", template("handlebars", "{{a}}".repeat(13_000))),
        (
            "64 KB of blocks",
            template(
                "handlebars",
                "{{#each items}}{{this.name}}{{/each}}".repeat(1_700),
            ),
        ),
        (
            "64 KB of JavaScript",
            template("jst", "Hello ${customer.name}!\n".repeat(2_600)),
        ),
        (
            "500 properties",
            schema({
                let many = (0..500).map(|number| {
                    (
                        format!("p{number}"),
                        json!({ "type": ["string", "null"], "maxLength": 9 }),
                    )
                });
                json!({ "type": "object", "properties": many.collect::<Map<_, _>>() })
            }),
        ),
        (
            "50 patterns",
            schema({
                let many = (1..=50).map(|number| {
                    (
                        format!("p{number}"),
                        json!({ "pattern": format!("^[a-z]{{1,{number}}}$") }),
                    )
                });
                json!({ "type": "object", "properties": many.collect::<Map<_, _>>() })
            }),
        ),
    ]
}

#[tokio::test]
async fn a_bomb_is_refused_and_nothing_else_waits_for_it_locally() {
    let mut service = Service::start_local().await;
    let (attacker, victim) = (service.scope(), service.scope());
    let attacker = attacker.token(Persona::Developer);
    let victim = victim.token(Persona::Developer);
    let mut wrong = Vec::new();
    for (name, body) in refused() {
        let attack = join_all((0..AT_ONCE).map(|_| service.post(&attacker, "/prompts", &body).send()));
        let work = async {
            let mut answers = Vec::new();
            for _ in 0..3 {
                answers.push(service.post(&victim, "/prompts", &prompt("Beside")).await.status);
                answers.push(service.get(&victim, "/prompts?limit=1").await.status);
            }
            answers
        };
        let (attacked, worked) = tokio::join!(attack, work);
        for answer in attacked {
            match answer {
                Ok(answer) if answer.status == 400 => answer.check_error(),
                other => wrong.push(format!("{name}: {:?}", other.as_ref().map(Answer::text))),
            }
        }
        if worked.iter().any(|status| ![200, 201].contains(status)) {
            wrong.push(format!("{name}: beside it {worked:?}"));
        }
        // The attacker's next request works.
        let next = service.post(&attacker, "/prompts", &prompt("Next")).await;
        if next.status != 201 {
            wrong.push(format!("{name}: then {}", next.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let memory = service.process().memory_kb();
    assert!(memory < MAX_MEMORY_KB, "{memory} KB");
}

#[tokio::test]
async fn large_ordinary_input_is_accepted() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (name, mut body) in ordinary_templates() {
        if body.get("inputSchema").is_some() {
            body["test_data"] = json!({});
        }
        let answer = service.post(&token, "/prompts", &body).await;
        assert_eq!(answer.status, 201, "{name}: {}", answer.text());
    }
}
