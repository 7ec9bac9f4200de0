//! Tests four senders through an outage: what Stripe, GitHub, Slack and Shopify send while the receiver is
//! away and the service dies arrives once the receiver is back, signed, each event once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::Events;
use tests::events::Channel;

use super::{Site, all_deliveries, deliveries_with, id_of, redrive, result_of, subscription};
use crate::senders::signing::{Sending, accepted, base64, channel, now, sha256};

/// Deliveries a second of the redrive, which is cut off by a kill.
const RATE: usize = 2;

/// A sender: how it signs, what it sends, and who wants which of it.
struct Sender {
    preset: &'static str,
    secret: &'static str,
    sign: fn(Sending, &str) -> Sending,
    /// What it sends, each with its own id of the delivery.
    sendings: Vec<Sending>,
    /// Paths of the receiver, each with the filter and the places of the sendings that the filter matches.
    subscriptions: Vec<(&'static str, Value, Vec<usize>)>,
}

fn stripe() -> Sender {
    let event = |id: &str, kind: &str, object: &str| {
        let body = json!({
            "id": id, "object": "event", "api_version": "2026-01-28", "created": now(), "type": kind,
            "data": { "object": { "id": format!("{object}_{id}"), "object": object, "amount_paid": 4_200 } },
        });
        Sending::new("application/json; charset=utf-8", body.to_string())
            .with("user-agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
    };
    Sender {
        preset: "stripe",
        secret: "whsec_0123456789abcdef",
        sign: |sending, secret| {
            let at = now();
            let tag = hex::encode(sha256(secret.as_bytes(), &format!("{at}.{}", sending.body)));
            sending.with("stripe-signature", format!("t={at},v1={tag}"))
        },
        sendings: vec![
            event("evt_1", "invoice.paid", "invoice"),
            event("evt_2", "customer.created", "customer"),
            event("evt_3", "invoice.paid", "invoice"),
            event("evt_4", "invoice.voided", "invoice"),
        ],
        subscriptions: vec![
            ("/stripe/paid", json!({ "action": ["invoice.paid"] }), vec![0, 2]),
            (
                "/stripe/invoices",
                json!({ "resource_type": ["invoice"] }),
                vec![0, 2, 3],
            ),
        ],
    }
}

fn github() -> Sender {
    let hook = |sending: Sending, id: &str, event: &str| {
        sending
            .with("user-agent", "GitHub-Hookshot/044aadd")
            .with("x-github-delivery", id)
            .with("x-github-event", event.to_owned())
            .with("x-github-hook-id", "292430182")
    };
    let json = |id: &str, event: &str, body: Value| hook(Sending::json(&body), id, event);
    Sender {
        preset: "github",
        secret: "It's a secret",
        sign: |sending, secret| {
            let tag = hex::encode(sha256(secret.as_bytes(), &sending.body));
            sending.with("x-hub-signature-256", format!("sha256={tag}"))
        },
        sendings: vec![
            json(
                "d-1",
                "issues",
                json!({ "action": "opened", "issue": { "id": 1, "title": "Lamp flickers — ü" } }),
            ),
            json(
                "d-2",
                "pull_request",
                json!({ "action": "opened", "pull_request": { "id": 2 } }),
            ),
            json(
                "d-3",
                "issues",
                json!({ "action": "closed", "issue": { "id": 1 } }),
            ),
            hook(
                Sending::form("payload=%7B%22repository%22%3A%7B%22id%22%3A5%7D%7D"),
                "d-4",
                "push",
            ),
        ],
        subscriptions: vec![
            (
                "/github/issues",
                json!({ "resource_type": ["issues"] }),
                vec![0, 2],
            ),
            (
                "/github/opened",
                json!({ "resource_type": ["issues", "pull_request"], "action": ["opened"] }),
                vec![0, 1],
            ),
            ("/github/push", json!({ "action": ["push"] }), vec![3]),
        ],
    }
}

fn slack() -> Sender {
    let event = |id: &str, kind: &str| {
        let event = json!({ "type": kind, "user": "U1", "channel": "C1", "text": "hi <@U2> & co" });
        Sending::json(&json!({
            "token": "x", "team_id": "T1", "type": "event_callback", "event_id": id, "event_time": now(),
            "event": event,
        }))
    };
    Sender {
        preset: "slack",
        secret: "8f742231b10e8888abcd99yyyzzz85a5",
        sign: |sending, secret| {
            let at = now();
            let tag = hex::encode(sha256(secret.as_bytes(), &format!("v0:{at}:{}", sending.body)));
            sending
                .with("x-slack-request-timestamp", at.to_string())
                .with("x-slack-signature", format!("v0={tag}"))
        },
        sendings: vec![
            event("Ev1", "app_mention"),
            event("Ev2", "message"),
            event("Ev3", "app_mention"),
            Sending::form(
                "token=x&team_id=T1&channel_id=C1&user_id=U1&command=%2Fweather&text=94070&trigger_id=13.1",
            ),
        ],
        subscriptions: vec![
            (
                "/slack/mentions",
                json!({ "action": ["app_mention"] }),
                vec![0, 2],
            ),
            (
                "/slack/commands",
                json!({ "resource_type": ["slash_command"] }),
                vec![3],
            ),
        ],
    }
}

fn shopify() -> Sender {
    let order = |id: u64, topic: &str, webhook: &str| {
        let global_id = format!("gid://shopify/Order/{id}");
        let body = json!({ "id": id, "admin_graphql_api_id": global_id, "total_price": "403.00" });
        Sending::json(&body)
            .with("x-shopify-topic", topic)
            .with("x-shopify-webhook-id", webhook)
            .with("x-shopify-event-id", format!("e-{webhook}"))
            .with("x-shopify-shop-domain", "example.myshopify.com")
            .with("x-shopify-api-version", "2026-01")
    };
    Sender {
        preset: "shopify",
        secret: "hush-hush-hush",
        sign: |sending, secret| {
            let tag = sha256(secret.as_bytes(), &sending.body);
            sending.with("x-shopify-hmac-sha256", base64(&tag))
        },
        // The ids of the orders exceed what a double holds.
        sendings: vec![
            order(820_982_911_946_154_508, "orders/create", "w-1"),
            order(820_982_911_946_154_509, "orders/create", "w-2"),
            order(820_982_911_946_154_508, "orders/cancelled", "w-3"),
            order(820_982_911_946_154_510, "orders/paid", "w-4"),
        ],
        subscriptions: vec![
            (
                "/shopify/created",
                json!({ "action": ["orders/create"] }),
                vec![0, 1],
            ),
            (
                "/shopify/cancelled",
                json!({ "action": ["orders/cancelled"] }),
                vec![2],
            ),
            (
                "/shopify/orders",
                json!({ "resource_type": ["orders/*"] }),
                vec![0, 1, 2, 3],
            ),
        ],
    }
}

/// A sender's channel, and what its sendings became.
struct Connection {
    sender: Sender,
    channel: Channel,
    /// Id of the event of each sending, by the place of the sending.
    events: BTreeMap<usize, String>,
}

impl Connection {
    /// Sends some of what the sender sends; what it sent before must become the same event.
    async fn send(&mut self, events: &Events, places: impl Iterator<Item = usize>) {
        self.channel.url = events.ingest_url(self.channel.id());
        for place in places {
            let sending = self.sender.sendings[place].clone();
            let signed = (self.sender.sign)(sending, self.sender.secret);
            let answer = signed.to(events, &self.channel).await;
            let answer = answer.expect_status(accepted(&self.channel));
            let id = answer.body["event_id"].as_str().unwrap().to_owned();
            let event_id = self.events.entry(place).or_insert_with(|| id.clone());
            assert_eq!(*event_id, id, "{}: {place} is another event", self.sender.preset);
        }
    }
}

/// Returns an id of an event, and the path at which it arrives.
type Pair = (String, String);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_four_senders_outlast_an_outage_of_the_receiver_and_kills_locally() {
    let mut events = Events::start_local().await;
    let site = Site::start().await;
    site.answer_with(503);
    let begun = jiff::Timestamp::from_second(now() - 60).unwrap().to_string();
    let target = json!({ "signing_mode": "signed", "retry": { "schedule_seconds": [1], "max_attempts": 2 } });
    let mut secrets: BTreeMap<&str, String> = BTreeMap::new();
    let mut shop = BTreeSet::new();
    let mut connections = Vec::new();
    for sender in [stripe(), github(), slack(), shopify()] {
        let channel = channel(&events, sender.preset, Some(sender.secret)).await;
        for (path, filter, _) in &sender.subscriptions {
            let mut filter = filter.clone();
            filter["condition"] =
                json!({ "==": [{ "var": "source" }, format!("external:{}", sender.preset)] });
            let created = events
                .subscribe(&subscription(&site, path, &filter, &target))
                .await;
            secrets.insert(path, created["signing_secret"].as_str().unwrap().to_owned());
            if sender.preset == "shopify" {
                shop.insert(id_of(&created).to_owned());
            }
        }
        connections.push(Connection {
            sender,
            channel,
            events: BTreeMap::new(),
        });
    }

    // A kill after some requests, another after all; each sender repeats what it has sent before the kill.
    for (first, count) in [(0, 2), (2, 4)] {
        for connection in &mut connections {
            connection.send(&events, first..count).await;
        }
        events.service.restart();
        for connection in &mut connections {
            connection.send(&events, 0..count).await;
        }
    }
    let mut expected: BTreeSet<Pair> = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for connection in &connections {
        ids.extend(connection.events.values().cloned());
        for (path, _, places) in &connection.sender.subscriptions {
            let event = |place: &usize| (connection.events[place].clone(), (*path).to_owned());
            expected.extend(places.iter().map(event));
        }
    }
    assert_eq!(ids.len(), 4 * 4, "each id of a sender is one event");

    let everything = json!({});
    let failed = deliveries_with(&events, &everything, expected.len(), "failed").await;
    for delivery in &failed {
        assert_eq!(
            delivery["last_error"],
            "The receiver answered with the status 503. It was the last attempt."
        );
    }
    site.answer_with(200);
    // Those of one sender are retried one by one.
    let of_shop = |delivery: &&Value| shop.contains(delivery["subscription_id"].as_str().unwrap());
    let retried: Vec<_> = failed.iter().filter(of_shop).collect();
    assert_eq!(retried.len(), 7);
    for delivery in &retried {
        let path = format!("/events/deliveries/{}/retry", id_of(delivery));
        let answer = events
            .post(&events.token, &path, &json!({}))
            .await
            .expect_status(200);
        assert_eq!(answer.body["id"], delivery["id"]);
    }
    let in_shop = |path: &str| path.starts_with("/shopify/");
    site.arrivals_when("the retried ones", |arrivals| {
        let of_shop = |path: &str| in_shop(path);
        let accepted = arrivals
            .iter()
            .filter(|one| one.is_accepted() && of_shop(&one.path));
        accepted
            .map(|one| one.delivery_id())
            .collect::<BTreeSet<_>>()
            .len()
            == retried.len()
    })
    .await;
    for id in &shop {
        let search = json!({ "subscription_id": id });
        let count = all_deliveries(&events, &search).await.len();
        deliveries_with(&events, &search, count, "succeeded").await;
    }

    // The others are redriven by a run, which a kill cuts off.
    let end = jiff::Timestamp::from_second(now() + 60).unwrap().to_string();
    let body =
        json!({ "filter": { "from": begun, "to": end, "error": "status 503" }, "rate_per_second": RATE });
    let run = redrive(&events, &body).await;
    site.arrivals_when("the first of the redrive", |arrivals| {
        arrivals
            .iter()
            .any(|one| one.is_accepted() && !in_shop(&one.path))
    })
    .await;
    events.service.restart();
    let result = result_of(&events, &run).await;
    let rest = expected.len() - retried.len();
    assert_eq!(
        result,
        json!({ "matched": rest, "redriven": rest, "failed": 0, "failures": [], "more": false })
    );
    let succeeded = deliveries_with(&events, &everything, expected.len(), "succeeded").await;

    let mut delivered: BTreeMap<Pair, BTreeSet<String>> = BTreeMap::new();
    let mut accepted: BTreeSet<Pair> = BTreeSet::new();
    for arrival in site.arrivals() {
        arrival.check_signatures(&secrets[arrival.path.as_str()]);
        let body = arrival.json();
        assert_eq!(body["event"]["event_id"], arrival.event_id());
        assert_eq!(body["delivery"]["id"], arrival.delivery_id());
        let pair = (arrival.event_id().to_owned(), arrival.path.clone());
        delivered
            .entry(pair.clone())
            .or_default()
            .insert(arrival.delivery_id().to_owned());
        if arrival.is_accepted() {
            accepted.insert(pair);
        }
    }
    assert_eq!(accepted, expected);
    assert!(delivered.values().all(|ids| ids.len() == 1), "{delivered:?}");
    assert_eq!(delivered.len(), expected.len());
    let all: BTreeSet<_> = delivered.into_values().flatten().collect();
    let listed: BTreeSet<_> = succeeded
        .iter()
        .map(|delivery| id_of(delivery).to_owned())
        .collect();
    assert_eq!(all, listed);
    events.scope.check().await;
}
