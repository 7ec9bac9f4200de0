//! Measures the cost of an external event that one webhook receives.

use std::sync::Arc;

use aws::Aws;
use axum::Router;
use events::channel::StoredChannel;
use events::envelope::{Category, Envelope, RawObject, raw};
use events::filter::Filter;
use events::listening::ListenerFilters;
use events::matching::SubscriptionSets;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::deliveries::Deliveries;
use events::records::events::Events;
use events::records::lanes::Lanes;
use events::records::listeners::Listeners;
use events::records::rates::Rates;
use events::records::subscriptions::Subscriptions;
use events::retention::Retention;
use events::subscription::{Priority, RunAsRole, Scope, SigningSecrets, StoredSubscription, Target};
use local::bus::LocalBus;
use local::data_dir::DataDir;
use local::sealer::LocalSealer;
use local::services::{AUDIT_TABLE, EVENTS_TABLE, RECORDS_TABLE};
use matcher_function::Matcher;
use models::{Model, NotConfigured};
use platform::archive_hints::ArchiveHints;
use platform::batch::{Batch, Message};
use platform::bus::Bus as _;
use platform::config::AwsEnvironment;
use platform::http::audit::AuditLog;
use platform::outbound::Outbound;
use platform::records::audit::AuditTrail;
use platform::sealing::{OpenedOnce, Place, Sealer};
use platform::{Tenant, ids};
use process::records::processes::Processes;
use rand::RngExt as _;
use runs::lanes::Turns;
use runs::process::Evaluator;
use runs::redelivery::RedeliveryParts;
use runs::webhook_delivery::Webhooks;
use serde_json::{Value, json};
use workflow::wiring::Wiring;

use crate::counter::{Counter, Usage};
use crate::{Error, follow};

/// Prices per million in us-east-1, in dollars, from the AWS price lists of 2025: an on-demand write unit, a
/// read unit, an event on a custom bus, an SQS request, a Lambda invocation. The cost of the functions'
/// running time is not included.
const WRITE_UNIT: f64 = 0.625;
const READ_UNIT: f64 = 0.125;
const BUS_EVENT: f64 = 1.0;
const SQS_REQUEST: f64 = 0.4;
const INVOCATION: f64 = 0.2;
/// SQS requests for a single message: send, receive, delete.
const REQUESTS_OF_MESSAGE: f64 = 3.0;
/// Function invocations per event: ingest, matcher, worker.
const INVOCATIONS: f64 = 3.0;

pub async fn costs(data: &DataDir, wiring: &Wiring, aws: &Aws, counter: &Counter) -> Result<Value, Error> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let router = Router::new().fallback(|| async { "ok" });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let tenant = Tenant::new("acme", "demo")?;
    let table = |name| aws.table(name);
    let sealer: Arc<dyn Sealer> = Arc::new(OpenedOnce::new(Arc::new(LocalSealer::open(data)?)));
    let subscriptions = Subscriptions::new(table(RECORDS_TABLE));
    subscriptions
        .insert(
            &tenant,
            &subscription(&sealer, &tenant, &origin, wiring).await?.record(1)?,
            None,
        )
        .await?;
    let channels = Channels::new(table(RECORDS_TABLE));
    let channel = channel(wiring);
    channels.insert(&tenant, &channel.record(1)?).await?;
    let events = Events::new(table(EVENTS_TABLE));
    let webhooks = Webhooks {
        subscriptions: subscriptions.clone(),
        events: events.clone(),
        objects: wiring.objects.clone(),
        sealer,
        outbound: Outbound::local(&AwsEnvironment::default())?,
        bus: Arc::clone(&wiring.bus),
        turns: Turns::new(table(EVENTS_TABLE), wiring.clock.clone()),
        rates: Rates::new(table(EVENTS_TABLE)),
        audit: AuditLog::new(AuditTrail::new(table(AUDIT_TABLE)), Arc::new(counter.clone())),
        clock: wiring.clock.clone(),
    };
    let redelivery = RedeliveryParts::new(
        (table(EVENTS_TABLE), table(RECORDS_TABLE)),
        wiring.objects.clone(),
        wiring.clock.clone(),
        Retention::default(),
    );
    let model: Arc<dyn Model> = Arc::new(NotConfigured);
    let services = runs::Services::new(
        (webhooks, redelivery),
        table(RECORDS_TABLE),
        Arc::clone(&wiring.bus),
        (model, "none"),
        Evaluator::in_process(),
    );
    let engine = wiring.engine(runs::with_activities(runs::registry(), &services))?;
    let matcher = Matcher {
        engine: engine.clone(),
        events: events.clone(),
        deliveries: Deliveries::new(table(EVENTS_TABLE)),
        lanes: Lanes::new(table(EVENTS_TABLE)),
        objects: wiring.objects.clone(),
        processes: Processes::new(table(RECORDS_TABLE)),
        listeners: Listeners::new(table(RECORDS_TABLE)),
        listener_filters: ListenerFilters::default(),
        sets: SubscriptionSets::new(subscriptions.clone()),
        subscriptions,
        archive_hints: ArchiveHints::new(Arc::new(counter.clone())),
        bus: Arc::clone(&wiring.bus),
        dead_letters: Arc::new(counter.clone()),
        clock: wiring.clock.clone(),
    };
    let publisher = Publisher::new(events, wiring.objects.clone(), Arc::new(counter.clone()));
    // The first round compiles the subscriptions and opens the secret, so the second one counts.
    for _ in 0..2 {
        *counter.usage() = Usage::default();
        channels.find(&tenant, &channel.id).await?;
        publisher
            .publish(&tenant, event(wiring)?, None, wiring.clock.now())
            .await?;
        let event = counter.usage().events.pop().ok_or("nothing is on the bus")?;
        LocalBus::new(wiring.clock.clone(), vec![Arc::new(counter.clone())])
            .publish(&event)
            .await?;
        let body = counter.usage().messages.pop().ok_or("nothing is in the queue")?;
        let message = Message {
            id: String::new(),
            body,
        };
        let failed = matcher_function::handle(&matcher, Batch::new(vec![message])).await;
        if !failed.is_empty() {
            return Err("the event was not matched".into());
        }
        // One message about the event, and the hints at the run.
        let messages = 1 + follow(&engine, counter).await?;
        counter.usage().messages = vec![String::new(); messages];
    }
    let usage = std::mem::take(&mut *counter.usage());
    let messages = usage.messages.len() as f64;
    let dollars = usage.write_units * WRITE_UNIT
        + usage.read_units * READ_UNIT
        + BUS_EVENT
        + messages * REQUESTS_OF_MESSAGE * SQS_REQUEST
        + INVOCATIONS * INVOCATION;
    let mut costs = json!({
        "write units": usage.write_units,
        "written": usage.write_units_by_place,
        "read units": usage.read_units,
        "queue messages": messages,
        "invocations of functions": INVOCATIONS,
        "dollars a million, without what functions take in time": dollars,
    });
    if let Value::Object(costs) = &mut costs {
        costs.extend(
            usage
                .calls
                .iter()
                .map(|(call, times)| (format!("{call} calls"), json!(times))),
        );
    }
    Ok(costs)
}

