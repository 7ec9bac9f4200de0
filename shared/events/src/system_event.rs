//! Events of the category `system`, by which the service reports trouble in its own work.
//!
//! The failure of a delivery of such an event publishes none: otherwise a broken receiver of failures would
//! cause failures without end.

use platform::{Result, Tenant, UtcTime, ids};
use serde::Serialize;

use crate::envelope::{Category, Envelope, RawObject, raw};
use crate::records::deliveries::DeliveryRecord;
use crate::records::events::EventRecord;
use crate::subscription::StoredSubscription;

const SOURCE: &str = "millrace";

/// What the service reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemAction {
    /// The attempts of a delivery are exhausted, or it failed permanently.
    DeliveryFailed,
    SubscriptionDisabled,
    /// A channel refuses much of what it is sent.
    ChannelRefusing,
}

impl SystemAction {
    pub const ALL: [Self; 3] = [
        Self::DeliveryFailed,
        Self::SubscriptionDisabled,
        Self::ChannelRefusing,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeliveryFailed => "delivery_failed",
            Self::SubscriptionDisabled => "subscription_disabled",
            Self::ChannelRefusing => "channel_refusing",
        }
    }

    const fn resource_type(self) -> &'static str {
        match self {
            Self::DeliveryFailed => "event_delivery",
            Self::SubscriptionDisabled => "event_subscription",
            Self::ChannelRefusing => "event_channel",
        }
    }
}

/// Whether an event is one that the service publishes about its own work.
pub fn is_system_event(category: &str, action: &str) -> bool {
    category == Category::System.as_str() && SystemAction::ALL.iter().any(|known| known.as_str() == action)
}

/// An event about the service's own work, before it has an id.
#[derive(Clone, Debug)]
pub struct SystemEvent {
    action: SystemAction,
    resource_id: String,
    details: RawObject,
    private_to: Option<String>,
    lineage: Vec<String>,
}

impl SystemEvent {
    pub fn new(action: SystemAction, resource_id: &str) -> Self {
        Self {
            action,
            resource_id: resource_id.to_owned(),
            details: RawObject::new(),
            private_to: None,
            lineage: Vec::new(),
        }
    }

    /// Adds a field of `details`.
    pub fn with(mut self, name: &str, value: &impl Serialize) -> Result<Self> {
        self.details.insert(name.to_owned(), raw(value)?);
        Ok(self)
    }

    /// Names the subscriptions that led to the event, which are not delivered it.
    #[must_use]
    pub fn caused_by(self, lineage: Vec<String>) -> Self {
        Self { lineage, ..self }
    }

    /// Returns the report about a failed delivery; None where the delivery is itself of such a report.
    /// `lineage` ends with the subscription of the delivery.
    pub fn delivery_failed(delivery: &DeliveryRecord, lineage: Vec<String>) -> Result<Option<Self>> {
        if is_system_event(&delivery.event_category, &delivery.action) {
            return Ok(None);
        }
        let status = delivery.attempts.last().and_then(|last| last.response_status);
        let mut event = Self::new(SystemAction::DeliveryFailed, &delivery.id)
            .with("event_id", &delivery.event_id)?
            .with("event_category", &delivery.event_category)?
            .with("action", &delivery.action)?
            .with("resource_type", &delivery.resource_type)?
            .with("resource_id", &delivery.resource_id)?
            .with("subscription_id", &delivery.subscription_id)?
            .with("subscription_name", &delivery.subscription_name)?
            .with("target_type", &delivery.target_type)?
            .with("attempt_count", &delivery.attempt_count)?
            .with("error", &delivery.last_error)?
            .caused_by(lineage);
        if let Some(status) = status {
            event = event.with("response_status", &status)?;
        }
        event.private_to.clone_from(&delivery.private_to);
        Ok(Some(event))
    }

    /// Returns the report that the service disabled a subscription, which it was about to deliver `event` to;
    /// None where that is itself such a report.
    pub fn subscription_disabled(
        subscription: &StoredSubscription,
        event: &EventRecord,
        envelope: &Envelope,
        delivery_id: &str,
    ) -> Result<Option<Self>> {
        if is_system_event(envelope.event_category.as_str(), &envelope.action) {
            return Ok(None);
        }
        let reason = subscription.disabled.as_ref().map(|disabled| &disabled.reason);
        let mut lineage = event.lineage.clone();
        lineage.push(subscription.id.clone());
        let report = Self::new(SystemAction::SubscriptionDisabled, &subscription.id)
            .with("subscription_name", &subscription.name)?
            .with("target_type", &subscription.target.kind())?
            .with("reason", &reason)?
            .with("delivery_id", &delivery_id)?
            .with("event_id", &event.id)?;
        Ok(Some(report.caused_by(lineage)))
    }

    /// Returns the record to store.
    pub fn record(self, tenant: &Tenant, now: UtcTime) -> Result<EventRecord> {
        self.record_as(tenant, ids::new_id(now), now)
    }

    /// Returns the record to store, with this event id.
    pub fn record_as(self, tenant: &Tenant, event_id: String, now: UtcTime) -> Result<EventRecord> {
        let envelope = Envelope {
            event_id: event_id.clone(),
            event_category: Category::System,
            action: self.action.as_str().to_owned(),
            resource_type: self.action.resource_type().to_owned(),
            resource_id: self.resource_id,
            account_id: tenant.account().to_owned(),
            project_id: tenant.project().to_owned(),
            tenant_id: None,
            timestamp: now,
            source: SOURCE.to_owned(),
            resource_data: RawObject::new(),
            details: self.details,
            meters: Vec::new(),
            traceparent: None,
            tracestate: None,
        };
        Ok(EventRecord {
            id: event_id,
            envelope: envelope.to_json()?,
            details_key: None,
            received_at: now,
            private_to: self.private_to,
            lineage: self.lineage,
            addressee: None,
            matched_at: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_service_s_own_reports_are_system_events() {
        for action in SystemAction::ALL {
            assert!(is_system_event("system", action.as_str()));
            assert!(!is_system_event("external", action.as_str()));
        }
        assert!(!is_system_event("system", "maintenance_started"));
    }
}
