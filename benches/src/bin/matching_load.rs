//! Measures matching alone, on one thread: the time per event against ten to a hundred thousand subscriptions
//! of a project, with the index and with every condition in turn, and the memory of the subscriptions. Prints
//! one JSON object for the benchmarks.

use std::io::Write as _;
use std::time::Instant;

use events::condition::{Condition, Subject};
use events::envelope::Envelope;
use events::matching::{EventToMatch, SubscriptionSet};
use events::records::subscriptions::SubscriptionRecord;
use events::subscription::StoredSubscription;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use tests::memory_kb;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Numbers of subscriptions of a project.
const COUNTS: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// Number of different events.
const EVENTS: usize = 400;
/// Number of rounds over all events; the first is a warm-up.
const ROUNDS: usize = 6;
/// Number of events that are matched against every condition in turn.
const IN_TURN: usize = 40;

const CATEGORIES: [&str; 3] = ["content", "workflow", "external"];
/// Number of different actions and resource types.
const ACTIONS: usize = 100;
const RESOURCE_TYPES: usize = 30;

/// Builds one of a mix of subscriptions: nine in ten name actions, seven in ten resource types, seven in ten
/// have a condition.
fn subscription(number: usize) -> Value {
    let mut draws = StdRng::seed_from_u64(number as u64);
    let mut draw = |of: usize| draws.random_range(0..of);
    let mut filter = Map::new();
    let mut say = |field: &str, value: Value| filter.insert(field.to_owned(), value);
    say("event_category", json!([CATEGORIES.get(draw(3))]));
    if draw(10) < 9 {
        let first = draw(ACTIONS);
        let actions: Vec<_> = (0..=draw(3))
            .map(|more| format!("action-{}", (first + more) % ACTIONS))
            .collect();
        say("action", json!(actions));
    }
    if draw(10) < 7 {
        say("resource_type", json!([format!("type-{}", draw(RESOURCE_TYPES))]));
    }
    let condition = match draw(10) {
        0..2 => {
            Some(json!({ "==": [{ "var": "resource_data.metadata.type" }, format!("kind-{}", draw(20))] }))
        }
        2..4 => Some(json!({ "and": [
            { ">": [{ "var": "details.payload.amount" }, draw(1_000)] },
            { "in": [{ "var": "details.payload.currency" }, ["EUR", "USD", "CHF"]] },
        ] })),
        4..6 => Some(json!({ "or": [
            { "==": [{ "var": "details.payload.customer.country" }, "PT"] },
            { "!": { "var": "details.payload.customer.name" } },
        ] })),
        6 => Some(
            json!({ "some": [{ "var": "details.payload.lines" }, { ">": [{ "var": "price" }, draw(90)] }] }),
        ),
        _ => None,
    };
    if let Some(condition) = condition {
        say("condition", condition);
    }
    json!({
        "id": format!("s-{number}"), "name": "s", "scope": "project", "enabled": true, "priority": "normal", "run_as_role": "reader",
        "filter": filter, "target": { "type": "workflow", "endpoint": "w" }, "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z", "created_by": "u", "updated_by": "u",
    })
}

fn event(number: usize) -> Value {
    let lines: Vec<_> = (0..10)
        .map(|line| json!({ "sku": format!("sku-{line}"), "price": (number * 31 + line * 17) % 100 }))
        .collect();
    json!({
        "event_id": format!("e-{number}"), "event_category": CATEGORIES.get(number % 3), "action": format!("action-{}", number * 37 % ACTIONS),
        "resource_type": format!("type-{}", number * 11 % RESOURCE_TYPES), "resource_id": format!("r-{number}"), "account_id": "acme",
        "project_id": "demo", "timestamp": "2026-01-01T00:00:00Z", "source": "external:shop",
        "resource_data": { "metadata": { "type": format!("kind-{}", number % 20) } },
        "details": { "payload": {
            "amount": number * 53 % 1_000, "currency": "EUR", "lines": lines,
            "customer": { "name": "Ada Lovelace", "country": "GB", "address": "12 St James's Square, London" },
        } },
    })
}

fn main() -> Result<(), Error> {
    let mut events = Vec::new();
    for number in 0..EVENTS {
        let text = event(number).to_string();
        events.push((Envelope::parse(&text)?, text));
    }
    let mut report = Vec::new();
    for count in COUNTS {
        let record = |number: usize| SubscriptionRecord {
            id: format!("s-{number}"),
            revision: 1,
            document: subscription(number).to_string(),
        };
        let before_kb = memory_kb(std::process::id());
        let mut set = SubscriptionSet::default();
        let mut compiled_ms = 0.0;
        for number in 0..count {
            let record = record(number);
            let began = Instant::now();
            set.put(&record);
            compiled_ms += began.elapsed().as_secs_f64() * 1e3;
        }
        let set_kb = memory_kb(std::process::id()).saturating_sub(before_kb);
        let (mut indexed, mut candidates, mut matched) = (Vec::new(), 0, 0);
        for round in 0..ROUNDS {
            for (envelope, text) in &events {
                let began = Instant::now();
                let matches = set.matches(&EventToMatch {
                    envelope,
                    text,
                    lineage: &[],
                    private_to: None,
                })?;
                let took = began.elapsed().as_secs_f64() * 1e6;
                if round > 0 {
                    indexed.push(took);
                    candidates += set.candidate_count(envelope);
                    matched += matches.len();
                }
            }
        }
        report.push(json!({
            "subscriptions": count, "compile_ms": compiled_ms, "set_kb": set_kb, "microseconds": indexed, "in_turn_microseconds": in_turn((0..count).map(record), &events)?,
            "candidates": candidates as f64 / indexed.len() as f64, "matches": matched as f64 / indexed.len() as f64,
        }));
    }
    writeln!(std::io::stdout(), "{}", json!(report))?;
    Ok(())
}

/// Evaluates every condition in turn, and then the lists of the filters.
fn in_turn(
    records: impl Iterator<Item = SubscriptionRecord>,
    events: &[(Envelope, String)],
) -> Result<Vec<f64>, Error> {
    let mut all = Vec::new();
    for record in records {
        let subscription = StoredSubscription::from_record(&record)?;
        let condition = subscription
            .filter
            .condition
            .as_ref()
            .map(Condition::compile)
            .transpose()?;
        all.push((subscription, condition));
    }
    let mut took = Vec::new();
    for (envelope, text) in events.iter().take(IN_TURN) {
        let began = Instant::now();
        let mut subject = Subject::new(text)?;
        let mut count = 0;
        for (subscription, condition) in &all {
            let holds = match condition {
                Some(condition) => condition.holds(&mut subject).unwrap_or(false),
                None => true,
            };
            count += usize::from(holds && subscription.filter.refuses(envelope).is_none());
        }
        std::hint::black_box(count);
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}