async fn subscription(
    sealer: &Arc<dyn Sealer>,
    tenant: &Tenant,
    origin: &str,
    wiring: &Wiring,
) -> Result<StoredSubscription, Error> {
    let now = wiring.clock.now();
    let id = ids::new_id(now);
    let secret = events::signature::new_signing_secret();
    let name = StoredSubscription::secret_place(&id);
    let place = Place { tenant, name: &name };
    let target = json!({ "type": "webhook", "url": origin, "signing_mode": "signed" });
    let Value::Object(target) = target else {
        return Err("no object".into());
    };
    Ok(StoredSubscription {
        signing: Some(SigningSecrets::new(sealer.seal(place, &secret).await?, &secret)),
        id,
        name: "Orders".to_owned(),
        description: None,
        scope: Scope::Project,
        enabled: true,
        disabled: None,
        priority: Priority::Normal,
        run_as_role: RunAsRole::Reader,
        filter: Filter::parse(json!({ "event_category": ["external"] }))?,
        target: Target::parse(target)?,
        definition_digest: None,
        is_system: false,
        protected: false,
        overrides_system_subscription_id: None,
        created_at: now,
        updated_at: now,
        created_by: "user:bench".to_owned(),
        updated_by: "user:bench".to_owned(),
    })
}

fn channel(wiring: &Wiring) -> StoredChannel {
    let now = wiring.clock.now();
    StoredChannel {
        id: ids::new_id(now),
        name: "Orders".to_owned(),
        source: "shop".to_owned(),
        token_hash: platform::secrets::secret_hash("x"),
        ..StoredChannel::new(now, "user:bench".to_owned())
    }
}

/// Returns an event with a body of about a kilobyte, such as shops send.
fn event(wiring: &Wiring) -> Result<Envelope, Error> {
    let now = wiring.clock.now();
    let id = ids::new_id(now);
    let mut random = rand::rng();
    let mut number = |digits: u32| random.random_range(10_u64.pow(digits - 1)..10_u64.pow(digits));
    let line = |id: u64, variant: u64| {
        json!({
            "id": id, "variant_id": variant, "title": "Espresso cup, blue, 80 ml", "quantity": 2, "price": "12.50",
            "sku": format!("CUP-{variant}"), "fulfillment_service": "manual", "taxable": true,
        })
    };
    let body = raw(&json!({
        "id": number(13), "order_number": number(5), "email": format!("customer.{}@example.com", number(6)),
        "created_at": now.to_string(), "currency": "EUR", "total_price": "37.40", "financial_status": "paid",
        "token": format!("{:032x}", u128::from(number(19)) * u128::from(number(18))),
        "customer": { "id": number(13), "first_name": "Ada", "last_name": "Lovelace", "phone": format!("+49{}", number(10)) },
        "shipping_address": {
            "address1": "Lindenstrasse 17", "city": "Berlin", "zip": format!("{}", number(5)), "country": "Germany",
            "latitude": 52.5200066, "longitude": 13.404954,
        },
        "line_items": [line(number(14), number(14)), line(number(14), number(14))],
    }))?;
    Ok(Envelope {
        event_id: id.clone(),
        event_category: Category::External,
        action: "order_placed".to_owned(),
        resource_type: "order".to_owned(),
        resource_id: id,
        account_id: "acme".to_owned(),
        project_id: "demo".to_owned(),
        tenant_id: None,
        timestamp: now,
        source: "external:shop".to_owned(),
        resource_data: RawObject::new(),
        details: RawObject::from([("payload".to_owned(), body)]),
        meters: Vec::new(),
        traceparent: None,
        tracestate: None,
    })
}
