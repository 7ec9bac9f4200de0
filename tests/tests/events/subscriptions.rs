//! Tests subscriptions: which are accepted, which are refused with which messages, and which callers may
//! change them.

use serde_json::{Value, json};
use tests::{Events, Persona};

const SUBSCRIPTIONS: &str = "/events/subscriptions";

fn body() -> Value {
    json!({
        "name": "Paid invoices", "description": "For the books", "scope": "project", "priority": "high", "run_as_role": "automation",
        "filter": {
            "event_category": ["*"], "exclude_event_category": ["system"], "action": ["paid"], "resource_type": ["invoice"],
            "condition": { ">": [{ "var": "details.payload.amount" }, 100] },
        },
        "target": {
            "type": "webhook", "url": "https://example.com/hook", "signing_mode": "signed", "payload_mode": "event_envelope",
            "timeout_ms": 5000, "headers": { "X-Correlation-Id": "books", "accept": "application/json" },
        },
    })
}

fn with(path: &str, value: Value) -> Value {
    let mut body = body();
    *body.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
    body
}

fn adding(parent: &str, name: &str, value: Value) -> Value {
    let mut body = body();
    body.pointer_mut(parent).unwrap()[name] = value;
    body
}

fn without(parent: &str, name: &str) -> Value {
    let mut body = body();
    body.pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(name);
    body
}

#[tokio::test]
async fn a_subscription_is_made_read_changed_and_deleted() {
    let events = Events::start().await;
    let created = events
        .post(&events.token, SUBSCRIPTIONS, &body())
        .await
        .expect_status(201);
    let subscription = &created.body;
    let id = subscription["id"].as_str().unwrap();
    let path = format!("{SUBSCRIPTIONS}/{id}");
    let location = events.located(created.header("location"));
    assert_eq!(location, format!("{}{path}", events.base_url()));
    let secret = subscription["signing_secret"].as_str().unwrap();
    for field in [
        "name",
        "description",
        "scope",
        "priority",
        "run_as_role",
        "filter",
    ] {
        assert_eq!(subscription[field], body()[field], "{field}");
    }
    let mut target = body()["target"].clone();
    target["has_secret"] = json!(true);
    target["secret_hint"] = json!(&secret[secret.len() - 4..]);
    assert_eq!(subscription["target"], target);
    let flags = ["enabled", "is_system", "protected"].map(|flag| subscription[flag].as_bool().unwrap());
    assert_eq!(flags, [true, false, false]);

    let answer = events.get(&events.token, &path).await.expect_status(200);
    let mut expected = subscription.clone();
    expected.as_object_mut().unwrap().remove("signing_secret");
    assert_eq!(answer.body, expected);
    let listed = events.get(&events.token, SUBSCRIPTIONS).await.expect_status(200);
    assert_eq!(listed.body, json!([expected]));
    assert!(!events.log().contains(secret));

    // The answer of a read can be sent back; omitted fields stay.
    let same = events
        .put(&events.token, &path, &answer.body)
        .await
        .expect_status(200);
    assert_eq!(
        (&same.body["target"], same.body.get("signing_secret")),
        (&target, None)
    );
    let changed = json!({ "description": null, "priority": "low", "target": { "url": "https://example.org/other", "signing_mode": "signed" } });
    let changed = events
        .put(&events.token, &path, &changed)
        .await
        .expect_status(200)
        .body;
    assert_eq!(
        (changed.get("description"), &changed["priority"]),
        (None, &json!("low"))
    );
    assert_eq!(changed["target"]["url"], "https://example.org/other");
    assert_eq!(
        (
            changed["target"].get("timeout_ms"),
            &changed["target"]["has_secret"]
        ),
        (None, &json!(true))
    );
    assert_eq!(changed["filter"], body()["filter"]);

    // A new secret is shown once; a subscription that stops signing has no secret.
    let rotated = json!({ "target": { "rotate_signing_secret": true } });
    let rotated = events
        .put(&events.token, &path, &rotated)
        .await
        .expect_status(200)
        .body;
    assert_ne!(rotated["signing_secret"], secret);
    assert_eq!(rotated["target"]["url"], "https://example.org/other");
    // A new URL takes neither the mode nor the secret away, with or without the type.
    let hint = rotated["target"]["secret_hint"].clone();
    for target in [
        json!({ "url": "https://example.org/new" }),
        json!({ "type": "webhook", "url": "https://example.org/newer" }),
        json!({ "url": "https://example.org/newest", "signing_mode": "signed" }),
    ] {
        let moved = events
            .put(&events.token, &path, &json!({ "target": target }))
            .await;
        let moved = moved.expect_status(200).body;
        assert_eq!(moved["target"]["url"], target["url"]);
        assert_eq!(
            (
                &moved["target"]["signing_mode"],
                &moved["target"]["secret_hint"],
                moved.get("signing_secret")
            ),
            (&json!("signed"), &hint, None),
            "{target}"
        );
    }
    let null = json!({ "target": { "rate_per_second": null } });
    let refused = events.put(&events.token, &path, &null).await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("replaced whole"),
        "{}",
        refused.message()
    );
    // Null removes the mode, so that the webhook is unsigned.
    let unsigned = json!({ "target": { "url": "https://example.org/other", "signing_mode": null } });
    let unsigned = events
        .put(&events.token, &path, &unsigned)
        .await
        .expect_status(200)
        .body;
    assert_eq!(
        (&unsigned["target"]["has_secret"], unsigned.get("signing_secret")),
        (&json!(false), None)
    );
    let workflow = json!({ "target": { "type": "workflow", "endpoint": "Steps", "vars": { "steps": 1 } } });
    let workflow = events
        .put(&events.token, &path, &workflow)
        .await
        .expect_status(200)
        .body;
    assert_eq!(
        workflow["target"],
        json!({ "type": "workflow", "endpoint": "Steps", "vars": { "steps": 1 } })
    );

    let stale = events
        .request(tests::Method::PUT, &path)
        .token(&events.token)
        .json(&json!({}));
    stale
        .header("if-match", "\"1\"")
        .await
        .expect_error(412, "conflict");
    let deleted = events.delete(&events.token, &path).await.expect_status(200);
    assert_eq!(deleted.body, json!({ "id": id, "count": 1 }));
    events
        .delete(&events.token, &path)
        .await
        .expect_error(404, "not_found");
    events
        .get(&events.token, &path)
        .await
        .expect_error(404, "not_found");
}

