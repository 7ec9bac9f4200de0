//! Tests that a project has at most 10,000 subscriptions and 10,000 channels, also under concurrent
//! creations.
#![cfg(test)]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use events::records::channels::{ChannelRecord, Channels};
use events::records::entries::MAX_ENTRIES;
use events::records::subscriptions::{SubscriptionRecord, Subscriptions};
use local::data_dir::DataDir;
use local::issuer::{Issuer, Subject};
use local::runner::Service;
use local::services::{Ports, RECORDS_TABLE, Services};
use platform::config::{Environment, variables};
use platform::http::service::service;
use platform::records::{Changes, Condition, Key, Outcome, Query, Table, Written};
use platform::{Clock, ErrorKind, Result, Tenant};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Subscriptions,
    Channels,
}

const KINDS: [Kind; 2] = [Kind::Subscriptions, Kind::Channels];

/// Records of one project.
#[derive(Clone)]
struct World {
    kind: Kind,
    table: Table,
    subscriptions: Subscriptions,
    channels: Channels,
}

fn tenant() -> Tenant {
    Tenant::new("acme", "demo").unwrap()
}

impl World {
    async fn new(kind: Kind) -> (TempDir, Self) {
        let folder = tempfile::tempdir().unwrap();
        let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
        (folder, Self::over(kind, &services))
    }

    fn over(kind: Kind, services: &Services) -> Self {
        let table = services.table(RECORDS_TABLE);
        Self {
            kind,
            subscriptions: Subscriptions::new(table.clone()),
            channels: Channels::new(table.clone()),
            table,
        }
    }

    async fn add(&self, id: &str) -> Result<()> {
        let (id, revision) = (id.to_owned(), 1);
        let document = json!({
            "id": id, "name": "s", "scope": "project", "enabled": true, "priority": "normal", "run_as_role": "reader",
            "filter": {}, "target": { "type": "workflow", "endpoint": "w" }, "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "created_by": "u", "updated_by": "u",
        })
        .to_string();
        match self.kind {
            Kind::Subscriptions => {
                let record = SubscriptionRecord {
                    id,
                    revision,
                    document,
                };
                self.subscriptions.insert(&tenant(), &record, None).await
            }
            Kind::Channels => {
                let record = ChannelRecord {
                    id,
                    revision,
                    document,
                };
                self.channels.insert(&tenant(), &record).await
            }
        }
    }

    async fn remove(&self, id: &str) -> Result<()> {
        match self.kind {
            Kind::Subscriptions => self.subscriptions.remove(&tenant(), id, |_| Ok(())).await,
            Kind::Channels => self.channels.remove(&tenant(), id).await,
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Subscriptions => "subscriptions",
            Kind::Channels => "channels",
        }
    }

    fn partition(&self) -> String {
        format!("acme#demo#{}", self.name())
    }

    fn changed_key(&self) -> Key {
        Key::new(format!("acme#demo#{}-changed", self.name()), "last")
    }

    /// Sets the count to that of a project with `count` entries.
    async fn pretend(&self, count: u64) {
        let changes = Changes::default().set("entries", &count).unwrap();
        let result = self
            .table
            .update(&self.changed_key(), &changes, Condition::Present)
            .await;
        assert_eq!(result.unwrap(), Written::Done);
    }

    async fn count(&self) -> Option<i64> {
        let item: Option<Value> = self.table.find(&self.changed_key()).await.unwrap();
        item.and_then(|item| item["entries"].as_i64())
    }

