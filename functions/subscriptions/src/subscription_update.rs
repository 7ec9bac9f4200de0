//! `PUT /events/subscriptions/{subscription_id}`: changes some fields of a subscription.
//!
//! The change also applies to open deliveries at once, because each attempt reads the subscription again.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, put_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use events::filter::Filter;
use events::path::MAX_PATH_CHARACTERS;
use events::subscribing::Rotation;
use events::subscription::{
    PayloadMode, Priority, RunAsRole, RunType, Scope, SigningMode, StoredSubscription, Target,
};
use events::target::{MAX_ITERATIONS, OnRunning, Retry, TARGET_TYPES};
use platform::auth::Principal;
use platform::auth::permission::WriteEvents;
use platform::http::openapi::{conditional_write, problem, tagged};
use platform::http::text::MAX_DESCRIPTION_LENGTH;
use platform::http::{Call, OptionalJson, Path, Reply, audited, if_match, strict};
use platform::races::{RacePolicy, Races};
use platform::records::Outcome;
use platform::records::audit::AuditAction;
use platform::{Error, ErrorKind, Platform, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::App;
use crate::subscription_model::{SubscriptionPath, SubscriptionWithSecret, without_read_only};

/// Changes of a subscription. A field that is left out keeps its value; null removes an optional one.
/// `filter` and `target` are replaced whole.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateSubscription {
    /// New name, 1 to 200 characters.
    pub name: Option<String>,
    /// New purpose, at most 10,000 characters; null removes it.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Range of the events: `project`, the only one.
    #[serde(deserialize_with = "strict::optional_name")]
    pub scope: Option<Scope>,
    /// Whether matching events are delivered; false cancels deliveries that are under way, true removes
    /// `disabled_reason`.
    pub enabled: Option<bool>,
    /// New label for people.
    #[serde(deserialize_with = "strict::optional_name")]
    pub priority: Option<Priority>,
    /// New role of the service identity that a delivery runs with.
    #[serde(deserialize_with = "strict::optional_name")]
    pub run_as_role: Option<RunAsRole>,
    /// Replaces all conditions that an event must meet.
    #[serde(deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<Filter>")]
    pub filter: Option<Value>,
    /// New receiver, whole but for `signing_mode`, which stays where it is left out; the one of an answer can
    /// be sent back. The signing secret stays as long as `signing_mode` is `signed`. A target of the two
    /// `rotate_` fields alone leaves the rest as it is.
    #[serde(deserialize_with = "strict::given_json_object")]
    #[schemars(with = "Option<TargetUpdate>")]
    pub target: Option<Map<String, Value>>,
    /// Belongs in `target`. It is read here only to be refused, because an ignored unknown field would
    /// silently rotate no secret.
    #[schemars(skip)]
    rotate_signing_secret: Option<Value>,
    /// Id of the replaced system subscription. It cannot be changed: send the present value or none.
    pub overrides_system_subscription_id: Option<String>,
}

