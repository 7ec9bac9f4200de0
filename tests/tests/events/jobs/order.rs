//! Tests orders of many keys: they arrive in order by key, and neither a receiver that fails nor a key that
//! waits holds up what has another key or no order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::Events;
use tests::events::Channel;

use super::{Answer, Arrival, Site, deliveries_with, id_of, subscription};

const KEYS: usize = 50;
/// Orders of each key.
const EACH: usize = 20;
/// Number of orders of each key that one request posts together.
const TOGETHER: usize = 5;
/// Clients that post concurrently; each has keys of its own, so that their order is fixed.
const CLIENTS: usize = 5;
/// One order in this many fails at first.
const FAILING: usize = 7;
/// Key whose first order gets no answer until the end.
const SLOW: &str = "key-7";
const ORDERED: &str = "/ordered";
const UNORDERED: &str = "/unordered";

/// Key and number of an order.
fn order(arrival: &Arrival) -> (String, usize) {
    let payload = &arrival.json()["event"]["details"]["payload"];
    let number = payload["number"].as_u64().unwrap();
    (
        payload["key"].as_str().unwrap().to_owned(),
        usize::try_from(number).unwrap(),
    )
}

/// Body of an order, which is one event however often it is posted.
fn body_of(key: &str, number: usize) -> Value {
    json!({ "key": key, "number": number, "idempotency_key": format!("{key}/{number}") })
}

/// Posts the orders of the keys of one client: first one by one, then several in a request.
async fn post_orders(events: &Events, channel: &Channel, client: usize) -> BTreeSet<String> {
    let keys: Vec<_> = (client..KEYS)
        .step_by(CLIENTS)
        .map(|key| format!("key-{key}"))
        .collect();
    let mut ids = BTreeSet::new();
    let single = EACH / 2;
    for number in 0..single {
        for key in &keys {
            ids.insert(events.event(channel, &body_of(key, number)).await);
        }
    }
    for first in (single..EACH).step_by(TOGETHER) {
        let orders =
            (first..first + TOGETHER).flat_map(|number| keys.iter().map(move |key| body_of(key, number)));
        let answer = events
            .ingest(channel, &orders.collect())
            .await
            .expect_status(202)
            .body;
        let accepted = answer["event_ids"].as_array().unwrap();
        ids.extend(accepted.iter().map(|id| id.as_str().unwrap().to_owned()));
    }
    ids
}

/// Answers some first and second attempts with 503, and holds the first order of the slow key.
fn answer(arrival: &Arrival) -> Answer {
    let ((key, number), attempt) = (order(arrival), &arrival.json()["delivery"]["attempt"]);
    let attempt = attempt.as_u64().unwrap();
    let place: usize = key.trim_start_matches("key-").parse().unwrap();
    let failures = match place + number * KEYS {
        order if order.is_multiple_of(4 * FAILING) => 2,
        order if order.is_multiple_of(FAILING) => 1,
        _ => 0,
    };
    match arrival.path == ORDERED {
        true if attempt <= failures => Answer::from(503),
        true if key == SLOW && number == 0 => Answer {
            is_held: true,
            ..Answer::from(200)
        },
        _ => Answer::from(200),
    }
}

/// Returns the number of different orders that a path accepted.
fn accepted(arrivals: &[Arrival], path: &str) -> usize {
    let accepted = arrivals
        .iter()
        .filter(|arrival| arrival.path == path && arrival.is_accepted());
    accepted.map(Arrival::delivery_id).collect::<BTreeSet<_>>().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_of_fifty_keys_arrive_in_order_and_hold_up_no_others_locally() {
    let events = Events::start_local().await;
    let site = Site::start().await;
    site.answer_by(answer);
    site.gate.send_replace(false);
    let target = json!({
        "ordered_by": "details.payload.key", "timeout_ms": 50_000,
        "retry": { "initial_seconds": 1, "factor": 1, "max_attempts": 20 },
    });
    let ordered = events
        .subscribe(&subscription(&site, ORDERED, &json!({}), &target))
        .await;
    let unordered = subscription(&site, UNORDERED, &json!({}), &json!({}));
    let unordered = events.subscribe(&unordered).await;
    let channel = events.plain_channel().await;
    let clients = (0..CLIENTS).map(|client| post_orders(&events, &channel, client));
    let ids: BTreeSet<String> = futures::future::join_all(clients)
        .await
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(ids.len(), KEYS * EACH);

    site.arrivals_when("the unordered ones", |arrivals| {
        accepted(arrivals, UNORDERED) == KEYS * EACH
    })
    .await;
    let arrivals = site
        .arrivals_when("the other keys", |arrivals| {
            accepted(arrivals, ORDERED) == (KEYS - 1) * EACH
        })
        .await;
    let slow: BTreeSet<_> = arrivals
        .iter()
        .filter(|arrival| arrival.path == ORDERED)
        .map(order)
        .filter(|(key, _)| key == SLOW)
        .collect();
    assert_eq!(slow, BTreeSet::from([(SLOW.to_owned(), 0)]));
    site.gate.send_replace(true);
    let arrivals = site
        .arrivals_when("the slow key", |arrivals| {
            accepted(arrivals, ORDERED) == KEYS * EACH
        })
        .await;

    let mut accepted: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = 0;
    for arrival in arrivals.iter().filter(|arrival| arrival.path == ORDERED) {
        let (key, number) = order(arrival);
        let next = accepted.entry(key.clone()).or_default();
        // Delivery is at least once: the last accepted one may come again before the next.
        let is_in_turn = number == *next || number + 1 == *next;
        assert!(is_in_turn, "{key}: order {number} arrives in place of {next}");
        match arrival.is_accepted() {
            true => *next = number + 1,
            false => failures += 1,
        }
    }
    assert!(failures > KEYS, "{failures} requests failed");
    for subscription in [&ordered, &unordered] {
        let search = json!({ "subscription_id": id_of(subscription) });
        let deliveries = deliveries_with(&events, &search, KEYS * EACH, "succeeded").await;
        let delivered: BTreeSet<String> = deliveries
            .iter()
            .map(|delivery| delivery["event_id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(delivered, ids);
        let retried = deliveries
            .iter()
            .filter(|delivery| delivery["attempt_count"] != 1)
            .count();
        let expected = if id_of(subscription) == id_of(&ordered) {
            (KEYS * EACH).div_ceil(FAILING)
        } else {
            0
        };
        assert_eq!(retried, expected, "{subscription}");
    }
    events.scope.check().await;
}
