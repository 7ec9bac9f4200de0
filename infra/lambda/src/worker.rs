//! The function `worker`: reads the queue of tasks.

use std::sync::Arc;

use events::records::events::Events;
use events::records::subscriptions::Subscriptions;
use lambda_runtime::Error;
use models::{Connect, ModelConfig};
use platform::Clock;
use platform::api::Api;
use platform::archive_hints::ArchiveHints;
use platform::auth::service::ServiceTokens;
use platform::config::{AwsEnvironment, ConfigError};
use platform::deployment::Deployment;
use platform::http::audit::AuditLog;
use platform::outbound::Outbound;
use platform::records::audit::AuditTrail;
use platform::sealing::OpenedOnce;
use runs::Services;
use runs::process::{Evaluator, Expressions};
use runs::webhook_delivery::Webhooks;
use worker_function::handle;
use workflow::Registry;
use workflow::wiring::Wiring;

use crate::queue;

/// Maximum number of concurrent child processes that evaluate expressions of processes.
const MAX_CHILDREN: usize = 2;

/// Runs the Lambda function with these workflow types until Lambda stops it. `bedrock` connects to the
/// Bedrock provider.
pub async fn run(deployment: &Deployment, bedrock: &Connect<'_>, registry: Registry) -> Result<(), Error> {
    let wiring = Wiring {
        api: Some(Arc::new(api(deployment)?)),
        ..Wiring::from_deployment(deployment)?
    };
    let evaluator = Evaluator::sandboxed(MAX_CHILDREN)?;
    let registry = runs::process::with_expressions(registry, Expressions::sandboxed(evaluator.clone()));
    let services = services(deployment, bedrock, &wiring, evaluator)?;
    let registry = runs::with_activities(registry, &services);
    let engine = wiring.engine(registry)?;
    let inbox = deployment.inbox("MILLRACE_TASK_QUEUE")?;
    queue::receive(&*inbox, &wiring.clock, async |batch| handle(&engine, batch).await).await
}

/// Returns the client of the platform's API, which runs call with service tokens.
fn api(deployment: &Deployment) -> Result<Api, ConfigError> {
    let key = deployment.signing_key("MILLRACE_SERVICE_KEY")?;
    let tokens = ServiceTokens::new(key, Clock::System);
    Api::new(&deployment.environment().required("MILLRACE_API_URL")?, tokens)
}

fn services(
    deployment: &Deployment,
    bedrock: &Connect<'_>,
    wiring: &Wiring,
    evaluator: Evaluator,
) -> Result<Services, ConfigError> {
    let webhooks = webhooks(deployment, wiring)?;
    let records = deployment.table("MILLRACE_RECORDS_TABLE")?;
    let config = ModelConfig::from_environment(deployment.environment(), &deployment.secrets())?;
    let model = config.connect(Some(bedrock), &AwsEnvironment::read(), wiring.clock.clone())?;
    let bus = Arc::clone(&wiring.bus);
    let model = (model, config.provider());
    Ok(Services::new(webhooks, records, bus, model, evaluator))
}

fn webhooks(deployment: &Deployment, wiring: &Wiring) -> Result<Webhooks, ConfigError> {
    let audit = AuditTrail::new(deployment.table("MILLRACE_AUDIT_TABLE")?);
    let retry = deployment.queue("MILLRACE_AUDIT_RETRY_QUEUE")?;
    let archive = deployment.queue("MILLRACE_ARCHIVE_QUEUE")?;
    Ok(Webhooks {
        subscriptions: Subscriptions::new(deployment.table("MILLRACE_RECORDS_TABLE")?),
        events: Events::new(deployment.table("MILLRACE_EVENTS_TABLE")?),
        objects: wiring.objects.clone(),
        sealer: Arc::new(OpenedOnce::new(deployment.sealer("MILLRACE_SEALING_KEY")?)),
        outbound: Outbound::from_environment(deployment.environment(), &AwsEnvironment::read())?,
        audit: AuditLog::new(audit, retry).hinting(ArchiveHints::new(archive)),
        clock: wiring.clock.clone(),
    })
}
