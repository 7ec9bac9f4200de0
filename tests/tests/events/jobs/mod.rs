//! Tests whole jobs from the sender to the receiver, through an outage of the receiver or of the service.

mod incident;
mod order;
mod senders;
mod slack_webhook;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tests::Events;
use tests::runs::{PAUSE, WITHIN};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::senders::signing::{base64, now, sha256};

/// Longest wait for the requests of a job: a runner that makes faults is slow.
const JOB_WITHIN: Duration = Duration::from_secs(600);
/// Largest number of deliveries of one page of a search.
const PAGE: usize = 200;

/// Receiver whose answers the test changes while it runs.
#[derive(Clone)]
struct Site {
    origin: String,
    state: Arc<Mutex<Behaviour>>,
    /// Whether requests that are held get their answer.
    gate: watch::Sender<bool>,
}

struct Behaviour {
    answer: Box<dyn Fn(&Arrival) -> Answer + Send>,
    arrivals: Vec<Arrival>,
}

/// Answer of a receiver to one request.
#[derive(Clone, Debug)]
struct Answer {
    status: u16,
    body: &'static str,
    /// Whether the answer waits until the test releases it.
    is_held: bool,
}

/// Request at a receiver, and the status of its answer; 0 while there is none.
#[derive(Clone, Debug)]
struct Arrival {
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
    status: u16,
}

impl From<u16> for Answer {
    fn from(status: u16) -> Self {
        Self {
            status,
            body: "ok",
            is_held: false,
        }
    }
}

impl Arrival {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn delivery_id(&self) -> &str {
        self.header("x-service-delivery-id")
    }

    fn event_id(&self) -> &str {
        self.header("x-service-event-id")
    }

    fn is_accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Asserts that both signatures are by this secret, as docs/webhooks.md has it.
    #[track_caller]
    fn check_signatures(&self, secret: &str) {
        let (at, id, body) = (self.header("x-service-timestamp"), self.delivery_id(), &self.body);
        let tag = sha256(secret.as_bytes(), &format!("{at}.{id}.{body}"));
        let expected = format!("v1={}", hex::encode(tag));
        assert_eq!(self.header("x-service-signature"), expected, "{self:?}");
        assert!(now().abs_diff(at.parse().unwrap()) <= 900, "{self:?}");

        let (at, id) = (self.header("webhook-timestamp"), self.header("webhook-id"));
        let key = secret.strip_prefix("whsec_").unwrap();
        let key = BASE64.decode(key).unwrap();
        let tag = sha256(&key, &format!("{id}.{at}.{body}"));
        let expected = format!("v1,{}", base64(&tag));
        assert_eq!(self.header("webhook-signature"), expected, "{self:?}");
        assert_eq!(id, self.delivery_id());
    }
}

