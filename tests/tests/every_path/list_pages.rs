//! Tests that array lists can be read page by page, and must be if they are too large for one answer.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Persona, Service, unique};

/// Service, and the token of a project that no other test uses.
struct World {
    service: Service,
    token: String,
}

async fn world() -> World {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    World { service, token }
}

fn subscription(name: &str, vars: &str) -> Value {
    json!({
        "name": name, "run_as_role": "reader", "filter": { "event_category": ["*"] },
        "target": { "type": "workflow", "endpoint": "Steps", "vars": { "text": vars } },
    })
}

fn channel(name: &str, details: &str) -> Value {
    json!({ "name": name, "source": "tests", "transform": { "static_details": { "text": details } } })
}

impl World {
    async fn make(&self, path: &str, body: &Value) -> String {
        let answer = self.service.post(&self.token, path, body).await;
        answer.expect_status(201).id()
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        let listed = self.service.get(&self.token, path).await.expect_status(200);
        assert_eq!(listed.header("x-next-page-token"), "", "{path}");
        listed.body.as_array().unwrap().clone()
    }

    /// Returns every entry of a list, read page by page, and the sizes of the pages.
    async fn pages(&self, path: &str, query: &str) -> (Vec<Value>, Vec<usize>) {
        let (mut entries, mut sizes) = (Vec::new(), Vec::new());
        let mut token = String::new();
        loop {
            let url = match token.as_str() {
                "" => format!("{path}?{query}"),
                token => format!("{path}?{query}&next_page_token={token}"),
            };
            let page = self.service.get(&self.token, &url).await.expect_status(200);
            let listed = page.body.as_array().unwrap();
            sizes.push(listed.len());
            entries.extend(listed.iter().cloned());
            token = page.header("x-next-page-token").to_owned();
            if token.is_empty() {
                return (entries, sizes);
            }
        }
    }

    /// Checks a list of five entries.
    async fn check(&self, path: &str) {
        let complete = self.list(path).await;
        assert_eq!(complete.len(), 5, "{path}");
        for (size, sizes) in [
            (1, &[1; 5][..]),
            (2, &[2, 2, 1]),
            (4, &[4, 1]),
            (5, &[5]),
            (1_000, &[5]),
        ] {
            let pages = self.pages(path, &format!("page_size={size}")).await;
            assert_eq!(pages, (complete.clone(), sizes.to_vec()), "{path}");
        }
        for (query, part) in [
            ("page_size=0", "page_size"),
            ("page_size=1001", "page_size"),
            ("page_size=-1", "page_size"),
            ("page_size=many", "page_size"),
            ("next_page_token=a%23b", "next_page_token"),
            ("next_page_token=a%00b", "next_page_token"),
        ] {
            let refused = self.service.get(&self.token, &format!("{path}?{query}")).await;
            let refused = refused.expect_error(400, "invalid_request");
            assert!(refused.message().contains(part), "{query}: {}", refused.message());
        }
        let long = format!("{path}?next_page_token={}", "x".repeat(201));
        let refused = self.service.get(&self.token, &long).await;
        refused.expect_error(400, "invalid_request");
    }

    /// Checks a list with a limit: it names the page that continues it, and goes with no page.
    async fn check_limits(&self, path: &str, windows: &[&str]) {
        let part = self.service.get(&self.token, &format!("{path}?limit=2")).await;
        let part = part.expect_status(200);
        let token = part.header("x-next-page-token").to_owned();
        assert_ne!(token, "", "{path}");
        let rest = format!("{path}?next_page_token={token}");
        let rest = self.service.get(&self.token, &rest).await.expect_status(200);
        let both = [part.body, rest.body];
        let both: Vec<_> = both
            .iter()
            .flat_map(|part| part.as_array().unwrap().clone())
            .collect();
        assert_eq!(both, self.list(path).await);
        for window in windows {
            let refused = self
                .service
                .get(&self.token, &format!("{path}?page_size=2&{window}"))
                .await;
            let refused = refused.expect_error(400, "invalid_request");
            assert!(refused.message().contains("'limit'"), "{}", refused.message());
        }
    }

