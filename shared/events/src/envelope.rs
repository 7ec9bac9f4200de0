//! Defines the envelope of an event.

use std::collections::BTreeMap;

use platform::trace::{self, TraceContext, TraceLink};
use platform::{Error, Result, Tenant, UtcTime, ids};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::document_processed;

/// Maximum length of action, resource type, resource id and source, in bytes: each may become part of a
/// record's key.
pub const MAX_NAME_BYTES: usize = 500;
/// Maximum number of meters of an event.
const MAX_METERS: usize = 1_000;

/// Category of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Content objects: created, changed, deleted, processed.
    Content,
    /// Workflow runs: started, ended.
    Workflow,
    /// Authentication, authorization and permissions.
    Security,
    /// Billable use: inference, embeddings, images.
    Billing,
    /// Maintenance of the platform.
    System,
    /// Pushed by an external system through an ingest channel.
    External,
}

impl Category {
    pub const ALL: [Self; 6] = [
        Self::Content,
        Self::Workflow,
        Self::Security,
        Self::Billing,
        Self::System,
        Self::External,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Workflow => "workflow",
            Self::Security => "security",
            Self::Billing => "billing",
            Self::System => "system",
            Self::External => "external",
        }
    }
}

/// Measured quantity of an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meter {
    /// Group of the quantity, such as `processing`.
    pub category: String,
    /// Unit that is counted, such as `pages`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Number of units.
    pub quantity: f64,
}

impl Meter {
    /// Fails with 400 for a quantity that is not finite: JSON cannot express it.
    fn check(&self) -> Result<()> {
        check_name("meters[].category", &self.category)?;
        check_name("meters[].type", &self.kind)?;
        if !self.quantity.is_finite() || self.quantity < 0.0 {
            return Err(Error::invalid(
                "The 'quantity' of each meter of an event is a finite number that is not negative.",
            ));
        }
        Ok(())
    }
}

/// Named JSON values, each as its original text, so that external data is passed on byte for byte.
pub type RawObject = BTreeMap<String, Box<RawValue>>;

/// Serializes a value to raw JSON.
pub fn raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value).map_err(Error::internal)
}

/// Name in `details` of the whole body that an external sender sent.
pub const PAYLOAD: &str = "payload";
/// Name in `details` of the headers that a channel keeps.
pub const HEADERS: &str = "headers";
/// Name in `details` of the attributes of a CloudEvent.
pub const CLOUD_EVENT: &str = "cloudevent";