impl Site {
    /// Starts a receiver that answers with 200.
    async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let site = Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            state: Arc::new(Mutex::new(Behaviour {
                answer: Box::new(|_| Answer::from(200)),
                arrivals: Vec::new(),
            })),
            gate: watch::Sender::new(true),
        };
        let router = Router::new().fallback(receive).with_state(site.clone());
        tokio::spawn(async { axum::serve(listener, router).await });
        site
    }

    /// Answers later requests so.
    fn answer_by(&self, answer: impl Fn(&Arrival) -> Answer + Send + 'static) {
        self.state.lock().answer = Box::new(answer);
    }

    /// Answers every later request with this status.
    fn answer_with(&self, status: u16) {
        self.answer_by(move |_| Answer::from(status));
    }

    /// Returns the requests so far, oldest first.
    fn arrivals(&self) -> Vec<Arrival> {
        self.state.lock().arrivals.clone()
    }

    /// Returns the ids of the deliveries that were accepted.
    fn accepted(&self) -> BTreeSet<String> {
        let arrivals = self.arrivals().into_iter().filter(Arrival::is_accepted);
        arrivals.map(|arrival| arrival.delivery_id().to_owned()).collect()
    }

    /// Waits until the requests so far meet a condition. Returns them.
    async fn arrivals_when(&self, what: &str, is_so: impl Fn(&[Arrival]) -> bool) -> Vec<Arrival> {
        let deadline = Instant::now() + JOB_WITHIN;
        loop {
            let count = {
                let state = self.state.lock();
                if is_so(&state.arrivals) {
                    return state.arrivals.clone();
                }
                state.arrivals.len()
            };
            assert!(
                Instant::now() < deadline,
                "{what}: not so after {JOB_WITHIN:?} and {count} requests"
            );
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn receive(
    State(site): State<Site>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let pairs = headers.iter().map(|(name, value)| {
        let value = value.to_str().unwrap_or_default().to_owned();
        (name.as_str().to_owned(), value)
    });
    let arrival = Arrival {
        path: uri.path().to_owned(),
        headers: pairs.collect(),
        body: String::from_utf8_lossy(&body).into_owned(),
        status: 0,
    };
    let (answer, place) = {
        let mut state = site.state.lock();
        let answer = (state.answer)(&arrival);
        state.arrivals.push(arrival);
        (answer, state.arrivals.len() - 1)
    };
    if answer.is_held {
        let _ = site.gate.subscribe().wait_for(|is_open| *is_open).await;
    }
    site.state.lock().arrivals[place].status = answer.status;
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::IM_A_TEAPOT);
    (status, answer.body)
}

/// Returns the body of a subscription of external events to a path of a receiver, with these fields over its
/// filter and its target.
fn subscription(site: &Site, path: &str, filter: &Value, target: &Value) -> Value {
    let mut body = json!({
        "name": format!("To {path}"), "run_as_role": "executor",
        "filter": { "event_category": ["external"] },
        "target": { "type": "webhook", "url": format!("{}{path}", site.origin) },
    });
    for (part, fields) in [("filter", filter), ("target", target)] {
        let fields = fields.as_object().unwrap().clone();
        body[part].as_object_mut().unwrap().extend(fields);
    }
    body
}

fn id_of(subscription: &Value) -> &str {
    subscription["id"].as_str().unwrap()
}

/// Returns all deliveries that a search finds.
async fn all_deliveries(events: &Events, search: &Value) -> Vec<Value> {
    let mut search = search.clone();
    search["limit"] = json!(PAGE);
    let mut deliveries = Vec::new();
    loop {
        let page = events
            .post(&events.token, "/events/deliveries/search", &search)
            .await
            .expect_status(200)
            .body;
        deliveries.extend(page["deliveries"].as_array().unwrap().clone());
        match page.get("next_cursor") {
            Some(cursor) => search["cursor"] = cursor.clone(),
            None => return deliveries,
        }
    }
}

/// Waits until a search finds this number of deliveries, all with this status. Returns them.
async fn deliveries_with(events: &Events, search: &Value, count: usize, status: &str) -> Vec<Value> {
    let deadline = Instant::now() + WITHIN;
    loop {
        let deliveries = all_deliveries(events, search).await;
        let is_so = deliveries.iter().all(|delivery| delivery["status"] == status);
        if is_so && deliveries.len() == count {
            return deliveries;
        }
        let statuses: Vec<_> = deliveries.iter().map(|delivery| &delivery["status"]).collect();
        assert!(
            Instant::now() < deadline,
            "{search}: not {count} times {status}: {statuses:?}"
        );
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Redrives deliveries. Returns the path of the run.
async fn redrive(events: &Events, body: &Value) -> String {
    let answer = events
        .post(&events.token, "/events/deliveries/redrive", body)
        .await
        .expect_status(202);
    let [workflow, run] =
        ["workflow_id", "workflow_run_id"].map(|field| answer.body[field].as_str().unwrap());
    let path = format!("/workflows/runs/{workflow}/{run}");
    let location = answer.header("location");
    assert!(location.ends_with(&path), "{location} is not {path}");
    path
}

/// Waits until a run has completed. Returns its result.
async fn result_of(events: &Events, path: &str) -> Value {
    let deadline = Instant::now() + WITHIN;
    loop {
        let run = events.get(&events.token, path).await.expect_status(200).body;
        match run["status"].as_str() {
            Some("COMPLETED") => return run["result"].clone(),
            Some("RUNNING") if Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            _ => panic!("the redrive has not completed: {run}"),
        }
    }
}
