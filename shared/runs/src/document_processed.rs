//! Publishes document-processed events.
//!
//! Workflow code runs the activity [`PUBLISH`]; the code of an activity calls [`DocumentEvents::publish`]; a
//! process emits an event of the type `content.document_processed`.

use events::document_processed::Origin;
use events::publish::Publisher;
use platform::{Clock, Result, ids};
use workflow::{ActivityContext, ActivityType, Failure, Registry};

pub use events::document_processed::{DocumentProcessed, ModelUsed, ProcessedDocument, Verification};

/// Publishes a document-processed event; returns the id of the event.
pub const PUBLISH: ActivityType<ProcessedDocument, String> = ActivityType::new("document_processed_publish");

const SOURCE: &str = "workflow";

#[derive(Clone)]
pub struct DocumentEvents {
    publisher: Publisher,
    clock: Clock,
}

impl DocumentEvents {
    pub fn new(publisher: Publisher, clock: Clock) -> Self {
        Self { publisher, clock }
    }

    /// Publishes that a document was processed, once per activity and document: every attempt uses the same
    /// event id. The details name the calling run unless they name another one.
    pub async fn publish(&self, context: &ActivityContext, document: &ProcessedDocument) -> Result<String> {
        let event_id = event_id(context, &document.document_id);
        self.publish_as(context, document, &event_id, SOURCE).await?;
        Ok(event_id)
    }

    /// Publishes the event under the given event id and source.
    pub async fn publish_as(
        &self,
        context: &ActivityContext,
        document: &ProcessedDocument,
        event_id: &str,
        source: &str,
    ) -> Result<()> {
        let run = context.principal.as_ref();
        let origin = Origin {
            event_id,
            tenant: &context.tenant,
            tenant_id: run.and_then(|run| run.tenant_id.as_deref()),
            source,
            at: context.scheduled_at,
        };
        let envelope = by_run(context, document).event(&origin)?;
        self.publisher
            .publish_of_run(&context.tenant, envelope, context.origin(), self.clock.now())
            .await
    }
}

/// Returns an event id that is the same in every attempt of an activity.
fn event_id(context: &ActivityContext, document_id: &str) -> String {
    let ActivityContext {
        run_id, activity_id, ..
    } = context;
    let seed = format!("document_processed#{run_id}#{activity_id}#{document_id}");
    ids::derived_id(context.scheduled_at, &seed)
}

fn by_run(context: &ActivityContext, document: &ProcessedDocument) -> ProcessedDocument {
    let mut document = document.clone();
    let details = &mut document.details;
    // Set all three or none, because together they name one run.
    if details.workflow_id.is_none() && details.workflow_run_id.is_none() && details.workflow_type.is_none() {
        details.workflow_id = Some(context.workflow_id.clone());
        details.workflow_run_id = Some(context.run_id.clone());
        details.workflow_type = Some(context.workflow_type.clone());
    }
    document
}

pub fn with_activities(registry: Registry, documents: &DocumentEvents) -> Registry {
    let documents = documents.clone();
    registry.activity(PUBLISH, move |context, document| {
        publish(documents.clone(), context, document)
    })
}

async fn publish(
    documents: DocumentEvents,
    context: ActivityContext,
    document: ProcessedDocument,
) -> Result<String, Failure> {
    Ok(documents.publish(&context, &document).await?)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};
    use workflow::Context;
    use workflow::testing::TestRun;

    use super::*;

    #[test]
    fn every_attempt_makes_the_same_event_and_names_the_run() {
        let made = Arc::new(Mutex::new(Vec::new()));
        let making = Arc::clone(&made);
        let process = move |context: ActivityContext, (): ()| {
            let ids = ["d1", "d2"].map(|document| event_id(&context, document));
            making.lock().unwrap().push(ids);
            async move {
                let document = by_run(&context, &ProcessedDocument::default());
                match context.attempt {
                    1 => Err(Failure::new("Busy", "Later.")),
                    _ => Ok(json!({ "details": document.details, "run_id": context.run_id })),
                }
            }
        };
        let run = async |context: Context, _: Value| context.activity::<Value>("process", &()).await;
        let registry = Registry::new()
            .workflow("Documents", run)
            .activity("process", process);
        let outcome = TestRun::new(&registry, "Documents", &Value::Null).run().unwrap();
        let result = outcome.result.unwrap();
        let made = made.lock().unwrap();
        assert_eq!(made[0], made[1]);
        assert_ne!(made[0][0], made[0][1]);
        assert_eq!(result["details"]["workflow_run_id"], result["run_id"]);
        assert_eq!(result["details"]["workflow_type"], "Documents");
    }

    #[test]
    fn details_that_name_another_run_keep_it() {
        let read = async |context: ActivityContext, document: ProcessedDocument| {
            Ok::<_, Failure>(by_run(&context, &document))
        };
        let run = async |context: Context, document: ProcessedDocument| {
            context.activity::<ProcessedDocument>("read", &document).await
        };
        let registry = Registry::new().workflow("Documents", run).activity("read", read);
        let document = json!({ "document_id": "d1", "details": { "workflow_run_id": "r-2" } });
        let outcome = TestRun::new(&registry, "Documents", &document).run().unwrap();
        assert_eq!(outcome.result, Some(document));
    }
}
