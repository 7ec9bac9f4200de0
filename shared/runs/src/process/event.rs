//! Events of a process on the platform's bus.

use events::envelope::{Category, Envelope, RawObject, raw};
use events::listening::{CLOUD_EVENT, PROCESS_SOURCE};
use process::Data;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use workflow::{ActivityContext, ActivityType, Failure};

use super::outside::is_object;
use super::services::ProcessServices;

/// Publishes an event.
pub(super) const EMIT: ActivityType<Emitted, ()> = ActivityType::new("process_emit");

/// An event of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Emitted {
    /// Its id on the bus, the same in each attempt.
    pub id: String,
    /// Its `type`.
    pub kind: String,
    /// Namespace and name of the process.
    pub process: String,
    /// The event with the attributes of CloudEvents.
    pub event: Box<RawValue>,
}

/// The event of a signal: its field `event`, its `message` where that is an object, or the whole body.
pub(super) fn event_of(body: &Data) -> Option<Data> {
    let named = ["event", "message"]
        .into_iter()
        .find_map(|name| body.field(name).filter(is_object));
    named.or_else(|| Some(body.clone()).filter(is_object))
}

/// The activity [`EMIT`].
pub(super) async fn emit(
    services: ProcessServices,
    context: ActivityContext,
    emitted: Emitted,
) -> Result<(), Failure> {
    let envelope = envelope(&context, &emitted)?;
    let now = services.clock.now();
    let published = services
        .publisher
        .publish_of_run(&context.tenant, envelope, context.lineage, now);
    Ok(published.await?)
}

fn envelope(context: &ActivityContext, emitted: &Emitted) -> platform::Result<Envelope> {
    let event = Data::from_raw(emitted.event.clone()).map_err(platform::Error::internal)?;
    let mut details = RawObject::new();
    // Where senders from outside have theirs too, so that one condition fits both.
    let payload = event.field("data").unwrap_or_else(Data::null);
    details.insert(events::envelope::PAYLOAD.to_owned(), payload.as_raw().to_owned());
    details.insert(CLOUD_EVENT.to_owned(), emitted.event.clone());
    details.insert("workflow_id".to_owned(), raw(&context.workflow_id)?);
    details.insert("workflow_run_id".to_owned(), raw(&context.run_id)?);
    Ok(Envelope {
        event_id: emitted.id.clone(),
        event_category: Category::Workflow,
        action: emitted.kind.clone(),
        resource_type: "workflow_run".to_owned(),
        resource_id: context.run_id.clone(),
        account_id: context.tenant.account().to_owned(),
        project_id: context.tenant.project().to_owned(),
        tenant_id: None,
        timestamp: context.scheduled_at,
        source: format!("{PROCESS_SOURCE}{}", emitted.process),
        resource_data: RawObject::new(),
        details,
        meters: Vec::new(),
    })
}
