//! Tests hostile conditions of subscriptions.
//!
//! Each condition of `data/conditions.txt` is sent to one project. The evaluation of each accepted condition
//! on a large event must end, and an event of a neighbour must arrive meanwhile.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::StreamExt as _;
use serde_json::{Value, json};
use tests::events::Channel;
use tests::runs::{PAUSE, WITHIN};
use tests::{Answer, Events, Method, Persona};

use crate::sql::expanded;

/// Conditions; the head of the file describes the format of a line.
const CONDITIONS: &str = include_str!("data/conditions.txt");

const SUBSCRIPTIONS: &str = "/events/subscriptions";
/// Error of a condition that takes too long on an event.
const TOO_LONG: &str = "The condition takes more than 5000000 steps on this event.";
/// Error of a condition after earlier ones used all steps of an event.
const NOTHING_LEFT: &str = "The conditions of all subscriptions take more than 50000000 steps on this event.";
/// Concurrent requests.
const AT_ONCE: usize = 4;

/// Condition and its expected result.
struct Row {
    line: usize,
    status: u16,
    outcome: &'static str,
    condition: String,
}

impl Row {
    /// Returns the action of the events that the row's subscription matches.
    fn action(&self) -> String {
        format!("row-{}", self.line)
    }

    /// Formats a fault with its row.
    fn describe(&self, wrong: &str) -> String {
        let condition: String = self.condition.chars().take(150).collect();
        format!("line {}: {wrong}: {condition}", self.line)
    }
}

fn rows() -> Vec<Row> {
    let lines = CONDITIONS.lines().zip(1..);
    let lines = lines.filter(|(text, _)| !text.is_empty() && !text.starts_with('#'));
    let row = |(text, line): (&'static str, usize)| {
        let mut parts = text.splitn(3, " | ");
        Row {
            line,
            status: parts.next().unwrap().parse().unwrap(),
            outcome: parts.next().unwrap(),
            condition: expanded(parts.next().unwrap()),
        }
    };
    lines.map(row).collect()
}

/// Service with a channel, a subscription of all events, and a neighbour with the same.
struct Target {
    events: Events,
    channel: Channel,
    neighbour: Neighbour,
}

struct Neighbour {
    token: String,
    channel: Channel,
}

impl Target {
    async fn start() -> Self {
        let events = Events::start().await;
        events.webhook("/control").await;
        let channel = events.plain_channel().await;
        let token = events.scope.token(Persona::OtherProject);
        let body = json!({ "name": "Theirs", "source": "tests" });
        let created = events
            .post(&token, "/events/channels", &body)
            .await
            .expect_status(201)
            .body;
        let ours = format!("/{}/", events.scope.project);
        let theirs = format!("/{}/", events.scope.other_project());
        let url = events
            .ingest_url(created["id"].as_str().unwrap())
            .replace(&ours, &theirs);
        let body = events.webhook_body("/neighbour");
        events.post(&token, SUBSCRIPTIONS, &body).await.expect_status(201);
        let neighbour = Neighbour {
            token,
            channel: Channel { created, url },
        };
        Self {
            events,
            channel,
            neighbour,
        }
    }

    /// Creates a subscription. The condition is inserted as text, and may be invalid JSON.
    async fn subscribe(&self, action: &str, condition: &str) -> Answer {
        let mut body = self.events.webhook_body("/row");
        body["filter"]["action"] = json!([action]);
        body["filter"]["condition"] = json!("<condition>");
        let body = body.to_string().replace("\"<condition>\"", condition);
        let request = self
            .events
            .request(Method::POST, SUBSCRIPTIONS)
            .token(&self.events.token);
        request
            .header("content-type", "application/json")
            .body(body)
            .await
    }

    /// Sends an event with large values. Returns its id.
    async fn send(&self, action: &str) -> String {
        let deep = (0..40).fold(json!(1), |inner, _| json!({ "a": [inner] }));
        let wide: BTreeMap<_, _> = (0..300)
            .map(|number| (format!("field-{number}"), number))
            .collect();
        let numbers: Vec<u32> = (0..2_000).collect();
        let text = "x".repeat(60_000);
        let body = json!({ "action": action, "numbers": numbers, "text": text, "wide": wide, "deep": deep });
        self.events.event(&self.channel, &body).await
    }

