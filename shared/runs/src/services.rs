//! Wires the services that the activities of the workflow types use.

use std::sync::Arc;

use events::publish::Publisher;
use models::{Connect, Model, ModelConfig};
use platform::bus::Bus;
use platform::config::{AwsEnvironment, ConfigError, variables};
use platform::deployment::Deployment;
use platform::records::Table;

use crate::document_processed::DocumentEvents;
use crate::interactions::InteractionResolver;
use crate::model_usage::ModelUsage;
use crate::process::{Evaluator, ProcessServices};
use crate::records::process_secrets::ProcessSecrets;
use crate::redelivery::RedeliveryParts;
use crate::secrets::{SealedSecrets, Secrets};
use crate::webhook_delivery::Webhooks;

/// Services of the activities, which only the worker carries out.
#[derive(Clone)]
pub struct Services {
    pub webhooks: Webhooks,
    pub interactions: InteractionResolver,
    pub model: Arc<dyn Model>,
    /// Reports the cost of model calls.
    pub model_usage: ModelUsage,
    pub documents: DocumentEvents,
    pub processes: ProcessServices,
    pub secrets: Arc<dyn Secrets>,
    pub redelivery: RedeliveryParts,
}

impl Services {
    /// `bedrock` connects to the provider of that name, and is missing in a program that is built without
    /// AWS; `evaluator` evaluates the expressions of processes.
    pub fn from_deployment(
        deployment: &Deployment,
        bedrock: Option<&Connect<'_>>,
        evaluator: Evaluator,
    ) -> Result<Self, ConfigError> {
        let config = ModelConfig::from_deployment(deployment)?;
        let model = config.connect(bedrock, &AwsEnvironment::read(), deployment.clock())?;
        Ok(Self::new(
            (
                Webhooks::from_deployment(deployment)?,
                RedeliveryParts::from_deployment(deployment)?,
            ),
            deployment.table(variables::RECORDS_TABLE)?,
            deployment.bus(variables::EVENT_BUS)?,
            (model, config.provider()),
            evaluator,
        ))
    }

    /// `provider` is the name that `MILLRACE_MODEL_PROVIDER` has for the model's provider.
    pub fn new(
        (webhooks, redelivery): (Webhooks, RedeliveryParts),
        records: Table,
        bus: Arc<dyn Bus>,
        (model, provider): (Arc<dyn Model>, &'static str),
        evaluator: Evaluator,
    ) -> Self {
        let publisher = Publisher::new(webhooks.events.clone(), webhooks.objects.clone(), bus);
        let documents = DocumentEvents::new(publisher.clone(), webhooks.clock.clone());
        let secrets: Arc<dyn Secrets> = Arc::new(SealedSecrets {
            secrets: ProcessSecrets::new(records.clone()),
            sealer: Arc::clone(&webhooks.sealer),
        });
        let shared = Arc::clone(&secrets);
        Self {
            processes: ProcessServices::new(&records, &webhooks, publisher.clone(), shared, evaluator),
            documents,
            redelivery,
            secrets,
            interactions: InteractionResolver::new(records),
            model,
            model_usage: ModelUsage::new(publisher, provider, webhooks.clock.clone()),
            webhooks,
        }
    }
}
