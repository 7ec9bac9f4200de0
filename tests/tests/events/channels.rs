//! Tests ingest channels: values that are shown once, values that are never shown, and refused channels.

use serde_json::{Value, json};
use tests::{Events, Method, Persona};

const CHANNELS: &str = "/events/channels";

#[tokio::test]
async fn a_channel_is_made_read_changed_and_deleted() {
    let events = Events::start().await;
    let body = json!({
        "name": "GitHub", "source": "github", "default_action": "push", "default_resource_type": "repository",
        "transform": { "action_path": "action", "resource_id_path": "repository.id", "static_details": { "team": "core" } },
        "signature": { "header": "x-hub-signature-256", "prefix": "sha256=" },
    });
    let created = events
        .post(&events.token, CHANNELS, &body)
        .await
        .expect_status(201);
    let channel = &created.body;
    let id = channel["id"].as_str().unwrap();
    let location = events.located(created.header("location"));
    assert_eq!(location, format!("{}{CHANNELS}/{id}", events.base_url()));
    let token = channel["ingest_token"].as_str().unwrap();
    let secret = channel["signing_secret"].as_str().unwrap();
    assert!(token.len() > 40 && secret.starts_with("whsec_"));
    assert!(token.ends_with(channel["token_hint"].as_str().unwrap()));
    for (field, value) in body.as_object().unwrap() {
        if field != "signature" {
            assert_eq!(&channel[field], value, "{field}");
        }
    }
    let signature = json!({
        "header": "x-hub-signature-256", "algorithm": "sha256", "encoding": "hex", "prefix": "sha256=", "has_secret": true,
    });
    assert_eq!(channel["signature"], signature);
    assert_eq!(
        (&channel["enabled"], &channel["has_token"]),
        (&json!(true), &json!(true))
    );

    // The token is shown once: later reads, the log and the records do not contain it.
    let path = format!("{CHANNELS}/{id}");
    let answer = events.get(&events.token, &path).await.expect_status(200);
    let mut expected = channel.clone();
    expected.as_object_mut().unwrap().remove("ingest_token");
    expected.as_object_mut().unwrap().remove("signing_secret");
    assert_eq!(answer.body, expected);
    let listed = events.get(&events.token, CHANNELS).await.expect_status(200);
    assert_eq!(listed.body, json!([expected]));
    let text = events.operator().run(&["check"]).expect_success().stdout + &events.log();
    assert!(!text.contains(token) && !text.contains(secret));

    // The answer of a read can be sent back.
    let same = events
        .put(&events.token, &path, &answer.body)
        .await
        .expect_status(200);
    assert_eq!(same.body["signature"], signature);
    assert!(same.body.get("signing_secret").is_none() && same.body.get("ingest_token").is_none());

    let rotated = events
        .put(
            &events.token,
            &path,
            &json!({ "rotate_signing_secret": true, "rotate_token": true }),
        )
        .await
        .expect_status(200);
    assert_ne!(rotated.body["signing_secret"], channel["signing_secret"]);
    assert_ne!(rotated.body["ingest_token"], channel["ingest_token"]);
    let cleared = events
        .put(
            &events.token,
            &path,
            &json!({ "transform": null, "signature": null, "default_action": null, "enabled": false }),
        )
        .await
        .expect_status(200);
    for field in ["transform", "signature", "default_action", "signing_secret"] {
        assert!(cleared.body.get(field).is_none(), "{field}: {}", cleared.body);
    }
    assert_eq!(
        (&cleared.body["enabled"], &cleared.body["name"]),
        (&json!(false), &json!("GitHub"))
    );

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
    events
        .put(&events.token, &path, &json!({}))
        .await
        .expect_error(404, "not_found");
}

#[tokio::test]
async fn constant_of_a_channel_that_looks_like_a_template_is_warned_of() {
    let events = Events::start().await;
    let mut body = json!({
        "name": "Shop", "source": "shop", "default_action": "{{type}}",
        "transform": { "static_details": { "team": "core", "of": { "type": "{{ event.action }}" }, "id": "$.id" } },
    });
    let created = events.post(&events.token, CHANNELS, &body).await;
    let channel = created.expect_status(201).body;
    let warnings = channel["warnings"].as_array().unwrap();
    for (warning, field) in
        warnings
            .iter()
            .zip(["default_action", "static_details.id", "static_details.of.type"])
    {
        assert!(warning.as_str().unwrap().contains(field), "{warnings:?}");
    }
    assert_eq!(warnings.len(), 3, "{warnings:?}");

    body["default_action"] = json!("created");
    body["transform"] = json!({ "action_path": "type" });
    let path = format!("{CHANNELS}/{}", channel["id"].as_str().unwrap());
    let changed = events.put(&events.token, &path, &body).await.expect_status(200);
    assert_eq!(changed.body["warnings"], Value::Null);
}

