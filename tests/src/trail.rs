//! Reads the audit trail of a project of the test's own.

use serde_json::Value;

use crate::answer::Answer;
use crate::samples;
use crate::scope::{Persona, Scope};
use crate::service::Service;

/// Service, a scope of its own, and that scope's audit trail.
pub struct Trail {
    pub service: Service,
    pub scope: Scope,
    pub developer: String,
}

impl Trail {
    /// Starts a service.
    pub async fn start() -> Self {
        let service = Service::start().await;
        let scope = service.scope();
        let developer = scope.token(Persona::Developer);
        Self {
            service,
            scope,
            developer,
        }
    }

    /// Returns the page that a query finds, as the developer sees it.
    pub async fn page(&self, query: &str) -> Value {
        let path = format!("/audit-trail?{query}");
        self.service
            .get(&self.developer, &path)
            .await
            .expect_status(200)
            .body
    }

    /// Returns the records that a query finds.
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
