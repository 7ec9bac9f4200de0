//! Tests events to many subscriptions while the process is killed repeatedly, with all its queues, and the
//! receiver sometimes fails; also under faults of the stores, queues and clock. `EVENTS_CHAOS=10000` sets the
//! number of events, and kills more often.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::{Events, variable};

const SUBSCRIPTIONS: usize = 20;
/// Each subscription matches one event in this many.
const EACH: usize = 10;
/// Events that are posted between two kills.
const KILL_AFTER: usize = 40;
/// Concurrent clients.
const CLIENTS: usize = 8;
/// Time between two kills during deliveries, under faults.
const KILL_EACH: Duration = Duration::from_secs(6);
/// Kills after which deliveries proceed undisturbed.
const MAX_KILLS: usize = 20;
/// Pause before a retry.
const PAUSE: Duration = Duration::from_millis(20);

fn wanted_events(otherwise: usize) -> usize {
    variable("EVENTS_CHAOS").map_or(otherwise, |count| {
        count.parse().expect("EVENTS_CHAOS is a number")
    })
}

/// Posts an event until it is accepted. Each has an idempotency key, because the answer to an earlier post
/// may be lost.
async fn post(
    client: &reqwest::Client,
    url: &str,
    token: &str,
    number: usize,
) -> Result<String, reqwest::Error> {
    let body = json!({ "n": number, "idempotency_key": number.to_string() });
    let answer = loop {
        let answer = client.post(url).bearer_auth(token).json(&body).send().await?;
        if answer.status() != 503 {
            break answer;
        }
        tokio::time::sleep(PAUSE).await;
    };
    let answer: serde_json::Value = answer.error_for_status()?.json().await?;
    Ok(answer["event_id"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pair_is_delivered_at_least_once_whatever_dies_locally() {
    story(wanted_events(120), Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pair_is_delivered_at_least_once_under_faults_and_kills_locally() {
    story(wanted_events(40), tests::faults::heavy()).await;
}

async fn story(count: usize, faults: Vec<(String, String)>) {
    let variables: Vec<_> = faults
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let mut events = Events::start_local_with(&variables).await;
    let channel = events.plain_channel().await;
    let mut subscriptions = Vec::new();
    for number in 0..SUBSCRIPTIONS {
        let mut body = events.webhook_body("/flaky/10");
        // The default pauses grow to hours, and an attempt that a kill cuts off counts.
        body["target"]["retry"] = json!({ "schedule_seconds": [5], "max_attempts": 50 });
        body["filter"]["condition"] =
            json!({ "==": [{ "%": [{ "var": "details.payload.n" }, EACH] }, number % EACH] });
        let subscription = events.subscribe(&body).await;
        subscriptions.push(subscription["id"].as_str().unwrap().to_owned());
    }
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut ids: BTreeMap<usize, String> = BTreeMap::new();
    let (mut kills, mut next) = (0, 0);
    let began = Instant::now();
    while ids.len() < count {
        let url = events.ingest_url(channel.id());
        let (from, until) = (next, (next + KILL_AFTER.max(count / 10)).min(count));
        let place = AtomicUsize::new(from);
        let answers = std::sync::Mutex::new(Vec::new());
        let clients = (0..CLIENTS).map(|_| async {
            loop {
                let number = place.fetch_add(1, Ordering::SeqCst);
                if number >= until {
                    return;
                }
                if let Ok(id) = post(&client, &url, channel.token(), number).await {
                    answers.lock().unwrap().push((number, id));
                }
            }
        });
        futures::future::join_all(clients).await;
        ids.extend(answers.into_inner().unwrap());
        // Kill the service while it processes these events.
        let (service, channel) = (&mut events.service, &channel);
        service.restart();
        kills += 1;
        let url = events.ingest_url(channel.id());
        for number in from..until {
            let id = post(&client, &url, channel.token(), number)
                .await
                .expect("a service that is there takes it");
            let before = ids.insert(number, id.clone());
            assert!(
                before.is_none_or(|before| before == id),
                "the key {number} stands for two events"
            );
        }
        next = until;
    }
    assert_eq!(ids.values().collect::<BTreeSet<_>>().len(), count);

    let mut missing: BTreeSet<(String, String)> = BTreeSet::new();
    for (number, id) in &ids {
        for (place, subscription) in subscriptions.iter().enumerate() {
            if number % EACH == place % EACH {
                missing.insert((id.clone(), subscription.clone()));
            }
        }
    }
    let pairs = missing.clone();
    // Only a standstill is a fault: how long all of it takes depends on the machine.
    let patience = Duration::from_secs(240 + count as u64 / 10);
    let mut deadline = Instant::now() + patience;
    let (mut request_count, mut delivery_ids, mut accepted) = (0, BTreeMap::new(), BTreeMap::<_, u32>::new());
    let mut killed_at = Instant::now();
    while !missing.is_empty() {
        let received = events.receiver.received();
        for one in &received[request_count..] {
            let subscription = one.json()["delivery"]["subscription_id"]
                .as_str()
                .unwrap()
                .to_owned();
            // A creation that was repeated after a lost answer may have left a second subscription.
            if !faults.is_empty() && !subscriptions.contains(&subscription) {
                continue;
            }
            let pair = (one.header("x-service-event-id").to_owned(), subscription);
            assert!(pairs.contains(&pair), "{pair:?} does not match");
            let delivery_id = delivery_ids
                .entry(pair.clone())
                .or_insert_with(|| one.delivery_id().to_owned());
            assert_eq!(delivery_id, one.delivery_id(), "a repeat has another delivery id");
            if one.answered == 200 {
                *accepted.entry(pair.clone()).or_default() += 1;
                if missing.remove(&pair) {
                    deadline = Instant::now() + patience;
                }
            }
        }
        request_count = received.len();
        // A lost message is sent again after half a minute, or by the next process.
        if !faults.is_empty() && kills < MAX_KILLS && killed_at.elapsed() > KILL_EACH {
            events.service.restart();
            kills += 1;
            killed_at = Instant::now();
        }
        assert!(
            Instant::now() < deadline,
            "{} of {} pairs are missing",
            missing.len(),
            pairs.len()
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let repeats: u32 = accepted.values().map(|times| times - 1).sum();
    println!(
        "{count} events, {} pairs, {kills} kills, {request_count} requests, {repeats} repeats of what was accepted, {:.0} s",
        pairs.len(),
        began.elapsed().as_secs_f64()
    );
    events.scope.check().await;
    println!("faults: {:?}", events.faults());
}
