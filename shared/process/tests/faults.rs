//! Tests what is refused, with the place and the message.
#![cfg(test)]

mod common;

use common::{document, faults, passes, refused, tasks};

#[test]
fn the_document() {
    refused("", &[("", "empty")]);
    refused("[]", &[("", "found a list")]);
    refused(
        "a: b",
        &[
            ("", "'document' is missing"),
            ("", "'do' is missing"),
            ("/a", "Unknown field 'a'; a definition has: do, document"),
        ],
    );
    refused(
        "document: { dsl: 1.0.0-alpha1, namespace: a_b, name: -a, version: '1.0', tags: 1, x: 1 }\ndo: []",
        &[
            ("/document/dsl", "1.0.x"),
            ("/document/namespace", "'a_b'"),
            ("/document/name", "'-a'"),
            ("/document/version", "semantic"),
            ("/document/tags", "as an object"),
            ("/document/x", "Unknown field 'x'"),
        ],
    );
    for dsl in ["1.1.0", "0.9.0", "1.0", "2.0.0", "1.0.01"] {
        let text = document("do: []").replace("1.0.3", dsl);
        refused(&text, &[("/document/dsl", "1.0.x")]);
    }
    let long = "a".repeat(64);
    refused(
        &document("do: []").replace("sample", &long),
        &[("/document/name", "63")],
    );
    passes(&document("do: []").replace("sample", &long[..63]));
}

#[test]
fn what_a_process_does_not_do_here() {
    refused(
        &document(
            "
schedule: { every: PT1S }
evaluate: { language: js, mode: loose }
use: { extensions: [], catalogs: {}, authentications: { a: { oauth2: {} }, b: { token: {} } } }
do:
  - a: { run: { container: { image: i } } }
  - b: { run: { script: { language: js, code: '' } } }
  - c: { run: { shell: { command: ls } } }
  - d: { call: grpc, with: {} }
  - e: { call: asyncapi, with: {} }
  - f: { call: a2a }
  - g: { call: mcp }
  - h: { run: { workflow: { namespace: n, name: m }, return: stderr } }",
        ),
        &[
            ("/use/authentications/a/oauth2", "'oauth2' is not supported"),
            ("/use/authentications/b/token", "Unknown scheme 'token'"),
            ("/use/extensions", "Extensions"),
            ("/use/catalogs", "catalogs"),
            ("/evaluate/language", "in jq"),
            ("/evaluate/mode", "use strict"),
            ("/schedule", "event subscription"),
            ("/do/0/a/run/container", "no container"),
            ("/do/1/b/run/script", "no script"),
            ("/do/2/c/run/shell", "no shell"),
            ("/do/3/d/call", "no grpc"),
            ("/do/4/e/call", "no asyncapi"),
            ("/do/5/f/call", "no a2a"),
            ("/do/6/g/call", "no mcp"),
            ("/do/7/h/run/return", "'stderr'"),
        ],
    );
}

#[test]
fn lists_of_tasks() {
    refused(
        &tasks(
            "'': { set: {} } ;; a: { set: {} } ;; a: { set: {} } ;; b: { frob: 1 } ;; c: {} ;; d: { set: {}, wait: PT1S } ;; \
             e: { set: {}, then: nowhere } ;; end: { set: {} } ;; f: { set: {}, wait2: 1 } ;; g: 1, h: 2 ;; i: [] ;; \
             j: { do: [{ k: { set: {}, then: a } }] }",
        ),
        &[
            ("/do/0/", "empty"),
            ("/do/2/a", "two tasks 'a'"),
            ("/do/7/end", "'then' uses"),
            ("/do/9", "found 2 fields"),
            ("/do/3/b", "Unknown task type 'frob'; known are: call, do,"),
            ("/do/4/c", "no type; known are: call, do,"),
            ("/do/5/d", "two types, 'set' and 'wait'"),
            ("/do/6/e/then", "no task 'nowhere'"),
            ("/do/8/f/wait2", "Unknown field 'wait2'"),
            ("/do/10/i", "found a list"),
            ("/do/11/j/do/0/k/then", "no task 'a'"),
        ],
    );
    refused(
        &document("do: { a: { set: {} } }"),
        &[("/do", "Expected a list, found an object")],
    );
    refused(
        &tasks(
            "a: { fork: { branches: [{ b: { set: {}, then: c } }, { c: { set: {} } }] } } ;; d: { fork: { branches: [] } }",
        ),
        &[
            ("/do/0/a/fork/branches/0/b/then", "no task 'c'"),
            ("/do/1/d/fork/branches", "no branches"),
        ],
    );
}