/// An event. The fields are written in this order, which the contract defines.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(
    rename = "EventEnvelope",
    description = "An event, as every receiver gets it."
)]
pub struct Envelope {
    /// Stable id, the same in every delivery of the event.
    pub event_id: String,
    /// Kind of the occurrence.
    pub event_category: Category,
    /// Name of the occurrence, such as `workflow_completed`.
    pub action: String,
    /// Kind of the resource that the event is about, such as `content_object`.
    pub resource_type: String,
    /// Identifies the resource that the event is about.
    pub resource_id: String,
    /// Account that the event happened in.
    pub account_id: String,
    /// Project that the event happened in.
    pub project_id: String,
    /// Tenant of the caller who caused the event, where the account has several; else null.
    #[serde(default)]
    pub tenant_id: Option<String>,
    /// Time at which the event happened.
    pub timestamp: UtcTime,
    /// Publisher of the event: `workflow`, `external:<source>` for an ingest channel, or the name of another
    /// service.
    pub source: String,
    /// Known properties of the resource, such as `metadata.type` of a content object.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub resource_data: RawObject,
    /// Data of this kind of event; `payload` is the whole body that an ingest channel received.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub details: RawObject,
    /// Measured quantities, for example of a processed document.
    #[serde(default)]
    pub meters: Vec<Meter>,
    /// Position in a trace of what caused the event, as the header of the same name of W3C Trace Context has
    /// it; left out where traces are off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// Entries of other tracing systems that go with `traceparent`; left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// Names of the fields of an event.
pub const FIELDS: [&str; 15] = [
    "event_id",
    "event_category",
    "action",
    "resource_type",
    "resource_id",
    "account_id",
    "project_id",
    "tenant_id",
    "timestamp",
    "source",
    "resource_data",
    "details",
    "meters",
    "traceparent",
    "tracestate",
];

/// Returns a clause about the name of a field that no event has.
pub(crate) fn no_field(name: &str) -> String {
    format!(
        "no event has a field '{name}'. There are {}; the body that an ingest channel received is in 'details.payload'.",
        FIELDS.join(", ")
    )
}

impl Envelope {
    /// Parses an envelope from another service. Fails with 400 and the fault.
    pub fn parse(text: &str) -> Result<Self> {
        // The strict parser comes first: it limits the nesting and rejects duplicate keys.
        let whole: platform::http::strict::Json = platform::http::parse(text.as_bytes())?;
        if !matches!(whole.0, Value::Object(_)) {
            return Err(Error::invalid("The envelope of an event is an object."));
        }
        let mut envelope: Self = platform::http::parse(text.as_bytes())?;
        // A position that is not valid, or that this process does not use, is as none.
        envelope.set_position(envelope.position().filter(|_| trace::is_on()));
        envelope.check()?;
        if document_processed::is_one(&envelope) {
            document_processed::complete(&mut envelope)?;
        }
        Ok(envelope)
    }

    /// Fails with 400 for an envelope that breaks a rule of events.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("event_id", &self.event_id),
            ("action", &self.action),
            ("resource_type", &self.resource_type),
            ("resource_id", &self.resource_id),
            ("source", &self.source),
        ] {
            check_name(name, value)?;
        }
        if !ids::is_id(&self.event_id) {
            return Err(Error::invalid(format!(
                "An event's 'event_id' has at most {} characters, and no '#'.",
                ids::MAX_ID_LENGTH
            )));
        }
        self.tenant()?;
        if !self.timestamp.is_in_common_era() {
            return Err(Error::invalid(
                "An event's 'timestamp' is in a year from 0001 to 9999.",
            ));
        }
        if self.meters.len() > MAX_METERS {
            return Err(Error::invalid(format!(
                "An event has at most {MAX_METERS} meters."
            )));
        }
        self.meters.iter().try_for_each(Meter::check)?;
        if document_processed::is_one(self) {
            document_processed::check(self)?;
        }
        Ok(())
    }

    /// Returns the position in a trace of what caused the event.
    pub fn position(&self) -> Option<TraceContext> {
        TraceContext::parse(self.traceparent.as_deref()?, self.tracestate.as_deref())
    }

    pub(crate) fn set_position(&mut self, position: Option<TraceContext>) {
        let link = position.map(TraceLink::from);
        self.tracestate = link.as_ref().and_then(|link| link.tracestate.clone());
        self.traceparent = link.map(|link| link.traceparent);
    }

    pub fn tenant(&self) -> Result<Tenant> {
        Tenant::new(&self.account_id, &self.project_id)
    }

    /// Serializes the envelope as sent on the bus and to receivers, without spaces.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(Error::internal)
    }

    /// Returns the id of the document that the event is about.
    pub fn document_id(&self) -> Option<&str> {
        (self.resource_type == document_processed::CONTENT_OBJECT).then_some(self.resource_id.as_str())
    }
}

/// Returns whether a text may name an action, a resource type or a resource.
pub fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// Fails with 400 for a text that is empty, too long, or contains control characters.
pub(crate) fn check_name(name: &str, value: &str) -> Result<()> {
    if !is_name(value) {
        return Err(Error::invalid(format!(
            "An event's '{name}' has 1 to {MAX_NAME_BYTES} bytes, without control characters."
        )));
    }
    Ok(())
}