#[tokio::test]
async fn invalid_subscription_is_refused_with_a_sentence_locally() {
    let events = Events::start_local_with(&[("MILLRACE_LOCAL_TARGETS", "false")]).await;
    let url = |url: &str| with("/target/url", json!(url));
    let header = |name: &str| with("/target/headers", json!({ name: "x" }));
    let allowed =
        "accept, content-type, user-agent, x-request-id, x-correlation-id, x-service-correlation-id";
    let no_header = |name: &str| {
        format!(
            "The header '{name}' cannot be set on a webhook; allowed are {allowed}. Receivers know who calls by the signature."
        )
    };
    let no_url = |why: &str| format!("The field 'target.url' cannot be delivered to: {why}.");
    let deep = (0..100).fold(json!(1), |inner, _| json!({ "!": inner }));
    let mut cases = vec![
        (without("", "name"), "missing field `name`".to_owned()),
        (without("", "run_as_role"), "missing field `run_as_role`".to_owned()),
        (without("", "filter"), "missing field `filter`".to_owned()),
        (without("", "target"), "missing field `target`".to_owned()),
        (with("/name", json!(" ")), "The field 'name' must not be empty.".to_owned()),
        (with("/scope", json!("account")), "$.scope: unknown variant `account`".to_owned()),
        (with("/priority", json!("urgent")), "$.priority: unknown variant `urgent`, expected one of `high`, `normal`, `low`".to_owned()),
        (with("/run_as_role", json!("project_admin")), "$.run_as_role: unknown variant `project_admin`, expected one of `automation`, `executor`, `reader`".to_owned()),
        (with("/filter", json!([])), "The field 'filter' must be an object.".to_owned()),
        (adding("/filter", "actions", json!(["x"])), "$.filter.actions: unknown field `actions`".to_owned()),
        (with("/filter/action", json!("paid")), "$.filter.action: invalid type".to_owned()),
        (with("/filter/action", json!([""])), "The field 'filter.action' has at most 100 entries, each of 1 to 500 bytes.".to_owned()),
        (with("/filter/action", json!(vec!["a"; 101])), "The field 'filter.action' has at most 100 entries, each of 1 to 500 bytes.".to_owned()),
        (
            with("/filter/event_category", json!(["contents"])),
            "The field 'filter.event_category' names 'contents'; there are content, workflow, security, billing, system, external, or '*' alone.".to_owned(),
        ),
        (with("/filter/event_category", json!(["*", "content"])), "The field 'filter.event_category' names '*'".to_owned()),
        (
            with("/filter/exclude_event_category", json!(["*"])),
            "The field 'filter.exclude_event_category' names '*'; there are content, workflow, security, billing, system, external.".to_owned(),
        ),
        (with("/filter/condition", json!([1])), "$.filter.condition: invalid type".to_owned()),
        (with("/filter/condition", json!({ "equals": [1, 1] })), "The condition in 'filter.condition' has the operator 'equals', which JSONLogic does not know.".to_owned()),
        (with("/filter/condition", deep), "The condition in 'filter.condition' nests deeper than 32 levels.".to_owned()),
        (with("/filter/condition", json!({ "in": ["x".repeat(40_000), "y"] })), "The condition in 'filter.condition' has more than 32768 bytes.".to_owned()),
        (adding("/filter", "semantic_condition", json!({ "mode": "enforce" })), "$.filter.semantic_condition: missing field `instruction`".to_owned()),
        (
            adding("/filter", "semantic_condition", json!({ "instruction": "x", "mode": "strict" })),
            "$.filter.semantic_condition.mode: unknown variant `strict`".to_owned(),
        ),
        (
            adding("/filter", "semantic_condition", json!({ "instruction": "x", "evaluator": { "type": "agent", "model": "m" } })),
            "$.filter.semantic_condition.evaluator.model: unknown field `model`".to_owned(),
        ),
        (without("/target", "type"), "The field 'target.type' must say what kind of target it is: webhook, workflow, agent or process.".to_owned()),
        (with("/target/type", json!("email")), "The field 'target.type' names 'email'; there are webhook, workflow, agent and process.".to_owned()),
        (with("/target", json!({ "type": "agent", "max_iterations": 0 })), "The field 'target.max_iterations' must be from 1 to 100.".to_owned()),
        (without("/target", "url"), "$.target: missing field `url`".to_owned()),
        (adding("/target", "uri", json!("x")), "$.target.uri: unknown field `uri`".to_owned()),
        (with("/target/signing_mode", json!("v2")), "$.target.signing_mode: unknown variant `v2`".to_owned()),
        (with("/target/payload_mode", json!("raw")), "$.target.payload_mode: unknown variant `raw`".to_owned()),
        (with("/target/timeout_ms", json!(999)), "The field 'target.timeout_ms' must be from 1000 to 50000.".to_owned()),
        (with("/target/timeout_ms", json!(50_001)), "The field 'target.timeout_ms' must be from 1000 to 50000.".to_owned()),
        (with("/target/headers", json!({ "accept": "a\nb" })), "The header 'accept' has at most 500 printable ASCII characters.".to_owned()),
        (with("/target/headers", json!({ "accept": "a", "Accept": "b" })), "The header 'accept' is given twice.".to_owned()),
        (with("/target", json!({ "type": "workflow" })), "$.target: missing field `endpoint`".to_owned()),
        (with("/target", json!({ "type": "workflow", "endpoint": "" })), "The field 'target.endpoint' names a workflow type in 1 to 200 characters.".to_owned()),
        (with("/target", json!({ "type": "workflow", "endpoint": "x", "vars": [] })), "$.target.vars: invalid type".to_owned()),
        (adding("", "overrides_system_subscription_id", json!("")), "The field 'overrides_system_subscription_id' does not name a system subscription of the project.".to_owned()),
        (adding("", "overrides_system_subscription_id", json!("x")), "The field 'overrides_system_subscription_id' does not name a system subscription of the project.".to_owned()),
        (url(""), no_url("it is not a URL")),
        (url("http://example.com/hook"), no_url("it must begin with https://")),
        (url("ftp://example.com/"), no_url("it must begin with https://")),
        (url("https://user:pass@example.com/"), no_url("it holds a user name or password")),
        (url("https://example.com:22/"), no_url("its port 22 is not one of a web server")),
        (url("https://example.com:6379/"), no_url("its port 6379 is not one of a web server")),
    ];
    for name in [
        "Authorization",
        "x-api-key",
        "Cookie",
        "X-Auth-Token",
        "host",
        "x-service-signature",
    ] {
        cases.push((header(name), no_header(name)));
    }
    for host in [
        "localhost.",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::]",
        "[fe80::1]",
        "192.168.1.1.",
        "100.100.100.200",
    ] {
        if host == "localhost." {
            // A name is resolved at delivery, not before.
            continue;
        }
        cases.push((url(&format!("https://{host}/")), "is not public.".to_owned()));
    }
    for (body, message) in cases {
        let refused = events
            .post(&events.token, SUBSCRIPTIONS, &body)
            .await
            .expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(&message),
            "{body}: {} instead of {message}",
            refused.message()
        );
    }
    let million = with("/filter/condition", json!({ "in": ["x".repeat(1_000_000), "y"] }));
    events
        .post(&events.token, SUBSCRIPTIONS, &million)
        .await
        .expect_error(413, "payload_too_large");
    let deeper = format!(
        "{{\"filter\":{{\"condition\":{}1{}}}}}",
        "{\"!\":".repeat(10_000),
        "}".repeat(10_000)
    );
    let deeper = events
        .request(tests::Method::POST, SUBSCRIPTIONS)
        .token(&events.token)
        .body(deeper);
    let refused = deeper
        .header("content-type", "application/json")
        .await
        .expect_error(400, "invalid_request");
    assert!(
        refused.message().contains("recursion limit exceeded"),
        "{}",
        refused.message()
    );
    assert_eq!(events.get(&events.token, SUBSCRIPTIONS).await.body, json!([]));

    // A change follows the same rules.
    let subscription = events.subscribe(&body()).await;
    let path = format!("{SUBSCRIPTIONS}/{}", subscription["id"].as_str().unwrap());
    for (change, message) in [
        (
            json!({ "target": { "url": "https://10.0.0.1/" } }),
            "is not public.",
        ),
        (
            json!({ "target": { "rotate_immediately": true } }),
            "The field 'target.rotate_immediately' is for a rotation; send 'rotate_signing_secret' with it.",
        ),
        (
            json!({ "target": { "rotate_signing_secret": "yes" } }),
            "The field 'target.rotate_signing_secret' must be true or false.",
        ),
        (
            json!({ "target": { "url": "https://example.org/", "signing_mode": null, "rotate_signing_secret": true } }),
            "The field 'target.rotate_signing_secret' is for a webhook whose 'signing_mode' is 'signed'.",
        ),
        (
            json!({ "rotate_signing_secret": true }),
            "The field 'rotate_signing_secret' belongs into 'target'",
        ),
        (
            json!({ "target": { "rotate_signing_secre": true } }),
            "a rotation has 'rotate_signing_secret' and 'rotate_immediately'",
        ),
        (
            json!({ "overrides_system_subscription_id": "x" }),
            "cannot be changed",
        ),
        (json!({ "filter": { "colour": [] } }), "unknown field `colour`"),
    ] {
        let refused = events
            .put(&events.token, &path, &change)
            .await
            .expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(message),
            "{change}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn system_subscriptions_are_visible_and_protected_ones_can_be_replaced() {
    let events = Events::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("subscription.json");
    std::fs::write(&file, events.webhook_body("/system").to_string()).unwrap();
    let file = file.to_str().unwrap();
    let create = |more: &[&str]| {
        let output = events
            .scope
            .ops_json(&[&["subscription", "create", "--file", file], more].concat());
        output["subscription_id"].as_str().unwrap().to_owned()
    };
    let (open, shut) = (create(&[]), create(&["--protected"]));
    let path = |id: &str| format!("{SUBSCRIPTIONS}/{id}");
    let record = events
        .get(&events.token, &path(&shut))
        .await
        .expect_status(200)
        .body;
    assert_eq!(
        (&record["is_system"], &record["protected"]),
        (&json!(true), &json!(true))
    );
    let message = format!(
        "The subscription '{shut}' is protected and can be neither changed nor deleted; a subscription with \
         'overrides_system_subscription_id' takes the place of a system subscription."
    );
    let refused = events
        .put(&events.token, &path(&shut), &json!({ "enabled": false }))
        .await;
    assert_eq!(refused.expect_error(403, "forbidden").message(), message);
    let refused = events.delete(&events.token, &path(&shut)).await;
    assert_eq!(refused.expect_error(403, "forbidden").message(), message);
    events
        .put(&events.token, &path(&open), &json!({ "enabled": false }))
        .await
        .expect_status(200);

    let channel = events.plain_channel().await;
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["subscription_id"], shut.as_str());
    // While it is overridden it delivers nothing. A disabled override silences no protected one.
    let mut body = events.webhook_body("/own");
    body["overrides_system_subscription_id"] = json!(shut);
    let own = events.subscribe(&body).await;
    let again = events
        .post(&events.token, SUBSCRIPTIONS, &body)
        .await
        .expect_error(409, "conflict");
    assert!(
        again.message().contains("is replaced already"),
        "{}",
        again.message()
    );
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["subscription_id"], own["id"]);
    let own = path(own["id"].as_str().unwrap());
    events
        .put(&events.token, &own, &json!({ "enabled": false }))
        .await
        .expect_status(200);
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["subscription_id"], shut.as_str());
    events.delete(&events.token, &own).await.expect_status(200);
    let event = events.event(&channel, &json!({})).await;
    let delivery = events.delivery_of(&event, &["succeeded"]).await;
    assert_eq!(delivery["subscription_id"], shut.as_str());
    // The project cannot change the operator's own override.
    let replaced = create(&["--overrides", &shut, "--protected"]);
    events
        .delete(&events.token, &path(&replaced))
        .await
        .expect_error(403, "forbidden");
    events
        .scope
        .ops(&["subscription", "delete", &replaced])
        .expect_success();
    events
        .scope
        .ops(&["subscription", "delete", &shut])
        .expect_success();
    let mut body = events.webhook_body("/system");
    body["enabled"] = json!(false);
    std::fs::write(file, body.to_string()).unwrap();
    let disabled = events.get(&events.token, &path(&create(&[]))).await;
    assert_eq!(disabled.expect_status(200).body["enabled"], json!(false));
    events
        .get(&events.token, &path(&shut))
        .await
        .expect_error(404, "not_found");
}

#[tokio::test]
async fn a_subscription_is_its_projects_own() {
    let events = Events::start().await;
    let subscription = events.webhook("/mine").await;
    let path = format!("{SUBSCRIPTIONS}/{}", subscription["id"].as_str().unwrap());
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let other = events.scope.token(persona);
        events.get(&other, &path).await.expect_error(404, "not_found");
        events
            .put(&other, &path, &json!({ "enabled": false }))
            .await
            .expect_error(404, "not_found");
        events.delete(&other, &path).await.expect_error(404, "not_found");
        assert_eq!(
            events.get(&other, SUBSCRIPTIONS).await.expect_status(200).body,
            json!([])
        );
    }
    let reader = events.scope.token(Persona::Reader);
    events.get(&reader, &path).await.expect_status(200);
    events
        .put(&reader, &path, &json!({}))
        .await
        .expect_error(403, "forbidden");
    events.delete(&reader, &path).await.expect_error(403, "forbidden");
}