#[test]
fn parts_of_tasks() {
    refused(
        &tasks(
            "a: { set: 1 } ;; b: { set: plain } ;; c: { for: { each: $x, at: input }, do: [] } ;; \
             d: { for: { in: ., each: i, at: i } } ;; e: { switch: [] } ;; \
             f: { switch: [{ x: { then: end } }, { y: { then: end } }, { z: { when: . } }] } ;; g: { try: [] } ;; \
             h: { wait: 5 } ;; i: { if: true, set: {} } ;; j: { fork: { branches: 1, compete: maybe } } ;; \
             k: { input: { from: 1, schemas: 1 }, set: {} } ;; l: { timeout: {}, set: {} } ;; \
             m: { try: [], catch: { errors: { with: { code: 1 } }, as: 'a-b' } } ;; n: { metadata: 1, set: {} } ;; \
             o: { run: { await: true } }",
        ),
        &[
            ("/do/0/a/set", "found a number"),
            ("/do/1/b/set", "found a text"),
            ("/do/2/c/for/each", "leave out the '$'"),
            ("/do/2/c/for/at", "'$input' exists"),
            ("/do/2/c/for", "'in' is missing"),
            ("/do/3/d/for", "both '$i'"),
            ("/do/3/d", "'do' is missing"),
            ("/do/4/e/switch", "no cases"),
            ("/do/5/f/switch/1/y", "two default cases, 'x' and 'y'"),
            ("/do/5/f/switch/2/z", "'then' is missing"),
            ("/do/6/g", "'catch' is missing"),
            ("/do/7/h/wait", "found a number"),
            ("/do/8/i/if", "found a boolean"),
            ("/do/9/j/fork/branches", "found a number"),
            ("/do/9/j/fork/compete", "true or false"),
            ("/do/10/k/input/from", "found a number"),
            ("/do/10/k/input/schemas", "Unknown field"),
            ("/do/11/l/timeout", "'after' is missing"),
            ("/do/12/m/catch/errors/with/code", "Unknown field"),
            ("/do/12/m/catch/as", "'a-b'"),
            ("/do/13/n/metadata", "found a number"),
            ("/do/14/o/run", "'workflow' is missing"),
        ],
    );
}