#[tokio::test]
async fn a_sender_may_bring_a_secret() {
    let events = Events::start().await;
    let signature = json!({ "header": "stripe-signature", "algorithm": "sha1", "encoding": "base64" });
    let channel = events
        .channel(&json!({ "name": "n", "source": "s", "signature": signature, "signing_secret": "from the sender" }))
        .await;
    assert_eq!(channel.secret(), "from the sender");
    let path = format!("{CHANNELS}/{}", channel.id());
    for (body, message) in [
        (
            json!({ "signing_secret": "short" }),
            "The field 'signing_secret' must have at least 8 bytes.",
        ),
        (
            json!({ "signature": null, "signing_secret": "long enough" }),
            "The field 'signing_secret' is for a channel with a 'signature'; say how what is sent is signed.",
        ),
    ] {
        let refused = events
            .put(&events.token, &path, &body)
            .await
            .expect_error(400, "invalid_request");
        assert_eq!(refused.message(), message);
    }
}

#[tokio::test]
async fn invalid_channel_is_refused() {
    let events = Events::start().await;
    let with = |field: &str, value: Value| {
        let mut body = json!({ "name": "n", "source": "s" });
        body[field] = value;
        body
    };
    for (body, message) in [
        (json!({ "source": "s" }), "missing field `name`"),
        (json!({ "name": "n" }), "missing field `source`"),
        (with("name", json!("")), "The field 'name' must not be empty."),
        (
            with("source", json!("a\nb")),
            "The field 'source' holds a control character; remove it.",
        ),
        (with("enabled", json!("yes")), "$.enabled"),
        (
            with("transform", json!([])),
            "The field 'transform' must be an object.",
        ),
        (
            with("transform", json!({ "acton_path": "a" })),
            "$.transform.acton_path: unknown field `acton_path`",
        ),
        (
            with("transform", json!({ "action_path": "a..b" })),
            "The field 'transform.action_path' is not a path; write the names of fields and places in arrays with dots between them, as in commits.0.id, and",
        ),
        (
            with("transform", json!({ "resource_id_path": "{{ data..id }}" })),
            "There are no braces",
        ),
        (
            with("transform", json!({ "static_details": 7 })),
            "$.transform.static_details",
        ),
        (
            with("signature", json!("x")),
            "The field 'signature' must be an object.",
        ),
        (
            with("signature", json!({ "prefix": "x" })),
            "$.signature: missing field `header`",
        ),
        (
            with("signature", json!({ "header": "x", "algorithm": "md5" })),
            "$.signature.algorithm: unknown variant `md5`",
        ),
        (
            with("signature", json!({ "header": "x", "encoding": "utf8" })),
            "$.signature.encoding: unknown variant `utf8`",
        ),
        (
            with("signature", json!({ "header": "x", "key": "y" })),
            "$.signature.key: unknown field `key`",
        ),
        (
            with("signature", json!({ "header": "no header" })),
            "The field 'signature.header' is not the name of a header, such as x-hub-signature-256.",
        ),
    ] {
        let refused = events
            .post(&events.token, CHANNELS, &body)
            .await
            .expect_error(400, "invalid_request");
        assert!(
            refused.message().contains(message),
            "{body}: {}",
            refused.message()
        );
    }
    let reader = events.scope.token(Persona::Reader);
    events.get(&reader, CHANNELS).await.expect_status(200);
    events
        .post(&reader, CHANNELS, &with("name", json!("n")))
        .await
        .expect_error(403, "forbidden");
    // Other projects do not see the channel.
    let channel = events.plain_channel().await;
    let path = format!("{CHANNELS}/{}", channel.id());
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let other = events.scope.token(persona);
        events.get(&other, &path).await.expect_error(404, "not_found");
        events.delete(&other, &path).await.expect_error(404, "not_found");
    }
}

#[tokio::test]
async fn a_path_that_cannot_be_decoded_is_that_of_no_channel() {
    let events = Events::start().await;
    for channel in ["%ff", "a%00b", "%2e%2e%2f"] {
        let request = events.request(Method::POST, &events.ingest_url(channel));
        let refused = request.token("mit_x").json(&json!({})).await;
        refused.expect_error(401, "unauthenticated");
    }
}

#[tokio::test]
async fn a_secret_is_either_given_or_made() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let path = format!("/events/channels/{}", channel.id());
    let both = json!({ "signing_secret": "a secret of the sender", "rotate_signing_secret": true });
    let refused = events.put(&events.token, &path, &both).await;
    let refused = refused.expect_error(400, "invalid_request");
    let message = refused.message();
    assert!(message.contains("exclude each other"), "{message}");
}

#[tokio::test]
async fn a_secret_that_a_channel_does_not_have_is_not_rotated() {
    let events = Events::start().await;
    let channel = events.plain_channel().await;
    let path = format!("/events/channels/{}", channel.id());
    let refused = events
        .put(&events.token, &path, &json!({ "rotate_signing_secret": true }))
        .await;
    let refused = refused.expect_error(400, "invalid_request");
    assert!(
        refused.body.to_string().contains("'rotate_signing_secret'"),
        "{}",
        refused.body
    );
}
