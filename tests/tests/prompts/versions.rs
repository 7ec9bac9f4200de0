//! Tests versions of a prompt template: the list, preconditions, and concurrent writers: no version number is
//! skipped or used twice, and no body is lost.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::json;
use tests::samples::prompt;
use tests::{Persona, Service, redacted, unique};

const WRITERS: usize = 64;

#[tokio::test]
async fn versions_are_listed_newest_first_with_one_latest() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let name = unique("Versioned");
    let created = service.post(&token, "/prompts", &prompt(&name)).await;
    let path = format!("/prompts/{}", created.id());
    let change = json!({ "name": "Renamed", "description": "Second." });
    service.put(&token, &path, &change).await.expect_status(200);
    service.put(&token, &path, &json!({})).await.expect_status(200);

    let versions = service
        .get(&token, &format!("{path}/versions"))
        .await
        .expect_status(200);
    assert_eq!(versions.each("version"), [3, 2, 1]);
    assert_eq!(versions.each("latest"), [true, false, false]);
    assert_eq!(
        versions.each("name"),
        [json!("Renamed"), json!("Renamed"), json!(name)]
    );
    insta::assert_json_snapshot!(redacted(&versions.body[0]), @r#"
    {
      "created_at": "<time>",
      "description": "Second.",
      "id": "<id>",
      "latest": true,
      "name": "Renamed",
      "status": "draft",
      "updated_at": "<time>",
      "updated_by": "user:developer",
      "version": 3
    }
    "#);
    insta::assert_json_snapshot!(redacted(&versions.body[2]), @r#"
    {
      "created_at": "<time>",
      "id": "<id>",
      "latest": false,
      "name": "Versioned",
      "status": "draft",
      "updated_at": "<time>",
      "updated_by": "user:developer",
      "version": 1
    }
    "#);
}

#[tokio::test]
async fn each_version_keeps_what_it_was() {
    let service = Service::start().await;
    let scope = service.scope();
    let [token, reader, stranger] =
        [Persona::Developer, Persona::Reader, Persona::OtherProject].map(|who| scope.token(who));
    let first = service.post(&token, "/prompts", &prompt("Greeting")).await;
    let path = format!("/prompts/{}", first.id());
    let change = json!({ "name": "Renamed", "content": "Bye {{name}}!", "tags": ["second"], "test_data": { "name": "Bo" } });
    let second = service.put(&token, &path, &change).await.expect_status(200);
    let third = service.put(&token, &path, &json!({})).await.expect_status(200);

    for (number, original) in [(1, &first), (2, &second), (3, &third)] {
        let version = format!("{path}/versions/{number}");
        let answer = service.get(&reader, &version).await.expect_status(200);
        assert_eq!(answer.body, original.body);
        service
            .get(&stranger, &version)
            .await
            .expect_error(404, "not_found");
    }
    for missing in ["0", "4", "18446744073709551615"] {
        let answer = service.get(&token, &format!("{path}/versions/{missing}")).await;
        let answer = answer.expect_error(404, "not_found");
        assert!(answer.message().contains(missing), "{}", answer.message());
    }
    for odd in ["latest", "-1", "1.0", "18446744073709551616", "%20"] {
        let answer = service.get(&token, &format!("{path}/versions/{odd}")).await;
        let answer = answer.expect_error(400, "invalid_request");
        assert!(answer.message().contains("whole number"), "{}", answer.message());
    }
    service.delete(&token, &path).await.expect_status(200);
    for number in 1..=3 {
        let version = format!("{path}/versions/{number}");
        service.get(&token, &version).await.expect_error(404, "not_found");
    }
}

#[tokio::test]
async fn if_match_refuses_a_stale_writer() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let created = service.post(&token, "/prompts", &prompt("Greeting")).await;
    let path = format!("/prompts/{}", created.id());
    let first = created.header("etag").to_owned();
    assert!(
        first.starts_with('"') && first.ends_with('"') && first.len() > 2,
        "{first}"
    );

    let put = |tag: &str| service.put(&token, &path, &json!({})).header("if-match", tag);
    let second = put(&first).await.expect_status(200).header("etag").to_owned();
    assert_ne!(first, second);
    let stale = put(&first).await.expect_error(412, "conflict");
    assert!(stale.message().contains("If-Match"), "{}", stale.message());
    put("\"nonsense\"").await.expect_error(412, "conflict");
    let listed = put(&format!("{first}, {second}")).await.expect_status(200);
    put("*").await.expect_status(200);
    assert_eq!(listed.body["version"], 3);

    let current = service.get(&token, &path).await;
    assert_eq!(current.body["version"], 4);
    let delete = |tag: &str| service.delete(&token, &path).header("if-match", tag);
    delete(&second).await.expect_error(412, "conflict");
    delete(current.header("etag")).await.expect_status(200);
    // A deleted template matches nothing, and its version is not revealed.
    delete("*").await.expect_error(404, "not_found");
}

#[tokio::test]
async fn concurrent_updates_each_get_a_version_of_their_own() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Contended")).await.id();
    let path = format!("/prompts/{id}");

    let updates = (0..WRITERS).map(|writer| {
        let change =
            json!({ "content": format!("writer {writer}"), "description": format!("body {writer}") });
        let request = service.put(&token, &path, &change);
        async move { (writer, request.await) }
    });
    let answers = join_all(updates).await;

    let mut versions = BTreeSet::new();
    for (writer, answer) in answers {
        let answer = answer.expect_status(200);
        assert_eq!(answer.body["content"], format!("writer {writer}"));
        assert_eq!(answer.body["description"], format!("body {writer}"));
        versions.insert(answer.body["version"].as_u64().unwrap());
    }
    assert_eq!(versions, (2..=65).collect());

    let listed = service
        .get(&token, &format!("{path}/versions"))
        .await
        .expect_status(200);
    let expected: Vec<_> = (1..=65).rev().collect();
    assert_eq!(listed.each("version"), expected);
    let mut bodies: Vec<_> = listed.each("description");
    assert_eq!(bodies.pop(), Some(json!(null)), "version 1 has no description");
    let distinct: BTreeSet<_> = bodies.iter().filter_map(|body| body.as_str()).collect();
    assert_eq!((bodies.len(), distinct.len()), (WRITERS, WRITERS));
    assert_eq!(service.get(&token, &path).await.body["version"], 65);
}

#[tokio::test]
async fn of_concurrent_writers_with_one_etag_exactly_one_wins() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let created = service.post(&token, "/prompts", &prompt("Guarded")).await;
    let path = format!("/prompts/{}", created.id());
    let tag = created.header("etag");

    let writers = (0..16).map(|_| {
        service
            .put(&token, &path, &json!({}))
            .header("if-match", tag)
            .into_future()
    });
    let mut statuses: Vec<_> = join_all(writers)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    let expected: Vec<u16> = std::iter::once(200).chain(std::iter::repeat_n(412, 15)).collect();
    assert_eq!(statuses, expected);
    assert_eq!(service.get(&token, &path).await.body["version"], 2);
}

#[tokio::test]
async fn of_concurrent_deletes_exactly_one_succeeds() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("Fleeting")).await.id();
    let path = format!("/prompts/{id}");
    let deletes = (0..8).map(|_| service.delete(&token, &path).into_future());
    let mut statuses: Vec<_> = join_all(deletes)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404, 404, 404, 404, 404, 404, 404]);
}