    /// Checks a list that is too large for one answer.
    async fn check_large(&self, path: &str, ids: &[String]) {
        let refused = self.service.get(&self.token, path).await;
        let refused = refused.expect_error(422, "unprocessable");
        for parameter in ["page_size", "next_page_token"] {
            assert!(refused.message().contains(parameter), "{}", refused.message());
        }
        let (entries, sizes) = self.pages(path, "page_size=1000").await;
        let listed: Vec<_> = entries
            .iter()
            .map(|entry| entry["id"].as_str().unwrap())
            .collect();
        assert_eq!(listed, ids, "{path}");
        assert!(sizes.len() > 1, "{sizes:?}");
    }
}

#[tokio::test]
async fn pages_of_subscriptions_and_channels_have_each_entry_once() {
    let world = world().await;
    for name in ["a", "b", "c", "d", "e"] {
        world.make("/events/subscriptions", &subscription(name, "")).await;
        world.make("/events/channels", &channel(name, "x")).await;
    }
    world.check("/events/subscriptions").await;
    world.check("/events/channels").await;
}

#[tokio::test]
async fn pages_of_prompts_versions_and_forks_have_each_entry_once() {
    let world = world().await;
    let id = world.make("/prompts", &prompt("Greeting")).await;
    let path = format!("/prompts/{id}");
    for _ in 0..4 {
        world
            .service
            .put(&world.token, &path, &json!({}))
            .await
            .expect_status(200);
        world.make("/prompts", &prompt("Other")).await;
    }
    world.check("/prompts").await;
    world.check(&format!("{path}/versions")).await;
    let refused = world
        .service
        .get(&world.token, &format!("{path}/versions?next_page_token=x"));
    refused.await.expect_error(400, "invalid_request");
    let missing = world
        .service
        .get(&world.token, "/prompts/missing/versions?page_size=2");
    missing.await.expect_error(404, "not_found");

    // A page contains entries that match the filter.
    let (prompts, sizes) = world.pages("/prompts", "name=other&page_size=3").await;
    assert_eq!((prompts.len(), sizes), (4, vec![3, 1]));
    for window in ["limit=2", "offset=1"] {
        let both = world
            .service
            .get(&world.token, &format!("/prompts?page_size=2&{window}"));
        both.await.expect_error(400, "invalid_request");
    }

    let mut forks = Vec::new();
    for _ in 0..6 {
        forks.push(world.make(&format!("{path}/fork"), &json!({})).await);
    }
    let deleted = world
        .service
        .delete(&world.token, &format!("/prompts/{}", forks[2]));
    deleted.await.expect_status(200);
    world.check(&format!("{path}/forks")).await;
}

#[tokio::test]
async fn pages_of_stores_have_each_entry_once() {
    let world = world().await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(world.make("/data", &json!({ "name": unique("store") })).await);
    }
    let archived = world.service.delete(&world.token, &format!("/data/{}", ids[2]));
    archived.await.expect_status(200);
    world.check("/data").await;
}

#[tokio::test]
async fn pages_of_store_versions_and_schema_changes_have_each_entry_once() {
    let world = world().await;
    let id = world.make("/data", &json!({ "name": unique("store") })).await;
    let path = format!("/data/{id}");
    for name in ["a", "b", "c", "d", "e"] {
        let table = json!({ "name": name, "columns": [{ "name": "id", "type": "INTEGER" }] });
        let tables = json!({ "tables": [table] });
        let created = world
            .service
            .post(&world.token, &format!("{path}/tables"), &tables)
            .await;
        created.expect_status(201);
    }
    world.check(&format!("{path}/schema/history")).await;
    let id = world.make("/data", &json!({ "name": unique("store") })).await;
    let versions = format!("/data/{id}/versions");
    for name in ["a", "b", "c", "d"] {
        world.make(&versions, &json!({ "name": name })).await;
    }
    world.check(&versions).await;
    // One more snapshot than there were: the first version is none.
    world.make(&versions, &json!({ "name": "e" })).await;
    let snapshots = world.list(&format!("{versions}?snapshots_only=true")).await;
    let pages = world.pages(&versions, "snapshots_only=true&page_size=2").await;
    assert_eq!(pages, (snapshots, vec![2, 2, 1]));
    world.check_limits(&versions, &["limit=2"]).await;
    let history = format!("{path}/schema/history");
    world.check_limits(&history, &["limit=2"]).await;
}

