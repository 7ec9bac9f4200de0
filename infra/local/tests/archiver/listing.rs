//! Tests listing and aggregation over files and tail: each record once, in order, at any offset.

use std::collections::BTreeSet;

use event_log::aggregate::AggregateEvents;
use event_log::listing::AuditFilter;
use platform::auth::Viewer;
use platform::records::audit::{AuditAction, AuditEvent};
use platform::records::logs::{LogId, LogKind};
use serde_json::{Value, json};

use crate::world::{World, at};

const PROJECTS: [Option<&str>; 3] = [Some("demo"), Some("test"), None];

/// Returns record `number`: records are spread over projects, kinds and three days, and some have equal
/// times.
fn record(number: u64) -> AuditEvent {
    let day = 22 + number % 3;
    let (hour, minute) = (number * 7 % 24, number / 5 % 60);
    let action = [AuditAction::Create, AuditAction::Update, AuditAction::Delete];
    AuditEvent {
        id: format!("a{:04}", number * 7_919 % 10_000),
        event_type: "audit".to_owned(),
        action: action[usize::try_from(number % 4).unwrap().min(2)],
        resource_type: if number.is_multiple_of(5) {
            "prompt"
        } else {
            "data_store"
        }
        .to_owned(),
        resource_id: format!("r{}", number % 7),
        timestamp: at(&format!("2026-11-{day:02}T{hour:02}:{minute:02}:59.999Z")),
        request_id: format!("request '{number}'"),
        status: 201,
        success: true,
        principal_id: None,
        principal_type: Some("user".to_owned()),
        principal_user_id: Some(format!("user {}", number % 2)),
        roles: vec!["developer".to_owned(), "a,b".to_owned()],
        account_id: Some("acme".to_owned()),
        project_id: PROJECTS[usize::try_from(number % 3).unwrap()].map(str::to_owned),
        tenant_id: None,
        account_name: Some("Acme".to_owned()),
        project_name: None,
        private_to: (number % 7 == 3).then(|| "user:ada".to_owned()),
    }
}

fn takes(filter: &AuditFilter, event: &AuditEvent) -> bool {
    (filter.actions.is_empty() || filter.actions.contains(&event.action))
        && (filter.resource_types.is_empty() || filter.resource_types.contains(&event.resource_type))
        && filter
            .resource_id
            .as_ref()
            .is_none_or(|id| *id == event.resource_id)
        && (filter.principal_user_id.is_none() || filter.principal_user_id == event.principal_user_id)
        && filter.from.is_none_or(|from| event.timestamp >= from)
        && filter.to.is_none_or(|to| event.timestamp <= to)
}

fn filters() -> Vec<AuditFilter> {
    let all = AuditFilter::default;
    vec![
        all(),
        AuditFilter {
            actions: BTreeSet::from([AuditAction::Update, AuditAction::Create]),
            ..all()
        },
        AuditFilter {
            resource_types: BTreeSet::from(["prompt".to_owned()]),
            principal_user_id: Some("user 1".to_owned()),
            ..all()
        },
        AuditFilter {
            resource_id: Some("nothing".to_owned()),
            ..all()
        },
        AuditFilter {
            from: Some(at("2026-11-22T14:03:59.999Z")),
            to: Some(at("2026-11-24T07:00:59.999Z")),
            ..all()
        },
        AuditFilter {
            to: Some(at("2026-11-23T23:59:59.999Z")),
            resource_id: Some("r3".to_owned()),
            ..all()
        },
    ]
}

