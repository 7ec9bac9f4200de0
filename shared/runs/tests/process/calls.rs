//! Tests calls: requests, responses, secrets and refused addresses.

use platform::outbound::Outbound;
use serde_json::{Value, json};
use workflow::status::RunStatus;

use crate::service::{Service, registry, with_outbound, with_secrets};
use crate::world::{document, error, output, run_with, tasks};

fn call(service: &Service, with: &str) -> String {
    tasks(&format!(
        "a: {{ call: http, with: {} }}",
        with.replace("URL", &service.url)
    ))
}

pub fn answered(service: &Service, with: &str, input: Value) -> Value {
    output(run_with(&registry(), &call(service, with), &input))
}

pub fn refused(service: &Service, with: &str, input: Value) -> Value {
    error(run_with(&registry(), &call(service, with), &input))
}

#[test]
fn a_request_has_what_the_definition_says() {
    let service = Service::start();
    let with = "{ method: post, endpoint: { uri: 'URL/items/{id}' }, headers: { X-A: '${ .a }', X-N: 7 }, \
                  query: { q: '${ .q }', list: [1, 2], none: null }, body: { b: '${ .a }' } }";
    let input = json!({ "id": "a b", "a": "x", "q": "1&2" });
    let answer = answered(&service, with, input);
    assert_eq!(answer["method"], "POST");
    let got = &service.got()[0];
    assert_eq!(got.uri, "/items/a%20b?q=1%262&list=1&list=2");
    assert_eq!(
        (got.headers["x-a"].as_str(), got.headers["x-n"].as_str()),
        ("x", "7")
    );
    assert_eq!(
        (got.body.as_str(), got.headers["content-type"].as_str()),
        (r#"{"b":"x"}"#, "application/json")
    );
    let computed = "{ method: '${ .m }', endpoint: '${ .base + \"/json\" }', body: 'plain' }";
    answered(&service, computed, json!({ "m": "PUT", "base": service.url }));
    let got = &service.got()[1];
    assert_eq!(
        (got.method.as_str(), got.uri.as_str(), got.body.as_str()),
        ("PUT", "/json", "plain")
    );
    assert_eq!(got.headers["content-type"], "text/plain; charset=utf-8");
}

#[test]
fn the_output_is_as_much_of_the_answer_as_asked_for() {
    let service = Service::start();
    let get = |path: &str, more: &str| {
        answered(
            &service,
            &format!("{{ method: get, endpoint: 'URL/{path}' {more} }}"),
            json!({}),
        )
    };
    assert_eq!(get("text", ""), json!("plain"));
    assert_eq!(get("bytes", ""), json!("/wAB"));
    assert_eq!(get("bytes", ", output: raw"), json!("/wAB"));
    assert_eq!(get("empty", ""), Value::Null);
    assert_eq!(get("moved", ", redirect: true"), json!("elsewhere"));
    let response = get("json", ", output: response");
    assert_eq!(response["statusCode"], 200);
    assert_eq!(response["headers"]["content-type"], "application/json");
    assert_eq!(response["content"]["uri"], "/json");
    assert_eq!(response["request"]["method"], "GET");
    let run = run_with(
        &registry(),
        &call(&service, "{ method: get, endpoint: 'URL/digits' }"),
        &json!({}),
    );
    let history = serde_json::to_string(&run.run().unwrap().history).unwrap();
    assert!(history.contains("12345678901234567890.50"));
}

#[test]
fn a_status_that_is_no_success_is_an_error_with_it() {
    let service = Service::start();
    for status in [400, 401, 404, 418, 500, 503] {
        let error = refused(
            &service,
            &format!("{{ method: get, endpoint: 'URL/status/{status}' }}"),
            json!({}),
        );
        assert_eq!(error["status"], status);
        assert_eq!(
            error["type"],
            "https://serverlessworkflow.io/spec/1.0.0/errors/communication"
        );
        assert_eq!(error["instance"], "/do/0/a");
    }
    let moved = refused(&service, "{ method: get, endpoint: 'URL/moved' }", json!({}));
    assert_eq!(moved["status"], 302);
    let large = refused(&service, "{ method: get, endpoint: 'URL/large' }", json!({}));
    assert!(
        large["detail"]
            .as_str()
            .unwrap()
            .contains("more than the 1048576 bytes"),
        "{large}"
    );
}

#[test]
fn the_definition_retries_and_the_engine_does_not() {
    let service = Service::start();
    let text = tasks(&format!(
        "t: {{ try: [ {{ a: {{ call: http, with: {{ method: get, endpoint: '{}/flaky' }} }} }} ], \
         catch: {{ errors: {{ with: {{ status: 503 }} }}, retry: {{ delay: PT1S, limit: {{ attempt: {{ count: 5 }} }} }} }} }}",
        service.url
    ));
    assert_eq!(output(run_with(&registry(), &text, &json!({}))), json!("at last"));
    assert_eq!(service.got().len(), 3);
    refused(&service, "{ method: get, endpoint: 'URL/status/500' }", json!({}));
    assert_eq!(service.got().len(), 4);
}

#[test]
fn what_no_request_may_be_is_refused() {
    let service = Service::start();
    for (with, kind) in [
        (
            "{ method: get, endpoint: 'URL/json', headers: { 'a b': x } }",
            "configuration",
        ),
        (
            "{ method: get, endpoint: 'URL/json', headers: { a: \"x\\ny\" } }",
            "configuration",
        ),
        (
            "{ method: get, endpoint: 'URL/json', headers: { a: [1] } }",
            "expression",
        ),
        (
            "{ method: get, endpoint: 'URL/json', query: '${ 5 }' }",
            "expression",
        ),
        ("{ method: '${ 5 }', endpoint: 'URL/json' }", "expression"),
        (
            "{ method: '${ \"a b\" }', endpoint: 'URL/json' }",
            "configuration",
        ),
        ("{ method: get, endpoint: '${ 5 }' }", "expression"),
        ("{ method: get, endpoint: '${ \"nowhere\" }' }", "configuration"),
        ("{ method: get, endpoint: 'URL/{list}' }", "expression"),
        (
            "{ method: get, endpoint: 'http://127.0.0.1:9/' }",
            "communication",
        ),
        ("{ method: delete, endpoint: 'URL/items/{dots}' }", "expression"),
        ("{ method: delete, endpoint: 'URL/items/{none}' }", "expression"),
        (
            "{ method: delete, endpoint: '${ \"URL/items/\" + .dots }' }",
            "configuration",
        ),
        (
            "{ method: get, endpoint: 'URL/json', headers: '${ { Origin: \"URL\" } }' }",
            "configuration",
        ),
        (
            "{ method: get, endpoint: 'URL/json', headers: '${ { sec_fetch_site: 1 } }' }",
            "configuration",
        ),
    ] {
        let error = refused(&service, with, json!({ "list": [1], "dots": ".." }));
        assert!(error["type"].as_str().unwrap().ends_with(kind), "{with}: {error}");
    }
    assert!(service.got().is_empty());
}

#[test]
fn private_addresses_are_refused() {
    let registry = with_outbound(&json!({}), &[], Outbound::public());
    for address in [
        "https://127.0.0.1/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://10.0.0.1:8443/",
        "https://0x7f000001/",
        "http://example.com/",
        "https://user:word@example.com/",
        "file:///etc/passwd",
    ] {
        let text = tasks("a: { call: http, with: { method: get, endpoint: '${ .address }' } }");
        let error = error(run_with(&registry, &text, &json!({ "address": address })));
        assert!(
            error["type"].as_str().unwrap().ends_with("/communication"),
            "{address}: {error}"
        );
        assert!(
            error["detail"].as_str().unwrap().contains("gives no answer"),
            "{address}: {error}"
        );
    }
}

const SECRETS: &str = "use: { secrets: [key, pair] }";

#[test]
fn secrets_reach_the_service_and_no_history() {
    let service = Service::start();
    let url = &service.url;
    let text = document(&format!(
        "{SECRETS}
do:
- a: {{ call: http, with: {{ method: get, output: response, endpoint: '{url}/a', headers: {{ X-Key: '${{ \"key \\($secrets.key) of \\(.who) \\($context.who)\" }}' }},
        query: {{ plain: '${{ .who }}', key: '${{ $secrets.key }}' }}, body: {{ list: [ '${{ .who }}', '${{ $secrets.pair.password }}' ] }} }}, export: {{ as: '{{ seen: .request }}' }} }}
- b: {{ call: http, with: {{ method: get, endpoint: {{ uri: '{url}/b', authentication: {{ basic: {{ use: pair }} }} }} }} }}
- c: {{ call: http, with: {{ method: get, endpoint: {{ uri: '{url}/c', authentication: {{ bearer: {{ use: key }} }} }} }} }}
- d: {{ call: http, with: {{ method: get, endpoint: {{ uri: '{url}/d', authentication: {{ bearer: {{ token: '${{ $secrets.key }}' }} }} }} }}, output: {{ as: $context.seen }} }}"
    ));
    let secrets = json!({ "key": "hush-1", "pair": { "username": "ada", "password": "hush-2" } });
    let outcome = run_with(
        &with_secrets(&secrets, &[service.host()]),
        &text,
        &json!({ "who": "Ada" }),
    )
    .run()
    .unwrap();
    assert_eq!(outcome.status, RunStatus::Completed, "{:?}", outcome.failure);
    let got = service.got();
    assert_eq!(got[0].headers["x-key"], "key hush-1 of Ada Ada");
    assert_eq!(got[0].uri, "/a?plain=Ada&key=hush-1");
    assert_eq!(got[0].body, r#"{"list":["Ada","hush-2"]}"#);
    assert_eq!(got[1].headers["authorization"], "Basic YWRhOmh1c2gtMg==");
    assert_eq!(got[2].headers["authorization"], "Bearer hush-1");
    assert_eq!(got[3].headers["authorization"], "Bearer hush-1");
    assert_eq!(
        outcome.result.unwrap(),
        json!({ "method": "GET", "uri": format!("{url}/a"), "headers": {} })
    );
    let kept = serde_json::to_string(&outcome.history).unwrap();
    assert!(!kept.contains("hush") && kept.contains("[secret]"), "{kept}");
    let asked: Vec<_> = outcome
        .history
        .iter()
        .filter(|event| event.kind.name() == "ACTIVITY_TASK_SCHEDULED")
        .collect();
    let asked = serde_json::to_string(&asked).unwrap();
    assert!(
        !asked.contains("hush") && asked.contains("$secrets.key"),
        "{asked}"
    );
}

#[test]
fn a_missing_or_wrong_secret_is_an_authorization_error() {
    let service = Service::start();
    let url = &service.url;
    for (with, secrets, part) in [
        (
            "headers: { a: '${ $secrets.key }' }",
            json!({}),
            "no secret 'key'",
        ),
        (
            "headers: { a: '${ $secrets.key | error }' }",
            json!({ "key": "hush" }),
            "withheld",
        ),
        (
            "query: { a: '${ $secrets.key }' }",
            json!({ "key": [[1]] }),
            "a list, an object or null",
        ),
    ] {
        let text = document(&format!(
            "{SECRETS}\ndo: [ {{ a: {{ call: http, with: {{ method: get, endpoint: '{url}/a', {with} }} }} }} ]"
        ));
        let error = error(run_with(
            &with_secrets(&secrets, &[service.host()]),
            &text,
            &json!({}),
        ));
        let detail = error["detail"].as_str().unwrap();
        assert!(detail.contains(part) && !detail.contains("hush"), "{detail}");
    }
    let text = document(&format!(
        "{SECRETS}\ndo: [ {{ a: {{ call: http, with: {{ method: get, endpoint: {{ uri: '{url}/a', authentication: {{ basic: {{ use: key }} }} }} }} }} }} ]"
    ));
    let error = error(run_with(
        &with_secrets(&json!({ "key": "x" }), &[service.host()]),
        &text,
        &json!({}),
    ));
    assert_eq!(
        (error["status"].as_u64(), error["title"].as_str()),
        (Some(403), Some("Authorization Error"))
    );
    assert!(service.got().is_empty());
}

#[test]
fn secret_is_sent_to_its_hosts_alone() {
    let service = Service::start();
    let other = Service::start();
    let secrets = json!({ "key": "hush-hush", "pair": { "username": "ada", "password": "hush-2" } });
    let call = |uri: &str, with: &str| {
        let endpoint = format!("endpoint: {{ uri: {uri}, authentication: {{ bearer: {{ use: key }} }} }}");
        document(&format!(
            "{SECRETS}\ndo: [ {{ a: {{ call: http, with: {{ method: get, {endpoint}, {with} }} }} }} ]"
        ))
    };
    let (host, port) = (
        service.host(),
        service.host().rsplit(':').next().unwrap().to_owned(),
    );
    let to = |hosts: &[&str], uri: &str, with: &str| {
        run_with(
            &with_secrets(&secrets, hosts),
            &call(uri, with),
            &json!({ "host": other.host() }),
        )
    };
    let own = format!("'{}/a'", service.url);
    for (hosts, uri, with) in [
        (vec![], own.as_str(), ""),
        (vec!["127.0.0.1"], &own, ""),
        (vec![other.host()], &own, ""),
        (vec![&*format!("localhost:{port}")], &own, ""),
        (vec![host], "'${ \"http://\\(.host)/\" }'", ""),
        (vec![host], "'${ \"http://\\(.host)/\\($secrets.key)\" }'", ""),
        (vec![], &own, "query: { k: '${ $secrets.pair.password }' }"),
    ] {
        let error = error(to(&hosts, uri, with));
        let detail = error["detail"].as_str().unwrap();
        assert!(
            detail.contains("not for the host of the call"),
            "{hosts:?} {uri}: {detail}"
        );
        assert!(!detail.contains("hush"), "{detail}");
    }
    assert!(service.got().is_empty() && other.got().is_empty());
    output(to(&[host, "api.example.com"], &own, ""));
    assert_eq!(service.got().len(), 1);
    // The document and the operation each have a secret of their own.
    let openapi = document(&format!(
        "{SECRETS}\ndo: [ {{ a: {{ call: openapi, with: {{ document: {{ endpoint: {{ uri: '{}/swagger.yaml', authentication: \
         {{ basic: {{ use: pair }} }} }} }}, operationId: placeOrder, parameters: {{ order: '${{ $secrets.key }}' }} }} }} }} ]",
        service.url
    ));
    output(run_with(&with_secrets(&secrets, &[host]), &openapi, &json!({})));
    assert_eq!(service.got().pop().unwrap().body, "hush-hush");
}

#[test]
fn secret_is_withheld_from_a_definition_that_is_not_stored() {
    let service = Service::start();
    let text = document(&format!(
        "{SECRETS}\ndo: [ {{ a: {{ call: http, with: {{ method: get, endpoint: {{ uri: '{}/a', authentication: {{ bearer: {{ use: key }} }} }} }} }} }} ]",
        service.url
    ));
    let registry = with_secrets(&json!({ "key": "hush-hush" }), &[service.host()]);
    let origin = json!({ "process": "tests/sample", "is_stored": false });
    let loaded = json!({ "text": text, "account": "account", "origin": origin });
    let run = run_with(&registry, &text, &json!({})).mock("process_load", move |_| Ok(loaded.clone()));
    let error = error(run);
    assert!(
        error["detail"].as_str().unwrap().contains("ops process load"),
        "{error}"
    );
    assert!(service.got().is_empty());
}

#[test]
fn an_operation_of_an_openapi_document() {
    let service = Service::start();
    let url = &service.url;
    let call = |document: &str, operation: &str, parameters: &str| {
        tasks(&format!(
            "a: {{ call: openapi, with: {{ document: {{ endpoint: '{url}/{document}' }}, operationId: {operation}, parameters: {parameters} }} }}"
        ))
    };
    let registry = registry();
    let text = call(
        "openapi.json",
        "putPet",
        "{ 'pet id': 'a/b', limit: '${ .n }', X-Trace: t, body: { name: Rex, n: 1.50 } }",
    );
    let answer = output(run_with(&registry, &text, &json!({ "n": 3 })));
    assert_eq!(answer["uri"], "/api/v1/pets/a%2Fb?limit=3");
    let got = service.got().pop().unwrap();
    assert_eq!(
        (got.method.as_str(), got.body.as_str()),
        ("PUT", r#"{"name":"Rex","n":1.50}"#)
    );
    assert_eq!(got.headers["x-trace"], "t");
    let text = call("swagger.yaml", "placeOrder", "{ order: { id: 7 } }");
    assert_eq!(
        output(run_with(&registry, &text, &json!({})))["uri"],
        "/v2/orders"
    );
    assert_eq!(service.got().pop().unwrap().body, r#"{"id":7}"#);
    for (document, operation, parameters, part) in [
        ("openapi.json", "nothing", "{}", "no operation 'nothing'"),
        ("openapi.json", "putPet", "{}", "needs the parameter 'pet id'"),
        (
            "openapi.json",
            "putPet",
            "{ 'pet id': 1, other: 2 }",
            "no parameter 'other'",
        ),
        (
            "openapi.json",
            "putPet",
            "{ 'pet id': 1, session: s }",
            "is a cookie",
        ),
        ("openapi.json", "putPet", "{ 'pet id': '..' }", "leads elsewhere"),
        ("openapi.json", "putPet", "{ 'pet id': '' }", "leads elsewhere"),
        (
            "openapi.json",
            "putPet",
            "{ 'pet id': '%2e%2E' }",
            "leads elsewhere",
        ),
        (
            "openapi.json",
            "putPet",
            "{ 'pet id': 'a\\\\..' }",
            "leads elsewhere",
        ),
        ("openapi.json", "putPet", "{ 'pet id': null }", "missing or null"),
        (
            "openapi.json",
            "getToy",
            "{ toy: 1 }",
            "The variable 'shop' of the address is missing",
        ),
        ("openapi.json", "getHome", "{}", "does not begin with '/'"),
        ("json", "putPet", "{}", "not an OpenAPI document"),
        ("text", "putPet", "{}", "not an OpenAPI document"),
        ("status/404", "putPet", "{}", "status 404"),
    ] {
        let error = error(run_with(
            &registry,
            &call(document, operation, parameters),
            &json!({}),
        ));
        assert!(error["detail"].as_str().unwrap().contains(part), "{error}");
    }
}
