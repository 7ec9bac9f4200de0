//! Provides the matcher, the engine and the sweeper over one data directory, and a receiver.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use events::envelope::{Category, Envelope, RawObject};
use events::filter::Filter;
use events::listening::ListenerFilters;
use events::matching::SubscriptionSets;
use events::publish::Publisher;
use events::records::deliveries::{Deliveries, DeliveryIndex, DeliveryRecord};
use events::records::events::{Events, IngestKey};
use events::records::lanes::Lanes;
use events::records::listeners::Listeners;
use events::records::rates::Rates;
use events::records::subscriptions::Subscriptions;
use events::retention::Retention;
use events::subscription::{Priority, RunAsRole, Scope, StoredSubscription, Target};
use local::bus::LocalBus;
use local::data_dir::DataDir;
use local::layers::{Bare, Layers};
use local::sealer::LocalSealer;
use local::services::{AUDIT_TABLE, DATA_BUCKET, EVENTS_TABLE, RECORDS_TABLE, RUNS_TABLE, Services};
use matcher_function::Matcher;
use models::{Model, NotConfigured};
use platform::archive_hints::ArchiveHints;
use platform::batch::{Batch, Message};
use platform::bus::Bus;
use platform::config::AwsEnvironment;
use platform::http::audit::AuditLog;
use platform::outbound::Outbound;
use platform::queue::{Delivery, Queue};
use platform::records::audit::AuditTrail;
use platform::sealing::Sealer;
use platform::{Clock, Error, Result, Tenant, UtcTime, ids};
use process::records::processes::Processes;
use runs::lanes::Turns;
use runs::process::Evaluator;
use runs::redelivery::{OPERATOR, Redelivery, RedeliveryParts};
use runs::webhook_delivery::Webhooks;
use serde_json::{Value, json};
use sweeper_function::{EventRemover, Sweeper};
use tempfile::TempDir;
use workflow::engine::{Engine, Hint};
use workflow::records::Runs;
use workflow::wiring::Wiring;
use workflow::{Context, Registry};

/// Queue that only the test reads; delayed messages have a due time.
#[derive(Clone)]
pub struct TestQueue {
    messages: Arc<Mutex<Vec<(UtcTime, String)>>>,
    clock: Clock,
    is_away: Arc<AtomicBool>,
}

impl TestQueue {
    fn new(clock: &Clock) -> Self {
        Self {
            messages: Arc::default(),
            clock: clock.clone(),
            is_away: Arc::default(),
        }
    }

    /// Takes the messages that are due.
    fn take(&self) -> Vec<String> {
        let now = self.clock.now();
        let mut messages = self.messages.lock().unwrap();
        let (ready, waiting) = messages.drain(..).partition(|(at, _)| *at <= now);
        *messages = waiting;
        let ready: Vec<(UtcTime, String)> = ready;
        ready.into_iter().map(|(_, body)| body).collect()
    }

    /// Returns every message that was sent and not taken.
    pub fn all(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages.iter().map(|(_, body)| body.clone()).collect()
    }

    pub fn lose_all(&self) {
        self.messages.lock().unwrap().clear();
    }

    /// Makes the queue unavailable, or available again.
    pub fn be_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }
}

