//! Defines event subscriptions: which events are delivered, and to which target.

use crate::records::subscriptions::SubscriptionRecord;
pub use platform::auth::RunAsRole;
use platform::config::Secret;
pub use platform::queue::Priority;
use platform::{Error, Result, Tenant, UtcTime};
use process::records::processes::Processes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::filter::Filter;
use crate::signature::hint;
pub use crate::target::{
    AgentTarget, PayloadMode, ProcessTarget, RunType, SigningMode, Target, WebhookTarget, WorkflowTarget,
    of_type_webhook,
};

/// Maximum size of a subscription, in bytes of JSON: a record holds 400 KB.
const MAX_DOCUMENT_BYTES: usize = 300_000;
/// Time for which a replaced secret still signs beside the new one, in milliseconds: a day.
pub const SECRET_OVERLAP_MS: u64 = 24 * 3_600 * 1_000;

/// Range of the events that a subscription matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Events of the subscription's project.
    #[default]
    Project,
}

/// Secrets that sign deliveries, each sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SigningSecrets {
    pub current: String,
    /// Last characters of the current secret.
    pub hint: String,
    /// Previous secret, and the time at which it stops signing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<(String, UtcTime)>,
}

impl SigningSecrets {
    pub fn new(sealed: String, secret: &Secret) -> Self {
        Self {
            current: sealed,
            hint: hint(secret),
            previous: None,
        }
    }

    /// Replaces the current secret; the old one keeps signing until `until` where that is given.
    #[must_use]
    pub fn replaced(self, sealed: String, secret: &Secret, until: Option<UtcTime>) -> Self {
        Self {
            previous: until.map(|until| (self.current, until)),
            ..Self::new(sealed, secret)
        }
    }

    /// Returns the sealed secrets that sign at a time, the current one first.
    pub fn at(&self, now: UtcTime) -> Vec<&str> {
        let previous = self.previous.iter().filter(|(_, until)| now < *until);
        std::iter::once(self.current.as_str())
            .chain(previous.map(|(sealed, _)| sealed.as_str()))
            .collect()
    }
}

/// Why and when the service disabled a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disabled {
    /// One sentence for people.
    pub reason: String,
    pub at: UtcTime,
}

/// A subscription, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSubscription {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub scope: Scope,
    pub enabled: bool,
    /// Why and when the service disabled it; None where it is enabled, or a caller disabled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<Disabled>,
    /// Label for people; it does not affect when deliveries are made.
    pub priority: Priority,
    /// Role of the service identity that a delivery runs with.
    pub run_as_role: RunAsRole,
    pub filter: Filter,
    /// Receiver of the events.
    pub target: Target,
    /// Digest of the text of the target's inline definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_digest: Option<String>,
    /// None where deliveries are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningSecrets>,
    /// Whether the subscription is part of the platform.
    #[serde(default)]
    pub is_system: bool,
    /// Whether the project's members must not change it.
    #[serde(default)]
    pub protected: bool,
    /// Id of the system subscription that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides_system_subscription_id: Option<String>,
    pub created_at: UtcTime,
    pub updated_at: UtcTime,
    pub created_by: String,
    pub updated_by: String,
}

impl StoredSubscription {
    pub fn from_record(record: &SubscriptionRecord) -> Result<Self> {
        serde_json::from_str(&record.document).map_err(Error::internal)
    }

    /// Returns the record with this revision. Fails with 400 where it is too large.
    pub fn record(&self, revision: u64) -> Result<SubscriptionRecord> {
        let document = serde_json::to_string(self).map_err(Error::internal)?;
        if document.len() > MAX_DOCUMENT_BYTES {
            return Err(Error::invalid(format!(
                "The subscription has more than the {MAX_DOCUMENT_BYTES} bytes that one may have."
            )));
        }
        Ok(SubscriptionRecord {
            id: self.id.clone(),
            revision,
            document,
        })
    }

    /// Checks the process of a target, and stores the text of an inline definition. Fails with 400 for a
    /// definition with faults, and for a process that does not exist.
    pub async fn settle_process(&mut self, tenant: &Tenant, processes: &Processes) -> Result<()> {
        self.definition_digest = match &self.target {
            Target::Process(process) => process.settle(tenant, processes).await?,
            _ => None,
        };
        Ok(())
    }

    /// Disables the subscription because the receiver answered a delivery with 410.
    pub fn disable_as_gone(&mut self, delivery_id: &str, by: String, now: UtcTime) {
        self.enabled = false;
        self.disabled = Some(Disabled {
            reason: format!("The receiver answered the delivery '{delivery_id}' with the status 410."),
            at: now,
        });
        self.updated_at = now;
        self.updated_by = by;
    }

    /// Returns the reason for a delivery that is not made because the subscription is disabled.
    pub fn why_disabled(&self) -> String {
        match &self.disabled {
            None => "The subscription is disabled.".to_owned(),
            Some(Disabled { reason, at }) => format!("The subscription is disabled since {at}. {reason}"),
        }
    }

    /// Returns the name under which the signing secrets are sealed.
    pub fn secret_place(id: &str) -> String {
        format!("subscription/{id}/signing_secret")
    }

    /// Fails with 400 for a filter and a target that exclude each other. Each event has its own evaluation
    /// run, so that run cannot have a workflow id that several events share.
    pub fn check_combination(&self) -> Result<()> {
        if self.filter.semantic_condition.is_none() {
            return Ok(());
        }
        if self.target.workflow_id_path().is_some() {
            return Err(Error::invalid(
                "The fields 'filter.semantic_condition' and 'target.workflow_id' exclude each other; leave one of them out.",
            ));
        }
        if matches!(&self.target, Target::Webhook(webhook) if webhook.ordered_by.is_some()) {
            return Err(Error::invalid(
                "The fields 'filter.semantic_condition' and 'target.ordered_by' exclude each other, because a verdict may come \
                 late; leave one of them out.",
            ));
        }
        Ok(())
    }

    /// Fails with 403 for a protected subscription.
    pub fn check_unprotected(&self) -> Result<()> {
        if self.protected {
            return Err(Error::forbidden(format!(
                "The subscription '{}' is protected and can be neither changed nor deleted; a subscription with \
                 'overrides_system_subscription_id' takes the place of a system subscription.",
                self.id
            )));
        }
        Ok(())
    }
}
