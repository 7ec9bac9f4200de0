//! The function: its parts from its environment, and the loop over its invocations.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use events::matching::SubscriptionSets;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use platform::archive_hints::ArchiveHints;
use platform::batch::consume;
use platform::config::{Environment, Retention};
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::deliveries::Deliveries;
use platform::records::events::Events;
use platform::records::listeners::Listeners;
use platform::records::processes::Processes;
use platform::records::subscriptions::Subscriptions;
use platform::telemetry::{self, Format};
use workflow::Registry;
use workflow::wiring::Wiring;

use crate::Matcher;

/// Runs the Lambda function with these workflow types, until Lambda ends it.
pub async fn run(environment: &Environment, registry: Registry) -> Result<(), Error> {
    telemetry::init(environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let wiring = Wiring::from_environment(environment, &sdk)?;
    let events = Table::connect(&sdk, &environment.required("MILLRACE_EVENTS_TABLE")?);
    let records = Table::connect(&sdk, &environment.required("MILLRACE_RECORDS_TABLE")?);
    let dead_letters = environment.required("MILLRACE_EVENT_DEAD_LETTER_QUEUE")?;
    let archive = environment.required("MILLRACE_ARCHIVE_QUEUE")?;
    let subscriptions = Subscriptions::new(records.clone());
    let retention = Retention::from_environment(environment)?;
    let matcher = Matcher {
        engine: wiring.engine(registry)?,
        events: Events::new(events.clone()).retaining(retention),
        deliveries: Deliveries::new(events).retaining(retention),
        objects: wiring.objects.clone(),
        sets: SubscriptionSets::new(subscriptions.clone()),
        subscriptions,
        processes: Processes::new(records.clone()),
        listeners: Listeners::new(records),
        archive_hints: ArchiveHints::new(Arc::new(SqsQueue::connect(&sdk, archive))),
        dead_letters: Arc::new(SqsQueue::connect(&sdk, dead_letters)),
        clock: wiring.clock.clone(),
    };
    let queue = SqsQueue::connect(&sdk, environment.required("MILLRACE_EVENT_QUEUE")?);
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| crate::handle(&matcher, batch);
        Ok::<_, Error>(consume(event, &queue, &matcher.clock, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}