#[async_trait]
impl Queue for TestQueue {
    async fn send_as(&self, body: &str, delivery: Delivery<'_>) -> Result<()> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the queue is away"));
        }
        let at = self
            .clock
            .now()
            .plus_ms(delivery.delay.as_millis().try_into().unwrap());
        self.messages.lock().unwrap().push((at, body.to_owned()));
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Got {
    pub at: UtcTime,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Got {
    pub fn header(&self, name: &str) -> String {
        let value = self.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    }
}

/// Answer that the receiver gives from now on.
#[derive(Clone, Default)]
pub struct Manner {
    pub status: u16,
    pub retry_after: Option<&'static str>,
}

#[derive(Clone)]
struct ReceiverState {
    got: Arc<Mutex<Vec<Got>>>,
    manner: Arc<Mutex<Manner>>,
    clock: Clock,
}

async fn receive(State(state): State<ReceiverState>, headers: HeaderMap, body: String) -> Response {
    state.got.lock().unwrap().push(Got {
        at: state.clock.now(),
        headers,
        body: serde_json::from_str(&body).unwrap_or(Value::String(body)),
    });
    let manner = state.manner.lock().unwrap().clone();
    let mut response = StatusCode::from_u16(manner.status).unwrap().into_response();
    if let Some(text) = manner.retry_after {
        response
            .headers_mut()
            .insert("retry-after", text.parse().unwrap());
    }
    response
}

pub struct World {
    pub clock: Clock,
    pub tenant: Tenant,
    pub engine: Engine,
    pub matcher: Matcher,
    pub sweeper: Sweeper,
    pub publisher: Publisher,
    pub redelivery: Redelivery,
    pub events: Events,
    pub deliveries: Deliveries,
    pub inbox: TestQueue,
    pub hints: TestQueue,
    pub letters: TestQueue,
    pub services: Services,
    pub remover: EventRemover,
    sealer: Arc<dyn Sealer>,
    receiver: ReceiverState,
    origin: String,
    _data: (DataDir, TempDir),
}

fn registry() -> Registry {
    async fn quick(_: Context, _: Value) -> std::result::Result<(), workflow::Failure> {
        Ok(())
    }
    async fn waiting(context: Context, _: Value) -> std::result::Result<(), workflow::Failure> {
        context.timer(Duration::from_secs(60)).await
    }
    async fn given(_: Context, _: Value) -> std::result::Result<(), workflow::Failure> {
        Ok(())
    }
    /// Returns the ids of as many events as its input specifies.
    async fn listening(
        context: Context,
        events: usize,
    ) -> std::result::Result<Vec<Value>, workflow::Failure> {
        let signals = context.signals("Event");
        let mut ids = Vec::new();
        while ids.len() < events {
            ids.push(signals.receive::<Value>().await?["id"].clone());
        }
        Ok(ids)
    }
    /// Returns the order and the id of its first event and of two more.
    async fn collecting(
        context: Context,
        first: Value,
    ) -> std::result::Result<Vec<String>, workflow::Failure> {
        let text = |data: &Value| format!("{} {}", data["order"], data["event"]["event_id"]).replace('"', "");
        let signals = context.signals("Order");
        let mut texts = vec![text(&first)];
        while texts.len() < 3 {
            texts.push(text(&signals.receive::<Value>().await?));
        }
        Ok(texts)
    }
    /// Continues as another run before it listens.
    async fn renewed(context: Context, is_new: bool) -> std::result::Result<Value, workflow::Failure> {
        if is_new {
            return Err(context.continue_as_new(&false));
        }
        let event = context.signals("Event").receive::<Value>().await?;
        Ok(event["id"].clone())
    }
    runs::registry()
        .without_workflow("Process")
        .without_workflow("AgentConversation")
        .without_workflow("Process")
        .workflow("Process", given)
        .workflow("AgentConversation", given)
        .workflow("Quick", quick)
        .workflow("Waiting", waiting)
        .workflow("Collecting", collecting)
        .workflow("Listening", listening)
        .workflow("Renewed", renewed)
}

impl World {
    pub async fn start() -> Self {
        Self::behind(Arc::new(Bare)).await
    }

    /// Puts these layers around the records.
    pub async fn behind(layers: Arc<dyn Layers>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::open(folder.path()).unwrap();
        let services = Services::open(&data).unwrap().behind(layers);
        let clock = Clock::manual("2026-01-01T00:00:00Z".parse().unwrap());
        let local_services = services.clone();
        let (inbox, hints, letters) = (
            TestQueue::new(&clock),
            TestQueue::new(&clock),
            TestQueue::new(&clock),
        );
        let table = |name| services.table(name);
        let objects = services.bucket(DATA_BUCKET);
        let bus: Arc<dyn Bus> = Arc::new(LocalBus::new(clock.clone(), vec![Arc::new(inbox.clone())]));
        let sealer: Arc<dyn Sealer> = Arc::new(LocalSealer::open(&data).unwrap());
        let events = Events::new(table(EVENTS_TABLE));
        let deliveries = Deliveries::new(table(EVENTS_TABLE));
        let subscriptions = Subscriptions::new(table(RECORDS_TABLE));
        let webhooks = Webhooks {
            subscriptions: subscriptions.clone(),
            events: events.clone(),
            objects: objects.clone(),
            sealer: sealer.clone(),
            outbound: Outbound::local(&AwsEnvironment::default()).unwrap(),
            bus: bus.clone(),
            turns: Turns::new(table(EVENTS_TABLE), clock.clone()),
            rates: Rates::new(table(EVENTS_TABLE)),
            audit: AuditLog::new(AuditTrail::new(table(AUDIT_TABLE)), Arc::new(letters.clone())),
            clock: clock.clone(),
        };
        let wiring = Wiring {
            runs: Runs::new(table(RUNS_TABLE), table(EVENTS_TABLE)),
            objects: objects.clone(),
            queue: Arc::new(hints.clone()),
            bus: bus.clone(),
            clock: clock.clone(),
            listener: None,
            api: None,
        };
        let redelivery = RedeliveryParts::new(
            (table(EVENTS_TABLE), table(RECORDS_TABLE)),
            objects.clone(),
            clock.clone(),
            Retention::default(),
        );
        let model: Arc<dyn Model> = Arc::new(NotConfigured);
        let services = runs::Services::new(
            (webhooks, redelivery.clone()),
            table(RECORDS_TABLE),
            bus.clone(),
            (model, "none"),
            Evaluator::in_process(),
        );
        let engine = wiring
            .engine(runs::with_activities(registry(), &services))
            .unwrap();
        let receiver = ReceiverState {
            got: Arc::default(),
            manner: Arc::new(Mutex::new(Manner {
                status: 200,
                retry_after: None,
            })),
            clock: clock.clone(),
        };
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            tenant: Tenant::new("acme", "demo").unwrap(),
            matcher: Matcher {
                engine: engine.clone(),
                events: events.clone(),
                deliveries: deliveries.clone(),
                lanes: Lanes::new(table(EVENTS_TABLE)),
                objects: objects.clone(),
                subscriptions: subscriptions.clone(),
                processes: Processes::new(table(RECORDS_TABLE)),
                listeners: Listeners::new(table(RECORDS_TABLE)),
                listener_filters: ListenerFilters::default(),
                sets: SubscriptionSets::new(subscriptions.clone()),
                archive_hints: ArchiveHints::new(Arc::new(TestQueue::new(&clock))),
                bus: bus.clone(),
                dead_letters: Arc::new(letters.clone()),
                clock: clock.clone(),
            },
            remover: EventRemover::new(
                table(EVENTS_TABLE),
                objects.clone(),
                Retention::default(),
                clock.clone(),
            ),
            sweeper: Sweeper::new(engine.clone(), events.clone(), bus.clone(), clock.clone()),
            publisher: Publisher::new(events.clone(), objects.clone(), bus),
            redelivery: Redelivery {
                engine: engine.clone(),
                parts: redelivery,
                caller: OPERATOR.to_owned(),
            },
            engine,
            events,
            deliveries,
            inbox,
            hints,
            letters,
            services: local_services,
            sealer,
            receiver,
            origin,
            clock,
            _data: (data, folder),
        }
    }

    pub fn answer_with(&self, status: u16, retry_after: Option<&'static str>) {
        *self.receiver.manner.lock().unwrap() = Manner { status, retry_after };
    }

    /// Returns the receiver's address.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn got(&self) -> Vec<Got> {
        self.receiver.got.lock().unwrap().clone()
    }