#[tokio::test]
async fn pages_are_those_of_the_sorted_records_whatever_is_archived() {
    let world = World::new().await;
    let (archiver, store) = (world.archiver(), world.store());
    let mut all: Vec<AuditEvent> = (0..240).map(record).collect();
    for (number, event) in all.iter().enumerate() {
        world.trail.insert(event).await.unwrap();
        // Each log gets two files a day, and a tail that also contains old records.
        if number == 120 || number == 200 {
            for project in PROJECTS {
                let log = LogId::new("acme", project, LogKind::Audit);
                archiver.pass(&log).await.unwrap();
            }
        }
    }
    all.sort_by(|one, other| (other.timestamp, &other.id).cmp(&(one.timestamp, &one.id)));
    let viewer = |user: &str| Viewer {
        reference: format!("user:{user}"),
        sees_all: false,
    };
    let viewers = [Viewer::operator(), viewer("ada"), viewer("grace")];
    for (project, viewer) in [Some("demo"), Some("none"), None]
        .into_iter()
        .flat_map(|project| viewers.iter().map(move |viewer| (project, viewer)))
    {
        for filter in filters() {
            let of_project =
                |event: &&AuditEvent| project.is_none() || event.project_id.as_deref() == project;
            let expected: Vec<_> = all
                .iter()
                .filter(of_project)
                .filter(|event| takes(&filter, event) && viewer.sees(event.private_to.as_deref()))
                .cloned()
                .collect();
            for (offset, limit) in [
                (0, 200),
                (0, 1),
                (7, 30),
                (60, 5),
                (139, 50),
                (239, 1),
                (240, 1),
                (1 << 52, 9),
            ] {
                let page = store
                    .list_audit("acme", project, &filter, viewer, (offset, limit))
                    .await
                    .unwrap();
                let skipped = usize::try_from(offset).unwrap().min(expected.len());
                let end = expected.len().min(skipped + limit);
                assert_eq!(
                    page.events,
                    expected[skipped..end],
                    "{project:?} {viewer:?} {filter:?} {offset} {limit}"
                );
                assert_eq!(
                    page.has_next,
                    end < expected.len(),
                    "{project:?} {viewer:?} {filter:?} {offset} {limit}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_walk_has_each_record_once_while_others_are_archived_and_come() {
    let world = World::new().await;
    let (archiver, store) = (world.archiver(), world.store());
    for number in 0..90 {
        world.trail.insert(&record(number)).await.unwrap();
    }
    let filter = AuditFilter {
        to: Some(at("2026-11-24T23:59:59.999Z")),
        ..AuditFilter::default()
    };
    let mut ids = Vec::new();
    loop {
        let offset = u64::try_from(ids.len()).unwrap();
        let page = store
            .list_audit("acme", None, &filter, &Viewer::operator(), (offset, 8))
            .await
            .unwrap();
        ids.extend(page.events.into_iter().map(|event| event.id));
        if !page.has_next {
            break;
        }
        let new = AuditEvent {
            timestamp: at("2026-11-25T00:00:00Z"),
            id: format!("new {offset}"),
            ..record(0)
        };
        world.trail.insert(&new).await.unwrap();
        let project = PROJECTS[ids.len() % 3];
        archiver
            .pass(&LogId::new("acme", project, LogKind::Audit))
            .await
            .unwrap();
    }
    let expected: BTreeSet<_> = (0..90).map(|number| record(number).id).collect();
    assert_eq!(ids.len(), 90);
    assert_eq!(ids.into_iter().collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn an_event_counts_once_before_and_after_it_is_archived() {
    let world = World::new().await;
    let (archiver, store) = (world.archiver(), world.store());
    let body = json!({
        "from": "2026-11-22", "to": "2026-11-25", "groupBy": [{ "dimension": "time" }],
        "metrics": [{ "id": "n", "operation": "count" }, { "id": "ids", "operation": "count_distinct", "field": "event_id" }],
    });
    let days = async || -> Vec<Value> {
        let body: AggregateEvents = serde_json::from_value(body.clone()).unwrap();
        let plan = body.plan(world.clock.now()).unwrap();
        let answer = store
            .aggregate("acme", Some("demo"), &plan, &Viewer::operator())
            .await
            .unwrap();
        answer
            .rows
            .iter()
            .map(|row| json!([row.metrics["n"], row.metrics["ids"]]))
            .collect()
    };
    assert_eq!(json!(days().await), json!([[0, 0], [0, 0], [0, 0], [0, 0]]));
    world.events(0..30, "2026-11-23T23:59:59.999Z").await;
    world.events(30..70, "2026-11-24T00:00:00Z").await;
    assert_eq!(json!(days().await), json!([[0, 0], [30, 30], [40, 40], [0, 0]]));
    archiver.pass(&world.log).await.unwrap();
    assert_eq!(json!(days().await), json!([[0, 0], [30, 30], [40, 40], [0, 0]]));
    // Late events, and two that already exist.
    world.events(0..2, "2026-11-23T23:59:59.999Z").await;
    world.events(70..75, "2026-11-22T00:00:00Z").await;
    assert_eq!(json!(days().await), json!([[5, 5], [30, 30], [40, 40], [0, 0]]));
    archiver.pass(&world.log).await.unwrap();
    assert_eq!(json!(days().await), json!([[5, 5], [30, 30], [40, 40], [0, 0]]));
}