/// New receiver of a subscription. Without `type` the target keeps its kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "A target is read by its kind; this is its schema.")]
struct TargetUpdate {
    /// Kind of the target.
    #[schemars(rename = "type", extend("enum" = TARGET_TYPES))]
    kind: Option<String>,
    /// Of a webhook: URL of the receiver.
    url: Option<String>,
    /// Of a webhook: whether requests are signed. Left out: as before; null: unsigned. `signed` is
    /// recommended.
    signing_mode: Option<SigningMode>,
    /// Of a webhook: form of the request body. Default: `event_envelope`.
    payload_mode: Option<PayloadMode>,
    /// Of a webhook: time that the receiver has to answer, in milliseconds. Default: 10,000.
    #[schemars(range(min = 1_000, max = 50_000))]
    timeout_ms: Option<u64>,
    /// Of a webhook: headers to set, as in `WebhookTarget`.
    headers: Option<BTreeMap<String, String>>,
    /// Of a webhook: body with event templates, for the `payload_mode` `template`.
    template: Option<Value>,
    /// Of a webhook: how often and after which statuses a delivery is retried.
    retry: Option<Retry>,
    /// Of a webhook: maximum number of requests in a second.
    #[schemars(range(min = 1, max = 1_000))]
    rate_per_second: Option<u32>,
    /// Of a webhook: path into the event to the key whose deliveries are made one after the other.
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    ordered_by: Option<String>,
    /// Of a workflow: workflow type of the run.
    endpoint: Option<String>,
    /// Of a workflow: label that goes into the run's memo.
    workflow_class: Option<String>,
    /// Of a workflow, an agent or a process: path into the event to the run's workflow id, such as
    /// `details.payload.order_id`.
    #[schemars(length(min = 1, max = MAX_PATH_CHARACTERS))]
    workflow_id: Option<String>,
    /// Of a workflow: what happens where the workflow id has an open run. Default: `ignore`.
    on_running: Option<OnRunning>,
    /// Of a workflow: name of the signal, for the `on_running` `signal`.
    #[schemars(length(min = 1, max = 200))]
    signal_name: Option<String>,
    /// Of a workflow: values that the run's input has under `vars`.
    vars: Option<Map<String, Value>>,
    /// Of an agent: interaction that the agent follows.
    interaction_ref: Option<String>,
    /// Of an agent: most turns of the language model.
    #[schemars(range(min = 1, max = MAX_ITERATIONS))]
    max_iterations: Option<u32>,
    /// Of a process: stored process, as `namespace/name` or `namespace/name@version`.
    process_ref: Option<String>,
    /// Of a process: definition of the process, in the place of `process_ref`.
    definition: Option<Map<String, Value>>,
    /// Of a process: whether tasks that act outside wait for an approval. Default: `programmatic`.
    run_type: Option<RunType>,
    /// Of a workflow, an agent or a process: data that the run is given, with event templates.
    data: Option<Map<String, Value>>,
    /// True makes a new signing secret. The old one signs beside it for 24 hours.
    rotate_signing_secret: Option<bool>,
    /// True, with `rotate_signing_secret`: the old secret stops at once.
    rotate_immediately: Option<bool>,
}

pub fn route(platform: &Platform) -> ApiMethodRouter<App> {
    audited(platform, AuditAction::Update, "event_subscription").on(put_with(handler, doc))
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateSubscription")
        .tag("subscriptions")
        .summary("Update an event subscription")
        .description(
            "Changes the given fields; a field that is left out keeps its value. `filter` and `target` are replaced whole. The change \
             counts from the next attempt of deliveries that are under way. A new signing secret is in this answer alone; the old one \
             signs beside it for 24 hours, unless `target.rotate_immediately` is true. A change of `filter`, `target`, `enabled` or \
             `run_as_role` needs the permissions of the role before and after it.\n\n\
             Side effects: an audit record of the action `update`.",
        )
        .response_with::<200, axum::Json<SubscriptionWithSecret>, _>(|response| {
            response.description("The changed subscription, with the signing secret that this request made.")
        })
        .with(tagged)
        .with(conditional_write)
        .with(problem(
            ErrorKind::Forbidden,
            "The caller lacks the permission or one of those of `run_as_role`, or the subscription is protected.",
            "This needs the permission workflow:admin.",
        ))
}

async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson<UpdateSubscription>,
) -> Result<Reply<SubscriptionWithSecret>> {
    let tenant = call.tenant()?;
    let subscribing = &app.subscribing;
    let mut races = Races::new(&RacePolicy::RECORD, "a subscription");
    loop {
        let record = app.subscriptions.get(&tenant, &path.subscription_id).await?;
        if_match(&headers, &record.revision.to_string())?;
        let mut subscription = StoredSubscription::from_record(&record)?;
        subscription.check_unprotected()?;
        let before = subscription.clone();
        let rotation = body.apply(&mut subscription)?;
        check_role(&call.principal, &before, &subscription, rotation)?;
        subscription.updated_at = call.now.max(subscription.updated_at);
        subscription.updated_by = call.principal.reference();
        subscribing.check(&subscription).await?;
        // A subscription whose workflow type or process no longer exists can still be renamed or disabled.
        if subscription.target.endpoint() != before.target.endpoint() {
            subscription.target.check_endpoint(&subscribing.workflow_types)?;
        }
        if subscription.target != before.target {
            subscription
                .settle_process(&tenant, &subscribing.processes)
                .await?;
        }
        let secret = subscribing
            .settle_secret(&tenant, &mut subscription, rotation, call.now)
            .await?;
        let next = subscription.record(record.revision + 1)?;
        if app.subscriptions.save(&tenant, &record, &next).await? == Outcome::Done {
            let answer = SubscriptionWithSecret::new(&tenant, subscription, secret);
            return Ok(Reply::ok(answer).etag(&next.revision.to_string()));
        }
        races.lost().await?;
    }
}

