//! `POST /events/subscriptions/{subscription_id}/send`: sends a test event to one subscription.
//!
//! The event takes the way of every event, so that a test shows what an event would meet: it is stored,
//! delivered, signed and retried. Only the choice of the subscription is not the matcher's.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use events::delivery::delivery_id;
use events::envelope::{Category, Envelope, raw};
use events::filter::Filter;
use events::matching::why_filter_excludes;
use events::payload;
use events::subscription::StoredSubscription;
use platform::auth::Viewer;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{answer_header, problem};
use platform::http::{Call, OptionalJson, Path, Reply, audited, strict};
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result, Tenant, low_priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::App;
use crate::filter_test::{SAMPLE, SampleEvent, sample};
use crate::subscription_model::SubscriptionPath;

/// Field of `details` that marks a test event.
const TEST: &str = "test";
/// Most steps of a condition's path that a sample follows.
const MAX_STEPS: usize = 32;
/// End of an entry of a filter for all names that begin with what stands before it.
const ALL: &str = "*";

/// The event to send: a part of an envelope, the id of an earlier event, or neither.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SendTestEvent {
    /// Envelope. What is left out has a value that fits the lists of the filter; `event_id` cannot be
    /// chosen, and account and project are those of the caller.
    #[serde(deserialize_with = "strict::optional_object")]
    pub event: Option<SampleEvent>,
    /// Id of an event that is still kept: a copy of it is sent, with an id and a time of its own.
    pub event_id: Option<String>,
}

/// A test event that is under way.
#[derive(Serialize, JsonSchema)]
pub struct TestEvent {
    /// Id for `GET /events/{event_id}`.
    pub event_id: String,
    /// Id of its delivery, which shows within a moment.
    pub delivery_id: String,
    /// Whether the filter would match the event, apart from its semantic condition. It is delivered anyway.
    pub matches: bool,
    /// The first condition that the event does not meet; left out where it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Publish, "event").on(post_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("sendTestEvent")
        .tag("subscriptions")
        .summary("Send a test event")
        .description(
            "Sends an event to this subscription alone, on the way of every event: it is stored, delivered to the target, signed, retried, \
             and counted like any other, with `details.test: true`. It is delivered whether the filter matches it or not; the answer says \
             which. A semantic condition is evaluated. Its `meters` are left out, so that no sum counts them. Without a body the event is a sample that fits the lists of the filter and the simple \
             comparisons of its condition, and has what the templates and the `workflow_id` of the target name. The caller needs the permissions of the subscription's `run_as_role`, because the event decides \
             what its run does.\n\n\
             Side effects: the event and its delivery, and an audit record of the action `publish` with the event's id.",
        )
        .response_with::<202, axum::Json<TestEvent>, _>(|response| response.description("The event is accepted."))
        .with(|operation| answer_header(operation, "location", "Path of the delivery."))
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission, or one of those of the subscription's `run_as_role`.",
            "The role 'automation' is for callers who have its permissions themselves; this needs also content:write.",
        ))
        .with(problem(
            ErrorKind::NotFound,
            "The subscription, or the event of `event_id`, does not exist.",
            "The event '0197f3c2-8a41-7d0e-9b1c-000000000012' does not exist.",
        ))
        .with(problem(
            ErrorKind::Conflict,
            "The subscription is disabled, or the event of `event_id` is of a private run.",
            "The subscription is disabled. Enable it first, then send the event.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
    OptionalJson(body): OptionalJson<SendTestEvent>,
) -> Result<Reply<TestEvent>> {
    let tenant = call.tenant()?;
    let record = app.subscriptions.get(&tenant, &path.subscription_id).await?;
    let subscription = StoredSubscription::from_record(&record)?;
    call.principal.require_role(subscription.run_as_role)?;
    if !subscription.enabled {
        return Err(Error::conflict(format!(
            "{} Enable it first, then send the event.",
            subscription.why_disabled()
        )));
    }
    let envelope = envelope(&app, &call, &tenant, &subscription, body).await?;
    let (filter, compared) = (subscription.filter.clone(), envelope.clone());
    let why_not = low_priority::run(tenant.account(), async move {
        why_filter_excludes(&filter, &compared)
    });
    let why_not = why_not.await??;
    let event = app
        .publisher
        .publish_to(&tenant, envelope, &subscription.id, call.now)
        .await?;
    let delivery_id = delivery_id(&event, &subscription.id);
    let path = format!("/events/deliveries/{delivery_id}");
    let answer = TestEvent {
        event_id: event.id.clone(),
        delivery_id,
        matches: why_not.is_none(),
        why_not,
    };
    Ok(Reply::accepted(&path, answer).about(&event.id))
}

async fn envelope(
    app: &App,
    call: &Call<WriteEvents>,
    tenant: &Tenant,
    subscription: &StoredSubscription,
    body: SendTestEvent,
) -> Result<Envelope> {
    let earlier = body.event_id.filter(|id| !id.is_empty());
    let mut envelope = match (body.event, earlier) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid(
                "The fields 'event' and 'event_id' exclude each other; leave one of them out.",
            ));
        }
        (None, Some(id)) => {
            let viewer = Viewer::from_principal(&call.principal);
            let event = app.event((tenant, &viewer), &id).await?;
            if event.private_to.is_some() {
                return Err(Error::conflict(format!(
                    "The event '{id}' is of a private run, and no subscription gets such an event."
                )));
            }
            let mut copy = payload::whole(&app.redelivery.parts.objects, &event).await?;
            copy.event_id = call.new_id();
            copy.timestamp = call.now;
            copy
        }
        (event, None) => {
            let event = event.unwrap_or_default();
            check_own(tenant, &event)?;
            let mut event = fitting(event, &subscription.filter);
            for path in subscription.target.event_paths() {
                set(&mut event, &path, &Value::from(SAMPLE));
            }
            sample(call, tenant, event)?
        }
    };
    envelope.details.insert(TEST.to_owned(), raw(&true)?);
    // Aggregation sums meters; a test uses nothing.
    envelope.meters.clear();
    Ok(envelope)
}