#[test]
fn names_that_do_not_exist() {
    refused(
        &document(
            "
use:
  secrets: [one, one, '']
  authentications: { a: { basic: { use: two } } }
do:
  - a: { raise: { error: odd } }
  - b: { try: [], catch: { retry: twice } }
  - c: { call: greet }
  - d: { call: http, with: { method: get, endpoint: { uri: https://a.example, authentication: { use: z } } } }
  - e: { timeout: long, set: {} }
  - f: { set: { v: '${ $secrets.one + $secrets.two }' } }
  - g: { set: { v: '${ $secrets }' } }
  - h: { set: { v: '${ $secrets[.name] }' } }",
        ),
        &[
            ("/use/secrets/1", "twice"),
            ("/use/secrets/2", "empty"),
            (
                "/use/authentications/a/basic/use",
                "Unknown secret 'two'; define it in 'use.secrets'",
            ),
            ("/do/0/a/raise/error", "Unknown error 'odd'"),
            ("/do/1/b/catch/retry", "Unknown retry policy 'twice'"),
            ("/do/2/c/call", "Unknown function 'greet'"),
            (
                "/do/3/d/with/endpoint/authentication/use",
                "Unknown authentication 'z'",
            ),
            ("/do/4/e/timeout", "Unknown timeout 'long'"),
            ("/do/5/f/set/v", "the secret 'two'"),
            ("/do/6/g/set/v", "name each"),
            ("/do/7/h/set/v", "all secrets at once"),
        ],
    );
}

#[test]
fn header_that_only_a_browser_or_a_proxy_sets() {
    let with = "method: get, endpoint: https://a.example, headers: { Accept: a, Origin: b, x_forwarded_for: '${ .c }' }";
    refused(
        &document(&format!("do:\n  - a: {{ call: http, with: {{ {with} }} }}")),
        &[
            ("/do/0/a/with/headers/Origin", "sets no header 'Origin'"),
            ("/do/0/a/with/headers/x_forwarded_for", "'x_forwarded_for'"),
        ],
    );
}

#[test]
fn functions_that_call_themselves() {
    refused(
        &document(
            "
use:
  functions:
    a: { do: [{ x: { call: b } }] }
    b: { call: a }
    c: { call: a }
do: []",
        ),
        &[
            ("/use/functions/a/do/0/x/call", "'a' calls itself"),
            ("/use/functions/b/call", "'b' calls itself"),
        ],
    );
}

#[test]
fn durations() {
    for (written, part) in [
        ("5s", "ISO 8601"),
        ("P", "ISO 8601"),
        ("'5 seconds'", "ISO 8601"),
        ("P1M", "no fixed length"),
        ("P1Y", "no fixed length"),
        ("-PT1S", "ISO 8601"),
        ("P9999999W", "ISO 8601"),
        ("P3661D", "longer than 3660 days"),
        ("{}", "no fields"),
        ("{ years: 1 }", "known are: days"),
        ("{ seconds: -1 }", "whole number"),
        ("{ seconds: 1.5 }", "whole number"),
        ("{ days: 99999999999999999999 }", "whole number"),
        ("{ days: 9999999999999999999 }", "longer"),
    ] {
        refused(
            &tasks(&format!("a: {{ wait: {written} }}")),
            &[("/do/0/a/wait", part)],
        );
    }
}

#[test]
fn schemas() {
    let with = |schema: &str| tasks(&format!("a: {{ input: {{ schema: {schema} }}, set: {{}} }}"));
    let at = "/do/0/a/input/schema";
    refused(
        &with("{ document: { type: odd } }"),
        &[(&format!("{at}/document"), "not valid at '/type'")],
    );
    refused(
        &with("{ document: 1 }"),
        &[(&format!("{at}/document"), "found a number")],
    );
    refused(&with("{}"), &[(at, "'document' is missing")]);
    refused(
        &with("{ format: avro, document: {} }"),
        &[(&format!("{at}/format"), "another format")],
    );
    refused(
        &with("{ resource: { endpoint: https://a.example } }"),
        &[(&format!("{at}/resource"), "not fetched")],
    );
    refused(
        &with("{ document: { $schema: 'https://a.example/s' } }"),
        &[(&format!("{at}/document/$schema"), "not fetched")],
    );
    passes(&with(
        "{ format: 'json:draft-07', document: { $schema: 'http://json-schema.org/draft-07/schema#' } }",
    ));
}

#[test]
fn errors_that_nothing_can_be_are_not_caught() {
    let caught = |with: &str| {
        tasks(&format!(
            "a: {{ try: [], catch: {{ errors: {{ with: {with} }} }} }}"
        ))
    };
    let at = "/do/0/a/catch/errors/with";
    for status in ["'503'", "[503]", "abc", "true", "70000"] {
        let message = "Expected a status such as 400";
        refused(
            &caught(&format!("{{ status: {status} }}")),
            &[(&format!("{at}/status"), message)],
        );
    }
    refused(
        &caught("{ type: 5 }"),
        &[(&format!("{at}/type"), "Expected a text")],
    );
    passes(&caught("{ status: 503, type: '${ .kind }', title: null }"));
    passes(&caught("{ status: '${ 500 + 3 }' }"));
}

#[test]
fn jitter_goes_from_the_shorter_time_to_the_longer_one() {
    let with = |from: &str, to: &str| {
        let jitter = format!("{{ from: {from}, to: {to} }}");
        tasks(&format!(
            "a: {{ try: [], catch: {{ retry: {{ jitter: {jitter} }} }} }}"
        ))
    };
    let at = "/do/0/a/catch/retry/jitter";
    refused(&with("PT2S", "PT1S"), &[(at, "is longer than 'to'")]);
    passes(&with("PT1S", "PT2S"));
    passes(&with("PT1S", "PT1S"));
}

#[test]
fn calls_and_events() {
    refused(
        &tasks(
            "a: { call: http } ;; b: { call: http, with: { method: 'G T', endpoint: 'https://a.example/{', output: all, verb: 1 } } ;; \
             c: { call: http, with: { method: get, endpoint: ftp://a.example, headers: [] } } ;; \
             d: { call: openapi, with: { document: {} } } ;; e: { emit: { event: { with: { type: 1 } } } } ;; \
             f: { listen: { to: {} } } ;; g: { listen: { to: { one: { with: {} }, all: [] } } } ;; \
             h: { listen: { to: { one: { with: { type: 'a(' } }, until: . } } } ;; i: { listen: { to: { all: [] }, read: some } } ;; \
             j: { raise: { error: { type: t } } } ;; k: { raise: { error: { type: t, status: 70000 } } } ;; \
             l: { try: [], catch: { retry: { backoff: { fibonacci: {} }, limit: { attempt: { count: -1 } }, jitter: { from: PT1S } } } }",
        ),
        &[
            ("/do/0/a", "'with' is missing"),
            ("/do/1/b/with/method", "'G T'"),
            ("/do/1/b/with/endpoint", "'{' without its '}'"),
            ("/do/1/b/with/output", "known are: raw, content, response"),
            ("/do/1/b/with/verb", "Unknown field 'verb'"),
            ("/do/2/c/with/endpoint", "https://"),
            ("/do/2/c/with/headers", "found a list"),
            ("/do/3/d/with/document", "'endpoint' is missing"),
            ("/do/3/d/with", "'operationId' is missing"),
            ("/do/4/e/emit/event/with/type", "found a number"),
            ("/do/5/f/listen/to", "one of the fields"),
            ("/do/6/g/listen/to", "only one"),
            ("/do/7/h/listen/to/until", "needs 'any'"),
            ("/do/7/h/listen/to/one/with/type", "regular expression"),
            ("/do/8/i/listen/to/all", "no events"),
            ("/do/8/i/listen/read", "known are: data"),
            ("/do/9/j/raise/error", "'status' is missing"),
            ("/do/10/k/raise/error/status", "such as 400"),
            (
                "/do/11/l/catch/retry/backoff/fibonacci",
                "constant, linear, exponential",
            ),
            ("/do/11/l/catch/retry/limit/attempt/count", "whole number"),
            ("/do/11/l/catch/retry/jitter", "'to' is missing"),
        ],
    );
}

#[test]
fn rings_that_never_end() {
    let then = "/do/1/b/then";
    refused(
        &tasks("a: { set: {} } ;; b: { set: {}, then: a }"),
        &[(then, "never ends")],
    );
    refused(
        &tasks("a: { set: {}, then: a }"),
        &[("/do/0/a/then", "never ends")],
    );
    refused(
        &tasks(
            "a: { set: {}, then: c } ;; b: { set: {}, then: a } ;; c: { do: [{ d: { set: {} } }], then: b }",
        ),
        &[(then, "never ends")],
    );
    refused(
        &tasks("a: { set: {} } ;; b: { try: [{ c: { set: {}, then: exit } }], catch: { do: [] }, then: a }"),
        &[(then, "never ends")],
    );
    for (a, b) in [
        ("set: {}", "if: .x, set: {}, then: a"),
        ("wait: PT1S", "set: {}, then: a"),
        ("switch: [{ x: { when: ., then: end } }]", "set: {}, then: a"),
        ("do: [{ c: { set: {}, then: end } }]", "set: {}, then: a"),
        ("do: [{ c: { wait: PT1S } }]", "set: {}, then: a"),
        ("listen: { to: { any: [] } }", "set: {}, then: a"),
        ("raise: { error: { type: t, status: 400 } }", "set: {}, then: a"),
    ] {
        passes(&tasks(&format!("a: {{ {a} }} ;; b: {{ {b} }}")));
    }
}

#[test]
fn limits() {
    let long = document(&format!("do: []\nmetadata: {{ a: '{}' }}", "x".repeat(262_144)));
    refused(
        &long,
        &[("", &format!("has {} bytes; at most 262144", long.len()))],
    );

    let many = |count: usize| {
        let list: Vec<String> = (0..count)
            .map(|index| format!("t{index}: {{ set: {{}} }}"))
            .collect();
        tasks(&list.join(" ;; "))
    };
    passes(&many(1_000));
    refused(&many(1_001), &[("/do/1000/t1000", "more than 1000 tasks")]);

    let deep = |levels: usize| {
        let inner = "{ t: { do: [".repeat(levels - 1) + &"] } }".repeat(levels - 1);
        document(&format!("do: [{inner}]"))
    };
    passes(&deep(32));
    let found = faults(&deep(33));
    assert!(found[0].message.contains("deeper than 32 levels"), "{found:?}");
    for open in ["[", "{a: ", "- "] {
        let found = faults(&open.repeat(60_000));
        let is_told = ["deeper than", "neither JSON nor YAML", "is not JSON"];
        assert!(
            is_told.iter().any(|part| found[0].message.contains(part)),
            "{found:?}"
        );
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(faults(&deep)[0].message.contains("deeper than 160 levels"));

    // With any number of faults, at most 200 are reported.
    let wrong: Vec<String> = (0..500).map(|index| format!("t{index}: {{ x: 1 }}")).collect();
    assert_eq!(faults(&tasks(&wrong.join(" ;; "))).len(), 200);
}

#[test]
fn yaml_that_is_no_json() {
    for (text, pointer, part) in [
        ("a: &x 1\nb: *x", "/a", "an anchor"),
        ("a: *x", "", "unknown anchor"),
        ("a: &x [1, 2]", "/a", "an anchor"),
        ("a: !!str 1", "/a", "a tag"),
        ("a: !custom { b: 1 }", "/a", "a tag"),
        ("1: a", "", "the key 1"),
        ("true: a", "", "the key true"),
        ("? [a]\n: b", "", "a key that is not a text"),
        ("a: .nan", "/a", "the number .nan"),
        ("a: [1, -.inf]", "/a/1", "the number -.inf"),
        ("a: 1\na: 2", "/a", "occurs twice"),
        ("a: { 'b': 1, \"b\": 2 }", "/a/b", "occurs twice"),
        ("{\"a\": {\"b\": 1, \"b\": 2}}", "/a/b", "occurs twice"),
        ("<<: { a: 1 }", "", "a merge key"),
        ("a: 1\n---\nb: 2", "", "a second document"),
        ("a: 'b", "", "neither JSON nor YAML"),
        ("{\"a\": tru}", "/a", "Unknown field"),
        ("{\"a\": 1", "", "is not JSON"),
    ] {
        let found = faults(text);
        let fault = found.iter().find(|fault| fault.message.contains(part));
        let fault = fault.unwrap_or_else(|| panic!("{text}: {found:?}"));
        assert_eq!(fault.pointer, pointer, "{text}: {fault}");
    }
}

/// Nine levels of nine aliases each.
#[test]
fn aliases_that_grow_are_refused_before_they_do() {
    let mut text = "a: &a [x, x, x]\n".to_owned();
    for (one, other) in ('a'..'i').zip('b'..='i') {
        text.push_str(&format!(
            "{other}: &{other} [{}]\n",
            [format!("*{one}").as_str(); 9].join(", ")
        ));
    }
    refused(&text, &[("/a", "an anchor")]);
}