    pub fn pass(&self, seconds: i64) {
        self.clock.advance_ms(seconds * 1_000);
    }

    /// Creates a subscription of these categories with a target.
    pub async fn subscribe(&self, categories: &[&str], target: Value) -> String {
        let now = self.clock.now();
        let Value::Object(target) = target else {
            panic!("{target}")
        };
        let mut subscription = StoredSubscription {
            id: ids::new_id(now),
            name: "s".to_owned(),
            description: None,
            scope: Scope::Project,
            enabled: true,
            disabled: None,
            priority: Priority::Normal,
            run_as_role: RunAsRole::Reader,
            filter: Filter::parse(json!({ "event_category": categories })).unwrap(),
            target: Target::parse(target).unwrap(),
            definition_digest: None,
            signing: None,
            is_system: false,
            protected: false,
            overrides_system_subscription_id: None,
            created_at: now,
            updated_at: now,
            created_by: "t".to_owned(),
            updated_by: "t".to_owned(),
        };
        if subscription.target.is_signed() {
            let secret = events::signature::new_signing_secret();
            let name = StoredSubscription::secret_place(&subscription.id);
            let place = platform::sealing::Place {
                tenant: &self.tenant,
                name: &name,
            };
            let sealed = self.sealer.seal(place, &secret).await.unwrap();
            subscription.signing = Some(events::subscription::SigningSecrets::new(sealed, &secret));
        }
        subscription
            .settle_process(&self.tenant, &self.matcher.processes)
            .await
            .unwrap();
        let record = subscription.record(1).unwrap();
        self.matcher
            .subscriptions
            .insert(&self.tenant, &record, None)
            .await
            .unwrap();
        record.id
    }