/// Refuses with 403 a change of what is done with a role, unless the caller has its permissions. The role
/// before counts as well, because deliveries that are under way have it and read the subscription again.
fn check_role(
    principal: &Principal,
    before: &StoredSubscription,
    after: &StoredSubscription,
    rotation: Rotation,
) -> Result<()> {
    let is_same = before.run_as_role == after.run_as_role
        && before.filter == after.filter
        && before.target == after.target
        && before.enabled == after.enabled
        && !rotation.wanted;
    if is_same {
        return Ok(());
    }
    principal.require_role(before.run_as_role)?;
    principal.require_role(after.run_as_role)
}

impl UpdateSubscription {
    fn apply(&self, subscription: &mut StoredSubscription) -> Result<Rotation> {
        strict::set(&mut subscription.name, &self.name);
        strict::set(&mut subscription.description, &self.description);
        strict::set(&mut subscription.scope, &self.scope);
        strict::set(&mut subscription.enabled, &self.enabled);
        if subscription.enabled {
            subscription.disabled = None;
        }
        strict::set(&mut subscription.priority, &self.priority);
        strict::set(&mut subscription.run_as_role, &self.run_as_role);
        if let Some(filter) = &self.filter {
            subscription.filter = Filter::parse(filter.clone())?;
        }
        let other = self.overrides_system_subscription_id.as_ref();
        if other.is_some() && other != subscription.overrides_system_subscription_id.as_ref() {
            return Err(Error::invalid_field(
                "overrides_system_subscription_id",
                "cannot be changed; make another subscription.",
            ));
        }
        if self.rotate_signing_secret.is_some() {
            return Err(Error::invalid_field(
                "rotate_signing_secret",
                "belongs into 'target': send {\"target\": {\"rotate_signing_secret\": true}}.",
            ));
        }
        match &self.target {
            Some(target) => self.apply_target(target.clone(), subscription),
            None => Ok(Rotation::default()),
        }
    }

    fn apply_target(
        &self,
        mut given: Map<String, Value>,
        subscription: &mut StoredSubscription,
    ) -> Result<Rotation> {
        without_read_only(&mut given);
        let rotation = Rotation {
            wanted: flag(&mut given, "rotate_signing_secret")?,
            at_once: flag(&mut given, "rotate_immediately")?,
        };
        if let Some(unknown) = given.keys().find(|name| name.starts_with("rotate")) {
            return Err(Error::invalid_field(
                &format!("target.{unknown}"),
                "is unknown; a rotation has 'rotate_signing_secret' and 'rotate_immediately'.",
            ));
        }
        if rotation.at_once && !rotation.wanted {
            return Err(Error::invalid_field(
                "target.rotate_immediately",
                "is for a rotation; send 'rotate_signing_secret' with it.",
            ));
        }
        let has_mode = given.contains_key("signing_mode");
        let only_nulls = given.keys().next().cloned();
        given.retain(|_, value| !value.is_null());
        if let Some(name) = only_nulls.filter(|_| given.is_empty()) {
            return Err(Error::invalid_field(
                &format!("target.{name}"),
                "cannot be removed alone, because a target is replaced whole: send the target without it.",
            ));
        }
        if !given.is_empty() {
            let before = serde_json::to_value(&subscription.target).map_err(Error::internal)?;
            if let Some(kind) = before.get("type") {
                given.entry("type").or_insert_with(|| kind.clone());
            }
            // A new URL alone must not take the signatures away.
            if let Some(mode) = before.get("signing_mode")
                && !has_mode
                && given.get("type") == before.get("type")
            {
                given.insert("signing_mode".to_owned(), mode.clone());
            }
            subscription.target = Target::parse(given)?;
        }
        if rotation.wanted && !subscription.target.is_signed() {
            return Err(Error::invalid_field(
                "target.rotate_signing_secret",
                "is for a webhook whose 'signing_mode' is 'signed'.",
            ));
        }
        Ok(rotation)
    }
}

/// Removes a boolean field.
fn flag(fields: &mut Map<String, Value>, name: &str) -> Result<bool> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(value),
        Some(_) => Err(Error::invalid_field(
            &format!("target.{name}"),
            "must be true or false.",
        )),
    }
}
