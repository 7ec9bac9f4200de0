//! Tests the end of an incident: what a receiver refused in a period is counted and redriven once, and
//! nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};
use tests::events::Channel;
use tests::runs::{PAUSE, WITHIN};
use tests::{Events, Persona, unique};

use super::{Answer, Site, deliveries_with, id_of, redrive, result_of, subscription};

const REDRIVE: &str = "/events/deliveries/redrive";
/// Deliveries that the incident fails.
const LOST: usize = 30;
/// Deliveries that the receiver refuses at other times.
const OTHERS: usize = 3;
/// Rate at which the redrive takes longer than the pause between two messages about its progress.
const RATE: usize = 4;

/// A receiver with two subscriptions, which refuses some deliveries of both.
struct Incident {
    events: Events,
    site: Site,
    subscription: String,
    other: String,
    channel: Channel,
}

impl Incident {
    async fn start() -> Self {
        let events = Events::start().await;
        let site = Site::start().await;
        let orders = subscription(&site, "/orders", &json!({}), &json!({}));
        let orders = events.subscribe(&orders).await;
        let mails = subscription(&site, "/mails", &json!({ "action": ["mailed"] }), &json!({}));
        let mails = events.subscribe(&mails).await;
        Self {
            channel: events.plain_channel().await,
            subscription: id_of(&orders).to_owned(),
            other: id_of(&mails).to_owned(),
            events,
            site,
        }
    }