/// Fails with 400 for an id, an account or a project that a test event cannot have.
fn check_own(tenant: &Tenant, event: &SampleEvent) -> Result<()> {
    if event.event_id.is_some() {
        return Err(Error::invalid_field(
            "event.event_id",
            "cannot be chosen; leave it out, or send 'event_id' for a copy of an event.",
        ));
    }
    for (name, given, own) in [
        ("account_id", &event.account_id, tenant.account()),
        ("project_id", &event.project_id, tenant.project()),
    ] {
        if given.as_deref().is_some_and(|given| given != own) {
            let fault = format!("must be '{own}': a test event is of the subscription's own project.");
            return Err(Error::invalid_field(&format!("event.{name}"), fault));
        }
    }
    Ok(())
}

/// Fills what an event leaves out with values that fit a filter.
fn fitting(mut event: SampleEvent, filter: &Filter) -> SampleEvent {
    let condition = filter.condition.as_ref();
    if let Some(condition) = condition {
        fit(&mut event, condition);
    }
    let category = Category::ALL.into_iter().rev().find(|category| {
        let name = category.as_str();
        let is_in = |list: &[String]| list.iter().any(|entry| entry == name || entry == ALL);
        (filter.event_category.is_empty() || is_in(&filter.event_category))
            && !is_in(&filter.exclude_event_category)
    });
    event.event_category = event.event_category.or(category);
    event.action = event.action.or_else(|| name_in(&filter.action));
    event.resource_type = event.resource_type.or_else(|| name_in(&filter.resource_type));
    event
}

/// Returns a name that the first entry of a list matches; None for an empty list.
fn name_in(list: &[String]) -> Option<String> {
    let first = list.first()?;
    Some(match first.strip_suffix(ALL) {
        Some(start) => format!("{start}{SAMPLE}"),
        None => first.clone(),
    })
}