    async fn stored_count(&self) -> u64 {
        self.table
            .count(&Query::partition(self.partition()))
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn creations_and_deletions_are_counted() {
    for kind in KINDS {
        let (_folder, world) = World::new(kind).await;
        for id in ["a", "b", "c"] {
            world.add(id).await.unwrap();
        }
        assert_eq!(world.count().await, Some(3), "{kind:?}");
        // A refused creation is not counted.
        assert_eq!(world.add("a").await.unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(world.remove("x").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(world.count().await, Some(3), "{kind:?}");
        world.remove("b").await.unwrap();
        assert_eq!(world.remove("b").await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(world.count().await, Some(2), "{kind:?}");
    }
}

#[tokio::test]
async fn a_change_keeps_the_count() {
    let (_folder, world) = World::new(Kind::Subscriptions).await;
    world.add("a").await.unwrap();
    let state = async || world.subscriptions.state(&tenant()).await.unwrap();
    let before = state().await;
    let old = world.subscriptions.get(&tenant(), "a").await.unwrap();
    let next = SubscriptionRecord {
        revision: 2,
        document: format!("{} ", old.document),
        ..old.clone()
    };
    let saved = world.subscriptions.save(&tenant(), &old, &next).await.unwrap();
    assert_eq!(saved, Outcome::Done);
    // What has changed since it was read is not written.
    let again = world.subscriptions.save(&tenant(), &old, &next).await.unwrap();
    assert_eq!(again, Outcome::Refused(None));
    let after = state().await;
    let bytes = old.document.len() as u64;
    assert_eq!((before.bytes, after.bytes), (bytes, bytes + 1));
    assert_eq!(after.change, before.change.map(|change| change + 1));
    assert_eq!(world.count().await, Some(1));
}

#[tokio::test]
async fn a_setting_limits_the_subscriptions() {
    let (_folder, world) = World::new(Kind::Subscriptions).await;
    let limited = |value: &str| {
        let variables = [(variables::MAX_SUBSCRIPTIONS.name.to_owned(), value.to_owned())];
        let environment = Environment::from_variables(variables).unwrap();
        world.subscriptions.clone().limited_by(&environment)
    };
    for value in ["0", "100001", "many"] {
        let refusal = limited(value).err().unwrap().to_string();
        assert!(refusal.contains("MILLRACE_MAX_SUBSCRIPTIONS"), "{refusal}");
    }
    let two = World {
        subscriptions: limited("2").unwrap(),
        ..world.clone()
    };
    two.add("a").await.unwrap();
    two.add("b").await.unwrap();
    let refusal = two.add("c").await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Conflict);
    assert!(refusal.message().contains("has 2 subscriptions"), "{refusal}");
}

#[tokio::test]
async fn the_last_place_is_given_once() {
    for kind in KINDS {
        let (_folder, world) = World::new(kind).await;
        world.add("first").await.unwrap();
        world.pretend(MAX_ENTRIES - 1).await;
        let tries = (0..20).map(|n| {
            let world = world.clone();
            tokio::spawn(async move { world.add(&format!("n{n}")).await })
        });
        let mut count = 0;
        for tried in futures::future::join_all(tries).await {
            match tried.unwrap() {
                Ok(()) => count += 1,
                Err(refused) => {
                    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused:?}");
                    let says = refused.to_string();
                    assert!(says.contains("10000") && says.contains(world.name()), "{says}");
                    assert!(says.contains("delete one"), "{says}");
                }
            }
        }
        assert_eq!((count, world.stored_count().await), (1, 2), "{kind:?}");
        assert_eq!(world.count().await, Some(10_000));
        // A deletion makes room for one entry.
        world.remove("first").await.unwrap();
        world.add("next").await.unwrap();
        assert_eq!(world.add("more").await.unwrap_err().kind(), ErrorKind::Conflict);
    }
}

async fn answer(router: &Router, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    let request = request
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn the_api_refuses_the_creation_after_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::open(&folder.path().join("data")).unwrap();
    let services = Services::open(&data).unwrap();
    let issuer = Issuer::open(&data).unwrap();
    let token = issuer
        .token(&Subject::default(), Clock::System.now(), 600)
        .unwrap();
    let local = Service::new(&services, Ports::default()).unwrap();
    let routes = subscriptions_function::routes(local.platform.clone(), local.subscriptions.clone());
    let normalized = service(routes, Clock::System, local.platform.edge.clone());
    let router = Router::new().fallback_service(normalized);
    for (kind, body) in [
        (
            Kind::Subscriptions,
            json!({
                "name": "Orders", "run_as_role": "reader", "filter": { "event_category": ["*"] },
                "target": { "type": "workflow", "endpoint": "Steps" },
            }),
        ),
        (Kind::Channels, json!({ "name": "Orders", "source": "shop" })),
    ] {
        let world = World::over(kind, &services);
        let path = format!("/events/{}", world.name());
        let create = async || answer(&router, &token, "POST", &path, &body).await;
        let (status, first) = create().await;
        assert_eq!(status, 201, "{first}");
        world.pretend(MAX_ENTRIES - 1).await;
        assert_eq!(create().await.0, 201);
        let (status, refused) = create().await;
        assert_eq!(
            (status, &refused["error"]),
            (409, &json!("conflict")),
            "{refused}"
        );
        let says = refused["message"].as_str().unwrap();
        assert!(says.contains("10000") && says.contains("delete"), "{says}");
        // A change of an existing entry needs no room.
        let one = format!("{path}/{}", first["id"].as_str().unwrap());
        let (status, changed) = answer(&router, &token, "PUT", &one, &json!({ "name": "Bills" })).await;
        assert_eq!(status, 200, "{changed}");
        assert_eq!(create().await.0, 409);
        assert_eq!(answer(&router, &token, "DELETE", &one, &json!({})).await.0, 200);
        assert_eq!(create().await.0, 201);
        assert_eq!(create().await.0, 409);
    }
}