    /// Sends an event of the neighbour, and asserts that it arrives, and only at the neighbour.
    async fn check_neighbour(&self) {
        let event = self
            .events
            .event(&self.neighbour.channel, &json!({ "action": "theirs" }))
            .await;
        let received = self.events.received("/neighbour", 1).await;
        assert_eq!(received[0].json()["event"]["event_id"], event.as_str());
        let all = self
            .events
            .post(&self.neighbour.token, "/events/deliveries/search", &json!({}))
            .await;
        assert_eq!(
            all.expect_status(200).body["deliveries"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }

    /// Returns the status and error of each delivery of an event, except that of the subscription of all
    /// events.
    async fn outcomes(&self, event: &str) -> Vec<(String, String)> {
        let search = json!({ "event_id": event, "limit": 200 });
        let mut deliveries = self.events.deliveries(&search).await;
        deliveries.retain(|delivery| delivery["subscription_name"] != "To /control");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let outcome = |delivery: &Value| (text(&delivery["status"]), text(&delivery["last_error"]));
        deliveries.iter().map(outcome).collect()
    }

    /// Returns the fault in the deliveries of a row's event.
    async fn check_outcome(&self, row: &Row, event: &str) -> Option<String> {
        let expected = match row.outcome {
            "matched" => vec![("succeeded".to_owned(), String::new())],
            "unmatched" => Vec::new(),
            "too long" => vec![("failed".to_owned(), TOO_LONG.to_owned())],
            other => panic!("line {} has the outcome '{other}'", row.line),
        };
        let deadline = Instant::now() + WITHIN;
        loop {
            let outcomes = self.outcomes(event).await;
            if outcomes == expected {
                return None;
            }
            let is_ended = outcomes
                .iter()
                .any(|(status, _)| status == "succeeded" || status == "failed");
            if is_ended || Instant::now() > deadline {
                return Some(row.describe(&format!("not {} but {outcomes:?}", row.outcome)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[tokio::test]
async fn every_condition_is_refused_or_ends_on_a_large_event() {
    let target = Target::start().await;
    let rows = rows();
    let (mut wrong, mut accepted) = (Vec::new(), Vec::new());
    for row in &rows {
        let answer = target.subscribe(&row.action(), &row.condition).await;
        let mut is_right = answer.status == row.status;
        if answer.status == 201 {
            accepted.push(row);
        } else {
            answer.check_error();
            is_right &= answer.body["error"] == "invalid_request" && answer.message().contains(row.outcome);
        }
        if !is_right {
            let text: String = answer.text().chars().take(200).collect();
            wrong.push(row.describe(&format!("not {} but {text}", row.status)));
        }
    }
    let subscriptions = target.events.get(&target.events.token, SUBSCRIPTIONS).await;
    assert_eq!(subscriptions.each("id").len(), accepted.len() + 1);
    accepted.retain(|row| row.status == 201);

    let send = async |row: &Row| target.send(&row.action()).await;
    let sends = futures::stream::iter(accepted.iter().map(|row| send(row)));
    let events: Vec<_> = sends.buffered(AT_ONCE).collect().await;
    target.check_neighbour().await;
    // Once the subscription of all events received them, all were matched.
    target.events.received("/control", events.len()).await;
    let pairs = accepted.iter().zip(&events);
    let checks = pairs.map(|(row, event)| target.check_outcome(row, event));
    let faults: Vec<_> = futures::stream::iter(checks).buffered(AT_ONCE).collect().await;
    wrong.extend(faults.into_iter().flatten());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_event_has_no_more_steps_for_twenty_costly_conditions_than_for_one() {
    let target = Target::start().await;
    // Each condition takes about three million steps.
    let needle = "z".repeat(12_000);
    let condition = json!({ "some": [{ "var": "details.payload.numbers" }, { "in": [{ "cat": [needle, { "var": "" }] }, "z"] }] });
    for _ in 0..20 {
        target
            .subscribe("costly", &condition.to_string())
            .await
            .expect_status(201);
    }
    let event = target.send("costly").await;
    target.check_neighbour().await;
    target.events.received("/control", 1).await;
    let deadline = Instant::now() + WITHIN;
    let failed = ("failed".to_owned(), NOTHING_LEFT.to_owned());
    loop {
        let outcomes = target.outcomes(&event).await;
        let is_over = outcomes.iter().all(|outcome| *outcome == failed);
        if is_over && (1..=10).contains(&outcomes.len()) {
            break;
        }
        assert!(Instant::now() < deadline, "{outcomes:?}");
        tokio::time::sleep(PAUSE).await;
    }
}