    /// Creates a signed webhook subscription of all external events.
    pub async fn webhook(&self) -> String {
        self.subscribe(
            &["external"],
            json!({ "type": "webhook", "url": self.origin, "signing_mode": "signed" }),
        )
        .await
    }

    /// Creates a signed webhook subscription of all external events, with more fields of its target.
    pub async fn webhook_with(&self, fields: Value) -> String {
        let mut target = json!({ "type": "webhook", "url": self.origin, "signing_mode": "signed" });
        if let (Value::Object(target), Value::Object(fields)) = (&mut target, fields) {
            target.extend(fields);
        }
        self.subscribe(&["external"], target).await
    }

    /// Replaces the secret of a subscription with one that cannot be opened.
    pub async fn lose_secret(&self, id: &str) {
        let record = self.matcher.subscriptions.get(&self.tenant, id).await.unwrap();
        let mut subscription = StoredSubscription::from_record(&record).unwrap();
        let secret = events::signature::new_signing_secret();
        let sealed = "x".repeat(64);
        subscription.signing = Some(events::subscription::SigningSecrets::new(sealed, &secret));
        let next = subscription.record(record.revision + 1).unwrap();
        let outcome = self
            .matcher
            .subscriptions
            .save(&self.tenant, &record, &next)
            .await
            .unwrap();
        assert_eq!(outcome, platform::records::Outcome::Done);
    }

    /// Publishes an external event. Returns its id.
    pub async fn event(&self, key: Option<&str>) -> String {
        self.event_with(key, RawObject::new()).await
    }

    pub async fn event_with(&self, key: Option<&str>, details: RawObject) -> String {
        let now = self.clock.now();
        let id = ids::new_id(now);
        let envelope = Envelope {
            event_id: id.clone(),
            event_category: Category::External,
            action: "received".to_owned(),
            resource_type: "thing".to_owned(),
            resource_id: id,
            account_id: "acme".to_owned(),
            project_id: "demo".to_owned(),
            tenant_id: None,
            timestamp: now,
            source: "external:t".to_owned(),
            resource_data: RawObject::new(),
            details,
            meters: Vec::new(),
            traceparent: None,
            tracestate: None,
        };
        let key = key.map(|key| IngestKey { channel_id: "c", key });
        self.publisher
            .publish(&self.tenant, envelope, key, now)
            .await
            .unwrap()
    }

    /// Matches the queued events. Returns the number of messages to deliver again.
    pub async fn match_messages(&self) -> usize {
        let messages = self.inbox.take().into_iter().enumerate();
        let messages = messages.map(|(place, body)| Message {
            id: place.to_string(),
            body,
        });
        matcher_function::handle(&self.matcher, Batch::new(messages.collect()))
            .await
            .len()
    }

    /// Takes the hints that are due.
    pub fn take_hints(&self) -> Vec<String> {
        self.hints.take()
    }

    /// Follows the hints that are due.
    pub async fn follow_hints(&self) {
        for body in self.take_hints() {
            let hint: Hint = serde_json::from_str(&body).unwrap();
            self.engine.drive(&hint.tenant, &hint.run_id).await.unwrap();
        }
    }

    /// Works until no message is due.
    pub async fn settle(&self) {
        for _ in 0..100 {
            let is_idle = |queue: &TestQueue| {
                let messages = queue.messages.lock().unwrap();
                messages.iter().all(|(at, _)| *at > self.clock.now())
            };
            if is_idle(&self.inbox) && is_idle(&self.hints) {
                return;
            }
            assert_eq!(self.match_messages().await, 0);
            self.follow_hints().await;
        }
        panic!("it never ends");
    }

    /// Returns all deliveries, newest first.
    pub async fn all(&self) -> Vec<DeliveryRecord> {
        let latest = UtcTime::EPOCH.plus_ms(u64::MAX);
        let (summaries, _) = self
            .deliveries
            .list(
                &self.tenant,
                &DeliveryIndex::All,
                UtcTime::EPOCH,
                (latest, None),
                1_000,
            )
            .await
            .unwrap();
        let mut records = Vec::new();
        for summary in summaries {
            records.push(self.deliveries.get(&self.tenant, &summary.id).await.unwrap());
        }
        records
    }

    pub async fn one(&self) -> DeliveryRecord {
        let all = self.all().await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }
}
