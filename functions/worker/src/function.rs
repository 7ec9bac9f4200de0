//! The function: its parts from its environment, and the loop over its invocations.

use std::sync::Arc;

use aws_lambda_events::event::sqs::SqsEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use models::ModelConfig;
use platform::Clock;
use platform::api::Api;
use platform::archive_hints::ArchiveHints;
use platform::auth::service::ServiceTokens;
use platform::aws::SdkConfig;
use platform::batch::consume;
use platform::config::{AwsEnvironment, ConfigError, Environment};
use platform::http::audit::AuditLog;
use platform::outbound::Outbound;
use platform::queue::SqsQueue;
use platform::records::Table;
use platform::records::audit::AuditTrail;
use platform::records::events::Events;
use platform::records::subscriptions::Subscriptions;
use platform::sealing::{KmsSealer, OpenedOnce};
use platform::signing::KmsSigningKey;
use platform::telemetry::{self, Format};
use runs::Services;
use runs::process::{Evaluator, Expressions};
use runs::webhook_delivery::Webhooks;
use workflow::Registry;
use workflow::wiring::Wiring;

/// Most child processes that evaluate expressions of processes at a time.
const MAX_CHILDREN: usize = 2;

/// Runs the Lambda function with these workflow types, until Lambda ends it.
pub async fn run(environment: &Environment, registry: Registry) -> Result<(), Error> {
    telemetry::init(environment, Format::Json, "info")?;
    let sdk = platform::aws::sdk_config();
    let wiring = Wiring {
        api: Some(Arc::new(api(environment, &sdk)?)),
        ..Wiring::from_environment(environment, &sdk)?
    };
    let evaluator = Evaluator::sandboxed(MAX_CHILDREN)?;
    let registry = runs::process::with_expressions(registry, Expressions::sandboxed(evaluator.clone()));
    let services = services(environment, &sdk, &wiring, evaluator)?;
    let registry = runs::with_activities(registry, &services);
    let engine = wiring.engine(registry)?;
    let queue = SqsQueue::connect(&sdk, environment.required("MILLRACE_TASK_QUEUE")?);
    let handler = async |event: LambdaEvent<SqsEvent>| {
        let handle = |batch| crate::handle(&engine, batch);
        Ok::<_, Error>(consume(event, &queue, &wiring.clock, handle).await)
    };
    lambda_runtime::run(service_fn(handler)).await
}

/// The platform's API, which runs call with service tokens.
fn api(environment: &Environment, sdk: &SdkConfig) -> Result<Api, ConfigError> {
    let key = KmsSigningKey::connect(sdk, environment.required("MILLRACE_SERVICE_KEY")?);
    let tokens = ServiceTokens::new(Arc::new(key), Clock::System);
    Api::new(&environment.required("MILLRACE_API_URL")?, tokens)
}

fn services(
    environment: &Environment,
    sdk: &SdkConfig,
    wiring: &Wiring,
    evaluator: Evaluator,
) -> Result<Services, ConfigError> {
    let webhooks = webhooks(environment, sdk, wiring)?;
    let records = Table::connect(sdk, &environment.required("MILLRACE_RECORDS_TABLE")?);
    let config = ModelConfig::from_environment(environment, sdk)?;
    let model = config.connect(sdk, &AwsEnvironment::read(), wiring.clock.clone());
    let bus = Arc::clone(&wiring.bus);
    let model = (model, config.provider());
    Ok(Services::new(webhooks, records, bus, model, evaluator))
}

fn webhooks(environment: &Environment, sdk: &SdkConfig, wiring: &Wiring) -> Result<Webhooks, ConfigError> {
    let table = |name| Ok::<_, ConfigError>(Table::connect(sdk, &environment.required(name)?));
    let sealer = KmsSealer::connect(sdk, environment.required("MILLRACE_SEALING_KEY")?);
    let retry = SqsQueue::connect(sdk, environment.required("MILLRACE_AUDIT_RETRY_QUEUE")?);
    let archive = SqsQueue::connect(sdk, environment.required("MILLRACE_ARCHIVE_QUEUE")?);
    Ok(Webhooks {
        subscriptions: Subscriptions::new(table("MILLRACE_RECORDS_TABLE")?),
        events: Events::new(table("MILLRACE_EVENTS_TABLE")?),
        objects: wiring.objects.clone(),
        sealer: Arc::new(OpenedOnce::new(Arc::new(sealer))),
        outbound: Outbound::from_environment(environment, &AwsEnvironment::read())?,
        audit: AuditLog::new(AuditTrail::new(table("MILLRACE_AUDIT_TABLE")?), Arc::new(retry))
            .hinting(ArchiveHints::new(Arc::new(archive))),
        clock: wiring.clock.clone(),
    })
}