    /// Posts events to which the receiver answers with a status. Returns the ids of the deliveries to the
    /// subscription, and the times at which the first and the last of them were created.
    async fn period(&self, status: u16, count: usize) -> (BTreeSet<String>, [Value; 2]) {
        self.site.answer_with(status);
        let end = if status == 200 { "succeeded" } else { "failed" };
        let earlier = self.deliveries(end).await;
        for number in 0..count {
            let action = if number % 5 == 0 { "mailed" } else { "received" };
            self.events
                .event(
                    &self.channel,
                    &json!({ "action": action, "idempotency_key": unique("event") }),
                )
                .await;
        }
        let deadline = Instant::now() + WITHIN;
        loop {
            let mut deliveries = self.deliveries(end).await;
            deliveries.retain(|id, _| !earlier.contains_key(id));
            if deliveries.len() == count {
                let times: BTreeSet<_> = deliveries.values().collect();
                let edges = [times.first(), times.last()].map(|time| json!(time.unwrap()));
                return (deliveries.into_keys().collect(), edges);
            }
            assert!(Instant::now() < deadline, "{} of {count} {end}", deliveries.len());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns when each delivery to the subscription with a status was created, by its id.
    async fn deliveries(&self, status: &str) -> BTreeMap<String, String> {
        let search = json!({ "subscription_id": self.subscription, "status": [status], "limit": 200 });
        let deliveries = self.events.deliveries(&search).await;
        let text = |delivery: &Value, field: &str| delivery[field].as_str().unwrap().to_owned();
        deliveries
            .iter()
            .map(|delivery| (text(delivery, "id"), text(delivery, "created_at")))
            .collect()
    }

    /// Asserts that the lost deliveries have arrived by one more attempt, and the others by their first.
    async fn check_attempts(&self, lost: &BTreeSet<String>) {
        let search = json!({ "subscription_id": self.subscription, "status": ["succeeded"] });
        let count = lost.len() + 2 * OTHERS;
        for delivery in deliveries_with(&self.events, &search, count, "succeeded").await {
            let attempts = if lost.contains(id_of(&delivery)) { 2 } else { 1 };
            assert_eq!(delivery["attempt_count"], attempts, "{delivery}");
        }
    }

    async fn dry_run(&self, filter: &Value, limit: usize) -> Value {
        let body = json!({ "filter": filter, "dry_run": true, "limit": limit });
        let answer = self.events.post(&self.events.token, REDRIVE, &body).await;
        answer.expect_status(200).body
    }
}

#[tokio::test]
async fn deliveries_of_an_incident_are_counted_and_redriven_once_and_no_others() {
    let incident = Incident::start().await;
    let Incident { events, site, .. } = &incident;
    incident.period(200, OTHERS).await;
    let (before, _) = incident.period(404, OTHERS).await;
    let (lost, [from, to]) = incident.period(404, LOST).await;
    let (after, _) = incident.period(404, OTHERS).await;
    incident.period(200, OTHERS).await;
    let neighbours = json!({ "subscription_id": incident.other, "status": ["failed"] });
    let neighbours = deliveries_with(events, &neighbours, LOST / 5 + 2, "failed").await;

    let filter = json!({ "subscription_id": incident.subscription, "from": from, "to": to });
    let arrived = site.accepted();
    let count = incident.dry_run(&filter, 1_000).await;
    assert_eq!((&count["matched"], &count["more"]), (&json!(LOST), &json!(false)));
    let shown = count["deliveries"].as_array().unwrap();
    assert_eq!(shown.len(), 20);
    assert!(shown.iter().all(|delivery| lost.contains(id_of(delivery))));
    let created: Vec<_> = shown
        .iter()
        .map(|delivery| delivery["created_at"].as_str())
        .collect();
    assert!(created.is_sorted(), "{created:?}");
    for (limit, more) in [(LOST - 1, true), (LOST, false)] {
        let part = incident.dry_run(&filter, limit).await;
        assert_eq!((&part["matched"], &part["more"]), (&json!(limit), &json!(more)));
    }
    let by_answer = |status: u16, error: &str| {
        let mut filter = filter.clone();
        filter["response_status"] = json!([status]);
        filter["error"] = json!(error);
        filter
    };
    for (status, error, matched) in [(404, "status 404", LOST), (404, "timeout", 0), (503, "", 0)] {
        let count = incident.dry_run(&by_answer(status, error), 1_000).await;
        assert_eq!(count["matched"], matched, "{status} {error}");
    }
    assert_eq!(site.accepted(), arrived, "a dry run delivers nothing");

    let begun = Instant::now();
    let body = json!({ "filter": filter, "rate_per_second": RATE });
    let run = redrive(events, &body).await;
    let result = result_of(events, &run).await;
    let expected = json!({ "matched": LOST, "redriven": LOST, "failed": 0, "failures": [], "more": false });
    assert_eq!(result, expected);
    assert!(
        begun.elapsed().as_secs() >= (LOST / RATE) as u64 - 1,
        "{:?}",
        begun.elapsed()
    );
    let updates = events
        .get(&events.token, &format!("{run}/updates"))
        .await
        .expect_status(200)
        .body;
    let progress: Vec<_> = updates["messages"].as_array().unwrap().iter().collect();
    assert!(progress.len() >= 2, "{updates}");
    assert!(
        progress.iter().all(|message| message["type"] == "PROGRESS"),
        "{updates}"
    );
    let done: BTreeSet<_> = progress
        .iter()
        .map(|message| message["details"]["redriven"].as_u64().unwrap())
        .collect();
    assert!(
        done.len() >= 2 && done.last() == Some(&(LOST as u64)),
        "{updates}"
    );

    incident.check_attempts(&lost).await;
    let expected = &arrived | &lost;
    assert_eq!(site.accepted(), expected);
    let failed: BTreeSet<_> = incident.deliveries("failed").await.into_keys().collect();
    assert_eq!(failed, &before | &after);
    let search = json!({ "subscription_id": incident.other, "status": ["failed"] });
    deliveries_with(events, &search, neighbours.len(), "failed").await;

    assert_eq!(incident.dry_run(&filter, 1_000).await["matched"], 0);
    let run = redrive(events, &body).await;
    let nothing = json!({ "matched": 0, "redriven": 0, "failed": 0, "failures": [], "more": false });
    assert_eq!(result_of(events, &run).await, nothing);
    incident.check_attempts(&lost).await;
    assert_eq!(site.accepted(), expected);
}

#[tokio::test]
async fn redrive_to_a_receiver_that_still_refuses_tries_each_delivery_once() {
    let incident = Incident::start().await;
    let Incident { events, site, .. } = &incident;
    let (lost, [from, to]) = incident.period(404, 5).await;
    let filter = json!({ "subscription_id": incident.subscription, "from": from, "to": to });
    // The receiver gets better for one delivery only.
    let mended = lost.first().unwrap().clone();
    site.answer_by(move |arrival| Answer::from(if arrival.delivery_id() == mended { 200 } else { 422 }));
    let run = redrive(events, &json!({ "filter": filter, "rate_per_second": 100 })).await;
    let result = result_of(events, &run).await;
    assert_eq!((&result["matched"], &result["redriven"]), (&json!(5), &json!(5)));
    let search = json!({ "subscription_id": incident.subscription, "status": ["failed"] });
    for delivery in deliveries_with(events, &search, 4, "failed").await {
        assert_eq!(delivery["attempt_count"], 2, "{delivery}");
        assert_eq!(
            delivery["last_error"],
            "The receiver answered with the status 422."
        );
    }
    let count = incident.dry_run(&filter, 1_000).await;
    assert_eq!(count["matched"], 4, "what failed again can be redriven again");
}

#[tokio::test]
async fn wrong_redrive_is_refused_with_its_field() {
    let incident = Incident::start().await;
    let Incident { events, site, .. } = &incident;
    incident.period(404, 1).await;
    site.answer_with(200);
    let (from, to) = ("2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z");
    let all = json!({ "from": from, "to": to });
    let with = |field: &str, value: Value| {
        let mut filter = all.clone();
        filter[field] = value;
        json!({ "filter": filter })
    };
    let beside = |field: &str, value: Value| json!({ "filter": all, field: value });
    let cases = [
        (json!({}), "missing field `filter`"),
        (json!({ "filter": {} }), "missing field `from`"),
        (json!({ "filter": { "from": from } }), "missing field `to`"),
        (json!({ "filter": [] }), "$.filter: invalid type"),
        (
            json!({ "filter": { "from": to, "to": from } }),
            "The field 'filter.to' is before 'filter.from'.",
        ),
        (with("from", json!("yesterday")), "$.filter.from: "),
        (with("to", json!("2026-13-01T00:00:00Z")), "$.filter.to: "),
        (with("to", json!(1_767_225_600)), "$.filter.to: "),
        (with("statuses", json!(["failed"])), "unknown field `statuses`"),
        (with("status", json!("failed")), "$.filter.status: invalid type"),
        (
            with("status", json!(["lost"])),
            "The field 'filter.status' names 'lost'; there are ",
        ),
        (
            with("status", json!(["succeeded"])),
            "The field 'filter.status' names 'succeeded', and only deliveries that are failed or cancelled \
             are redriven.",
        ),
        (
            with("event_category", json!(["orders"])),
            "The field 'filter.event_category' names 'orders'; there are ",
        ),
        (
            with("response_status", json!(["404"])),
            "$.filter.response_status[0]: invalid type",
        ),
        (
            with("response_status", json!([70_000])),
            "$.filter.response_status[0]: invalid value",
        ),
        (
            with("error", json!("x".repeat(501))),
            "The field 'filter.error' has at most 500 characters.",
        ),
        (
            beside("limit", json!(0)),
            "The field 'limit' must be from 1 to 100000.",
        ),
        (
            beside("limit", json!(100_001)),
            "The field 'limit' must be from 1 to 100000.",
        ),
        (beside("limit", json!(-1)), "$.limit: invalid value"),
        (
            beside("rate_per_second", json!(0)),
            "The field 'rate_per_second' must be from 1 to 100.",
        ),
        (
            beside("rate_per_second", json!(101)),
            "The field 'rate_per_second' must be from 1 to 100.",
        ),
        (
            beside("rate_per_second", json!("10")),
            "$.rate_per_second: invalid type",
        ),
        (beside("dry_run", json!("yes")), "$.dry_run: invalid type"),
        (beside("dryRun", json!(true)), "unknown field `dryRun`"),
    ];
    let mut faults = Vec::new();
    for (body, part) in cases {
        let answer = events.post(&events.token, REDRIVE, &body).await;
        if answer.status != 400 || !answer.message().contains(part) {
            faults.push(format!("{body}: {} {}, not {part}", answer.status, answer.text()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(incident.deliveries("failed").await.len(), 1);
    assert!(site.accepted().is_empty());
}

#[tokio::test]
async fn outsider_counts_redrives_and_retries_nothing() {
    let incident = Incident::start().await;
    let Incident { events, site, .. } = &incident;
    let (lost, [from, to]) = incident.period(404, 2).await;
    site.answer_with(200);
    let filter = json!({ "subscription_id": incident.subscription, "from": from, "to": to });
    let dry = json!({ "filter": filter, "dry_run": true });
    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let token = events.scope.token(persona);
        let count = events.post(&token, REDRIVE, &dry).await.expect_status(200).body;
        assert_eq!(count, json!({ "matched": 0, "more": false, "deliveries": [] }));
        for id in &lost {
            for action in ["retry", "cancel"] {
                let path = format!("/events/deliveries/{id}/{action}");
                let refusal = events.post(&token, &path, &json!({})).await;
                refusal.expect_error(404, "not_found");
            }
        }
    }
    let reader = events.scope.token(Persona::Reader);
    let retry = format!("/events/deliveries/{}/retry", lost.first().unwrap());
    for (path, body) in [(REDRIVE, &dry), (&retry, &json!({}))] {
        events
            .post(&reader, path, body)
            .await
            .expect_error(403, "forbidden");
    }
    let unknown = json!({ "filter": { "subscription_id": "none", "from": from, "to": to }, "dry_run": true });
    let count = events
        .post(&events.token, REDRIVE, &unknown)
        .await
        .expect_status(200)
        .body;
    assert_eq!(count["matched"], 0);
    for id in ["none", "0197f3c2-8a41-7d0e-9b1c-000000000009"] {
        let path = format!("/events/deliveries/{id}/retry");
        events
            .post(&events.token, &path, &json!({}))
            .await
            .expect_error(404, "not_found");
    }
    assert_eq!(incident.deliveries("failed").await.len(), 2);
    assert!(site.accepted().is_empty());
}
