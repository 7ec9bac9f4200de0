//! Defines the services that the activities of agents use.

use std::sync::Arc;

use models::Model;
use platform::outbound::Outbound;
use process::expression::Evaluator;

use super::definition::Agents;
use crate::model_usage::ModelUsage;
use crate::secrets::Secrets;

#[derive(Clone)]
pub struct Services {
    pub model: Arc<dyn Model>,
    pub agents: Arc<dyn Agents>,
    /// HTTP client for addresses that a model or an interaction names.
    pub outbound: Outbound,
    /// Secrets that hold the headers for MCP servers.
    pub secrets: Arc<dyn Secrets>,
    /// Validates results against the output schemas of interactions.
    pub evaluator: Evaluator,
    /// Reports the cost of model calls; None in tests.
    pub usage: Option<ModelUsage>,
}

impl Services {
    /// Builds them from the services of the worker.
    pub fn new(services: &crate::services::Services) -> Self {
        Self {
            model: Arc::clone(&services.model),
            agents: Arc::new(services.interactions.clone()),
            outbound: services.webhooks.outbound.clone(),
            secrets: Arc::clone(&services.secrets),
            evaluator: services.processes.evaluator.clone(),
            usage: Some(services.model_usage.clone()),
        }
    }
}
