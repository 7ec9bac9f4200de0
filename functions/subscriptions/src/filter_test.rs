//! `POST /events/subscriptions/test`: tells whether a filter matches a sample event, without a subscription
//! and without a delivery.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use events::envelope::{Category, Envelope, Meter, RawObject, raw};
use events::filter::Filter;
use events::matching::why_filter_excludes;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, Json, Reply, strict};
use platform::{Result, Tenant, UtcTime, low_priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;

/// Value of an action, a resource type or a resource id that a sample leaves out.
pub const SAMPLE: &str = "sample";

/// A filter, and a sample event.
#[derive(Deserialize, JsonSchema)]
pub struct TestFilter {
    /// Filter of a subscription, as its creation takes it.
    #[schemars(with = "Filter")]
    pub filter: strict::Json,
    /// Sample event.
    #[serde(deserialize_with = "strict::object")]
    pub event: SampleEvent,
}

/// The envelope of a sample event. What is left out has a value of its own.
#[derive(Default, Deserialize, JsonSchema)]
pub struct SampleEvent {
    /// Id of the event. Default: a new one.
    pub event_id: Option<String>,
    /// Kind of the occurrence. Default: `external`.
    #[serde(default, deserialize_with = "strict::optional_name")]
    pub event_category: Option<Category>,
    /// Name of the occurrence. Default: `sample`.
    pub action: Option<String>,
    /// Kind of the resource that the event is about. Default: `sample`.
    pub resource_type: Option<String>,
    /// Identifies the resource that the event is about. Default: `sample`.
    pub resource_id: Option<String>,
    /// Account that the event happened in. Default: that of the caller.
    pub account_id: Option<String>,
    /// Project that the event happened in. Default: that of the caller.
    pub project_id: Option<String>,
    /// Tenant of the caller who caused the event. Default: null.
    pub tenant_id: Option<String>,
    /// Time at which the event happened. Default: now.
    pub timestamp: Option<UtcTime>,
    /// Publisher of the event. Default: `external:sample`.
    pub source: Option<String>,
    /// Known properties of the resource. Default: none.
    #[serde(default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub resource_data: Map<String, Value>,
    /// Data of this kind of event. Default: none.
    #[serde(default, deserialize_with = "strict::json_object")]
    #[schemars(with = "Option<Map<String, Value>>")]
    pub details: Map<String, Value>,
    /// Measured quantities. Default: none.
    #[serde(default, deserialize_with = "strict::objects")]
    pub meters: Vec<Meter>,
}

/// Whether a filter matches an event.
#[derive(Serialize, JsonSchema)]
pub struct FilterVerdict {
    /// Whether the event meets every condition that was evaluated.
    pub matches: bool,
    /// The first condition that the event does not meet; null where it matches.
    pub reason: Option<String>,
    /// Present where the event matches and the filter has a `semantic_condition`, which still decides about a
    /// delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic_condition: Option<SemanticVerdict>,
    /// What the filter hardly means, as in the answer of a creation; left out where there is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What is known of the condition in natural language.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SemanticVerdict {
    /// No model was asked.
    NotEvaluated,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("testFilter")
        .tag("subscriptions")
        .summary("Test a filter on a sample event")
        .description(
            "Tells whether the filter matches the event, and if not, why: while a subscription is written. An invalid filter is a 400, \
             as on the creation of a subscription, and so is an event that breaks a rule of events. A condition that takes too \
             many steps on the event does not match, and `reason` says so. The `semantic_condition` is not evaluated, because that \
             costs a call of a model. Account and project of the event are compared with nothing: a subscription gets events of its \
             own project alone. No side effects, no delivery, and no audit record.",
        )
        .response::<200, axum::Json<FilterVerdict>>()
}

async fn handler(call: Call<ReadEvents>, Json(body): Json<TestFilter>) -> Result<Reply<FilterVerdict>> {
    let tenant = call.tenant()?;
    let filter = Filter::parse(body.filter.0)?;
    let envelope = sample(&call, &tenant, body.event)?;
    let has_semantic = filter.semantic_condition.is_some();
    let warnings = filter.warnings();
    // A condition may compute for as long as its limit of steps allows.
    let compared = low_priority::run(tenant.account(), async move {
        why_filter_excludes(&filter, &envelope)
    });
    let reason = compared.await??;
    let matches = reason.is_none();
    Ok(Reply::ok(FilterVerdict {
        matches,
        reason,
        semantic_condition: (matches && has_semantic).then_some(SemanticVerdict::NotEvaluated),
        warnings,
    }))
}

pub fn sample<P>(call: &Call<P>, tenant: &Tenant, event: SampleEvent) -> Result<Envelope> {
    let or = |given: Option<String>, default: &str| given.unwrap_or_else(|| default.to_owned());
    let envelope = Envelope {
        event_id: event.event_id.unwrap_or_else(|| call.new_id()),
        event_category: event.event_category.unwrap_or(Category::External),
        action: or(event.action, SAMPLE),
        resource_type: or(event.resource_type, SAMPLE),
        resource_id: or(event.resource_id, SAMPLE),
        account_id: or(event.account_id, tenant.account()),
        project_id: or(event.project_id, tenant.project()),
        tenant_id: event.tenant_id,
        timestamp: event.timestamp.unwrap_or(call.now),
        source: or(event.source, "external:sample"),
        resource_data: raw_object(&event.resource_data)?,
        details: raw_object(&event.details)?,
        meters: event.meters,
        traceparent: None,
        tracestate: None,
    };
    // With the checks of an event that comes from another service.
    Envelope::parse(&envelope.to_json()?)
}

fn raw_object(object: &Map<String, Value>) -> Result<RawObject> {
    let entries = object.iter();
    entries
        .map(|(name, value)| Ok((name.clone(), raw(value)?)))
        .collect()
}
