//! Runs events on the local runner: the bus, the matcher behind its queue, and the parts that deliveries
//! need.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use events::listening::ListenerFilters;
use events::matching::SubscriptionSets;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::deliveries::Deliveries;
use events::records::events::Events;
use events::records::ingest_counts::IngestCounts;
use events::records::listeners::Listeners;
use events::records::subscriptions::Subscriptions;
use ingest_function::{ChannelRates, Ingest};
use matcher_function::Matcher;
use platform::Platform;
use platform::archive_hints::ArchiveHints;
use platform::bus::Bus;
use platform::config::{ConfigError, Environment, Retention};
use platform::outbound::Outbound;
use platform::queue::{Delivery, Queue};
use platform::sealing::{OpenedOnce, Sealer};
use process::records::processes::Processes;
use runs::webhook_delivery::Webhooks;
use subscriptions_function::SubscriptionServices;
use tracing::error;
use workflow::engine::Engine;

use crate::bus::LocalBus;
use crate::data_dir::DataDir;
use crate::queue::{LocalQueue, Settings};
use crate::runs::page_tokens;
use crate::sealer::LocalSealer;
use crate::services::{DATA_BUCKET, EVENTS_TABLE, Services};

/// Settings of the event queue of `template.yaml`.
const EVENTS: Settings = Settings {
    batch_size: 10,
    max_receives: 10,
    concurrency: 16,
    group_share: usize::MAX,
};

#[derive(Clone)]
pub struct LocalEvents {
    pub bus: Arc<dyn Bus>,
    /// Queue of the matcher.
    pub queue: Arc<LocalQueue>,
    pub subscriptions: SubscriptionServices,
    pub ingest: Ingest,
    pub webhooks: Webhooks,
    listeners: Listeners,
    archive_hints: ArchiveHints,
    retention: Retention,
    matcher: Arc<OnceLock<Matcher>>,
}

impl LocalEvents {
    /// Builds the parts over an open directory and its services, with the allowed outbound addresses and the
    /// workflow types that targets may name. Nothing is matched before there is an
    /// [engine](Self::deliver_with).
    pub fn new(
        data: &DataDir,
        services: &Services,
        platform: &Platform,
        environment: &Environment,
        (outbound, types): (&Outbound, Vec<String>),
    ) -> Result<Self, ConfigError> {
        let clock = platform.clock.clone();
        let matcher = Arc::new(OnceLock::<Matcher>::new());
        let behind = Arc::clone(&matcher);
        let queue = LocalQueue::start(
            "events",
            EVENTS,
            clock.clone(),
            Arc::new(move |batch| {
                let matcher = Arc::clone(&behind);
                Box::pin(async move {
                    match matcher.get() {
                        Some(matcher) => matcher_function::handle(matcher, batch).await,
                        None => Default::default(),
                    }
                })
            }),
        );
        let bus = Arc::new(LocalBus::new(clock.clone(), vec![queue.clone()]));
        let bus = services.layers().bus(bus);
        let table = services.table(EVENTS_TABLE);
        let objects = services.bucket(DATA_BUCKET);
        let sealer: Arc<dyn Sealer> = Arc::new(OpenedOnce::new(Arc::new(LocalSealer::open(data)?)));
        let retention = Retention::from_environment(environment)?;
        let events = Events::new(table.clone()).retaining(retention);
        let counts = IngestCounts::new(table.clone());
        Ok(Self {
            subscriptions: SubscriptionServices {
                events: table,
                tokens: page_tokens(data)?,
                sealer: Arc::clone(&sealer),
                outbound: outbound.clone(),
                processes: Processes::new(platform.records.clone()),
                workflow_types: types.into(),
            },
            ingest: Ingest {
                channels: Channels::new(platform.records.clone()),
                sealer: Arc::clone(&sealer),
                publisher: Publisher::new(events.clone(), objects.clone(), Arc::clone(&bus)),
                clock: clock.clone(),
                max_body_bytes: ingest_function::max_body_bytes(environment)?,
                rates: ChannelRates::from_environment(environment, counts, clock.clone())?,
            },
            webhooks: Webhooks {
                subscriptions: Subscriptions::new(platform.records.clone()),
                events,
                objects,
                sealer,
                outbound: outbound.clone(),
                audit: platform.audit.clone(),
                clock,
            },
            listeners: Listeners::new(platform.records.clone()),
            archive_hints: platform.archive_hints.clone(),
            retention,
            bus,
            queue,
            matcher,
        })
    }

    /// Starts matching events and starting their deliveries with this engine.
    pub fn deliver_with(&self, engine: &Engine) {
        let webhooks = &self.webhooks;
        self.matcher.get_or_init(|| Matcher {
            engine: engine.clone(),
            events: webhooks.events.clone(),
            deliveries: Deliveries::new(self.subscriptions.events.clone()).retaining(self.retention),
            objects: webhooks.objects.clone(),
            subscriptions: webhooks.subscriptions.clone(),
            processes: self.subscriptions.processes.clone(),
            listeners: self.listeners.clone(),
            listener_filters: ListenerFilters::default(),
            sets: SubscriptionSets::new(webhooks.subscriptions.clone()),
            archive_hints: self.archive_hints.clone(),
            dead_letters: Arc::new(SetAside),
            clock: webhooks.clock.clone(),
        });
    }
}

/// Logs unreadable events instead of queueing them, because the user of a laptop reads the log.
struct SetAside;

#[async_trait]
impl Queue for SetAside {
    async fn send_as(&self, body: &str, _: Delivery<'_>) -> platform::Result<()> {
        error!(letter = body, "event set aside as dead letter");
        Ok(())
    }
}
