//! The function `matcher`: reads the queue of events.

use events::listening::ListenerFilters;
use events::matching::SubscriptionSets;
use events::records::deliveries::Deliveries;
use events::records::events::Events;
use events::records::listeners::Listeners;
use events::records::subscriptions::Subscriptions;
use lambda_runtime::Error;
use matcher_function::{Matcher, handle};
use platform::archive_hints::ArchiveHints;
use platform::config::Retention;
use platform::deployment::Deployment;
use process::records::processes::Processes;
use workflow::Registry;
use workflow::wiring::Wiring;

use crate::queue;

/// Runs the Lambda function with these workflow types, until Lambda ends it.
pub async fn run(deployment: &Deployment, registry: Registry) -> Result<(), Error> {
    let wiring = Wiring::from_deployment(deployment)?;
    let events = deployment.table("MILLRACE_EVENTS_TABLE")?;
    let records = deployment.table("MILLRACE_RECORDS_TABLE")?;
    let subscriptions = Subscriptions::new(records.clone());
    let retention = Retention::from_environment(deployment.environment())?;
    let matcher = Matcher {
        engine: wiring.engine(registry)?,
        events: Events::new(events.clone()).retaining(retention),
        deliveries: Deliveries::new(events).retaining(retention),
        objects: wiring.objects.clone(),
        sets: SubscriptionSets::new(subscriptions.clone()),
        subscriptions,
        processes: Processes::new(records.clone()),
        listeners: Listeners::new(records),
        listener_filters: ListenerFilters::default(),
        archive_hints: ArchiveHints::new(deployment.queue("MILLRACE_ARCHIVE_QUEUE")?),
        dead_letters: deployment.queue("MILLRACE_EVENT_DEAD_LETTER_QUEUE")?,
        clock: wiring.clock.clone(),
    };
    let inbox = deployment.inbox("MILLRACE_EVENT_QUEUE")?;
    queue::receive(&*inbox, &matcher.clock, async |batch| {
        handle(&matcher, batch).await
    })
    .await
}