#[tokio::test]
async fn pages_of_dashboards_and_versions_have_each_entry_once() {
    let world = world().await;
    let id = world.make("/data", &json!({ "name": unique("store") })).await;
    let path = format!("/data/{id}");
    let table = json!({ "name": "t", "columns": [{ "name": "id", "type": "INTEGER" }] });
    let tables = json!({ "tables": [table] });
    let created = world
        .service
        .post(&world.token, &format!("{path}/tables"), &tables)
        .await;
    created.expect_status(201);
    let dashboards = format!("{path}/dashboards");
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let chart = json!({ "mark": "bar", "encoding": { "x": { "field": "id", "type": "quantitative" } } });
        let dashboard = json!({ "name": name, "query": "SELECT id FROM t", "spec": chart });
        ids.push(world.make(&dashboards, &dashboard).await);
    }
    let archived = world
        .service
        .delete(&world.token, &format!("{dashboards}/{}", ids[2]));
    archived.await.expect_status(200);
    world.check(&dashboards).await;
    world.check_limits(&dashboards, &["limit=2", "offset=1"]).await;
    let dashboard = format!("{dashboards}/{}", ids[0]);
    for name in ["b2", "c2", "d2", "e2"] {
        let changed = world
            .service
            .put(&world.token, &dashboard, &json!({ "name": name }))
            .await;
        changed.expect_status(200);
    }
    let versions = format!("{dashboard}/versions");
    world.check(&versions).await;
    world.check_limits(&versions, &["limit=2", "offset=1"]).await;
    let refused = world
        .service
        .get(&world.token, &format!("{versions}?next_page_token=x"));
    refused.await.expect_error(400, "invalid_request");
}

#[tokio::test]
async fn entries_that_come_and_go_move_no_other_one() {
    let world = world().await;
    let path = "/events/channels";
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        ids.push(world.make(path, &channel(name, "x")).await);
    }
    let first = world
        .service
        .get(&world.token, &format!("{path}?page_size=2"))
        .await;
    let token = first.header("x-next-page-token").to_owned();
    // The entry that the token names may be deleted as well.
    for id in &ids[..2] {
        let deleted = world.service.delete(&world.token, &format!("{path}/{id}")).await;
        deleted.expect_status(200);
    }
    ids.push(world.make(path, &channel("e", "x")).await);
    let url = format!("{path}?page_size=5&next_page_token={token}");
    let second = world.service.get(&world.token, &url).await.expect_status(200);
    let expected: Vec<_> = ids[2..].iter().map(|id| json!(id)).collect();
    assert_eq!(second.each("id"), expected);
}

#[tokio::test]
async fn a_token_opens_nothing_of_another_project() {
    let service = Service::start().await;
    let scope = service.scope();
    let (token, other) = (
        scope.token(Persona::Developer),
        scope.token(Persona::OtherProject),
    );
    for name in ["a", "b"] {
        service
            .post(&token, "/events/channels", &channel(name, "x"))
            .await
            .expect_status(201);
    }
    let first = service.get(&token, "/events/channels?page_size=1").await;
    let position = first.header("x-next-page-token");
    assert_ne!(position, "");
    let url = format!("/events/channels?next_page_token={position}");
    let theirs = service.get(&other, &url).await.expect_status(200);
    assert_eq!(theirs.body, json!([]));
}

#[tokio::test]
async fn list_too_large_for_one_answer_is_refused_and_its_pages_are_not() {
    let world = world().await;
    // A quote takes two bytes in JSON, and four in Lambda's body, which escapes the JSON again.
    let (mut subscriptions, mut channels) = (Vec::new(), Vec::new());
    for number in 0..52 {
        let body = subscription(&format!("n{number}"), &"\"".repeat(32_000));
        subscriptions.push(world.make("/events/subscriptions", &body).await);
    }
    for number in 0..56 {
        let body = channel(&format!("n{number}"), &"\"".repeat(30_000));
        channels.push(world.make("/events/channels", &body).await);
    }
    world.check_large("/events/subscriptions", &subscriptions).await;
    world.check_large("/events/channels", &channels).await;

    // Seven bytes per character.
    let described = |name: &str| {
        let mut body = prompt(name);
        body["description"] = "\u{1}".repeat(10_000).into();
        body
    };
    let mut prompts = Vec::new();
    for number in 0..92 {
        prompts.push(world.make("/prompts", &described(&format!("n{number}"))).await);
    }
    world.check_large("/prompts", &prompts).await;
    let path = format!("/prompts/{}", prompts[0]);
    for _ in 0..91 {
        world
            .service
            .put(&world.token, &path, &json!({}))
            .await
            .expect_status(200);
    }
    let ids = vec![prompts[0].clone(); 92];
    world.check_large(&format!("{path}/versions"), &ids).await;
}