/// Sets the fields that a condition compares with constants, through `and`; other operators are left to the
/// caller.
fn fit(event: &mut SampleEvent, rule: &Map<String, Value>) {
    for (operator, operands) in rule {
        let Some(operands) = operands.as_array() else {
            continue;
        };
        match (operator.as_str(), operands.as_slice()) {
            ("and", rules) => rules
                .iter()
                .filter_map(Value::as_object)
                .for_each(|rule| fit(event, rule)),
            ("==" | "===", [one, other]) => {
                for (variable, constant) in [(one, other), (other, one)] {
                    if let Some(path) = path_of(variable) {
                        set(event, path, constant);
                    }
                }
            }
            (">" | ">=" | "<" | "<=", [one, other]) => {
                // The operand that is to be larger comes first with `>`.
                let first_is_larger = operator.starts_with('>');
                for (variable, constant, step) in [(one, other, 1), (other, one, -1)] {
                    let step = if first_is_larger { step } else { -step };
                    if let (Some(path), Some(number)) = (path_of(variable), constant.as_i64())
                        && let Some(beyond) = number.checked_add(step)
                    {
                        set(event, path, &Value::from(beyond));
                    }
                }
            }
            ("in", [variable, Value::Array(values)]) => {
                if let (Some(path), Some(first)) = (path_of(variable), values.first()) {
                    set(event, path, first);
                }
            }
            _ => {}
        }
    }
}

fn path_of(variable: &Value) -> Option<&str> {
    variable.get("var")?.as_str()
}

/// Sets a field that the event leaves out to a constant.
fn set(event: &mut SampleEvent, path: &str, constant: &Value) {
    if path.split('.').count() > MAX_STEPS {
        return;
    }
    let text = || constant.as_str().map(str::to_owned);
    match path.split_once('.') {
        Some(("details", rest)) => set_within(&mut event.details, rest, constant),
        Some(("resource_data", rest)) => set_within(&mut event.resource_data, rest, constant),
        Some(_) => {}
        None => match path {
            "action" => event.action = event.action.take().or_else(text),
            "resource_type" => event.resource_type = event.resource_type.take().or_else(text),
            "resource_id" => event.resource_id = event.resource_id.take().or_else(text),
            "source" => event.source = event.source.take().or_else(text),
            _ => {}
        },
    }
}

fn set_within(object: &mut Map<String, Value>, path: &str, constant: &Value) {
    let is_constant = !constant.is_object() && !constant.is_array();
    match path.split_once('.') {
        None if is_constant => {
            object.entry(path).or_insert_with(|| constant.clone());
        }
        None => {}
        Some((first, rest)) => {
            let below = object.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                set_within(below, rest, constant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fitted(filter: Value) -> SampleEvent {
        fitting(SampleEvent::default(), &Filter::parse(filter).unwrap())
    }

    #[test]
    fn sample_fits_the_lists_of_a_filter() {
        let event = fitted(json!({
            "event_category": ["*"], "exclude_event_category": ["external", "system"], "action": ["order.*"], "resource_type": ["order"],
        }));
        assert_eq!(event.event_category, Some(Category::Billing));
        assert_eq!(event.action.as_deref(), Some("order.sample"));
        assert_eq!(event.resource_type.as_deref(), Some("order"));
    }

    #[test]
    fn sample_ignores_a_path_of_many_steps() {
        let path = format!("details{}", ".a".repeat(16_000));
        let event = fitted(json!({ "condition": { "==": [{ "var": path }, 1] } }));
        assert!(event.details.is_empty());
    }

    #[test]
    fn sample_fits_simple_comparisons_of_a_condition() {
        let event = fitted(json!({ "condition": { "and": [
            { "==": [{ "var": "details.payload.total" }, 7] },
            { "===": ["paid", { "var": "details.state" }] },
            { "in": [{ "var": "resource_type" }, ["order", "bill"]] },
            { ">": [{ "var": "details.count" }, 3] },
            { "<=": [10, { "var": "details.size" }] },
            { "!=": [{ "var": "details.name" }, "A"] },
        ] } }));
        assert_eq!(
            Value::Object(event.details),
            json!({ "payload": { "total": 7 }, "state": "paid", "count": 4, "size": 11 })
        );
        assert_eq!(event.resource_type.as_deref(), Some("order"));
    }
}
