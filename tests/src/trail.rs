//! The audit trail of a project that nobody else works in.

use serde_json::Value;

use crate::answer::Answer;
use crate::samples;
use crate::scope::{Persona, Scope};
use crate::service::Service;

/// A service, a scope of its own, and that scope's audit trail.
pub struct Trail {
    /// The service.
    pub service: Service,
    /// The account and project.
    pub scope: Scope,
    /// The token of the [`Persona::Developer`].
    pub developer: String,
}

impl Trail {
    /// None where [`Service::start_own`] skips.
    pub async fn start() -> Option<Self> {
        let service = Service::start_own().await?;
        let scope = service.scope();
        let developer = scope.token(Persona::Developer);
        Some(Self {
            service,
            scope,
            developer,
        })
    }

    /// The page that a query finds, as the developer sees it.
    pub async fn page(&self, query: &str) -> Value {
        let path = format!("/audit-trail?{query}");
        self.service
            .get(&self.developer, &path)
            .await
            .expect_status(200)
            .body
    }

    /// The records that a query finds.
    pub async fn events(&self, query: &str) -> Vec<Value> {
        let page = self.page(query).await;
        page["events"].as_array().expect("the page has events").clone()
    }

    /// Creates a prompt template, which makes one record.
    pub async fn create(&self, name: &str) -> Answer {
        let request = self
            .service
            .post(&self.developer, "/prompts", &samples::prompt(name));
        request.await.expect_status(201)
    }
}
