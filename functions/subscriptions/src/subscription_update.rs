//! `PUT /events/subscriptions/{subscription_id}`: changes some fields of a subscription. It takes effect at once, for deliveries that are
//! under way as well: each attempt reads the subscription again.

use aide::transform::TransformOperation;
use axum::extract::State;
use axum::http::HeaderMap;
use events::filter::Filter;
use events::subscription::{Priority, RunAsRole, Scope, Subscription as StoredSubscription, Target};
use platform::auth::permission::WriteEvents;
use platform::http::text::MAX_DESCRIPTION_LENGTH;
use platform::http::{Call, OptionalJson, Path, Reply, if_match, strict};
use platform::records::Written;
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::App;
use crate::retry::Races;
use crate::subscription_model::{
    Rotation, SubscriptionPath, SubscriptionWithSecret, check, settle_secret, without_read_only,
};

/// The fields to change. What is left out stays; null takes away what may be missing. A `filter` takes the
/// place of the one before it, and so does a `target`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UpdateSubscription {
    /// Its name.
    pub name: Option<String>,
    /// What it is for.
    #[serde(deserialize_with = "strict::given")]
    #[schemars(with = "Option<String>", length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<Option<String>>,
    /// Whose events.
    #[serde(deserialize_with = "strict::optional_name")]
    pub scope: Option<Scope>,
    /// Whether anything is delivered.
    pub enabled: Option<bool>,
    /// How soon it matters.
    #[serde(deserialize_with = "strict::optional_name")]
    pub priority: Option<Priority>,
    /// As whom a delivery runs.
    #[serde(deserialize_with = "strict::optional_name")]
    pub run_as_role: Option<RunAsRole>,
    /// Which events.
    #[serde(deserialize_with = "strict::optional_json")]
    #[schemars(with = "Option<Filter>")]
    pub filter: Option<Value>,
    /// Where to: the whole target, as an answer shows it; without `type` it is of the same type. The signing
    /// secret stays as long as `signing_mode` is `signed`. `rotate_signing_secret: true` makes a new one; the
    /// old one signs beside it for 24 hours, unless `rotate_immediately` is true. A target of these two alone
    /// leaves the rest as it is.
    #[serde(deserialize_with = "given_object")]
    #[schemars(with = "Option<Target>")]
    pub target: Option<Map<String, Value>>,
    /// The system subscription that it takes the place of, which stays as it is.
    pub overrides_system_subscription_id: Option<String>,
}

fn given_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Map<String, Value>>, D::Error> {
    strict::json_object(deserializer).map(Some)
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("updateSubscription")
        .tag("subscriptions")
        .summary("Update an event subscription")
        .response::<200, axum::Json<SubscriptionWithSecret>>()
}

pub async fn handler(
    call: Call<WriteEvents>,
    State(app): State<App>,
    Path(path): Path<SubscriptionPath>,
    headers: HeaderMap,
    OptionalJson(body): OptionalJson<UpdateSubscription>,
) -> Result<Reply<SubscriptionWithSecret>> {
    let tenant = call.tenant()?;
    let mut races = Races::default();
    loop {
        let record = app.subscriptions.get(&tenant, &path.subscription_id).await?;
        if_match(&headers, &record.revision.to_string())?;
        let mut subscription = StoredSubscription::of(&record)?;
        subscription.check_unprotected()?;
        let rotation = body.apply(&mut subscription)?;
        subscription.updated_at = call.now.max(subscription.updated_at);
        subscription.updated_by = call.principal.reference();
        check(&app, &subscription).await?;
        let secret = settle_secret(&app, &tenant, &mut subscription, rotation, call.now).await?;
        let next = subscription.record(record.revision + 1)?;
        if app.subscriptions.save(&tenant, &next).await? == Written::Done {
            let answer = SubscriptionWithSecret::new(&tenant, subscription, secret);
            return Ok(Reply::ok(answer).etag(&next.revision.to_string()));
        }
        races.lost().await?;
    }
}

impl UpdateSubscription {
    fn apply(&self, subscription: &mut StoredSubscription) -> Result<Rotation> {
        fn set<T: Clone>(field: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                field.clone_from(value);
            }
        }
        set(&mut subscription.name, &self.name);
        set(&mut subscription.description, &self.description);
        set(&mut subscription.scope, &self.scope);
        set(&mut subscription.enabled, &self.enabled);
        set(&mut subscription.priority, &self.priority);
        set(&mut subscription.run_as_role, &self.run_as_role);
        if let Some(filter) = &self.filter {
            subscription.filter = Filter::parse(filter.clone())?;
        }
        let other = self.overrides_system_subscription_id.as_ref();
        if other.is_some() && other != subscription.overrides_system_subscription_id.as_ref() {
            return Err(Error::invalid(
                "The field 'overrides_system_subscription_id' cannot be changed; make another subscription.",
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
        given.retain(|_, value| !value.is_null());
        if !given.is_empty() {
            let before = serde_json::to_value(&subscription.target).map_err(Error::internal)?;
            if let Some(kind) = before.get("type") {
                given.entry("type").or_insert_with(|| kind.clone());
            }
            subscription.target = Target::parse(given)?;
        }
        let is_signed = matches!(&subscription.target, Target::Webhook(webhook) if webhook.is_signed());
        if rotation.wanted && !is_signed {
            return Err(Error::invalid(
                "The field 'target.rotate_signing_secret' is for a webhook whose 'signing_mode' is 'signed'.",
            ));
        }
        Ok(rotation)
    }
}

/// Takes a truth value out of the fields.
fn flag(fields: &mut Map<String, Value>, name: &str) -> Result<bool> {
    match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(value),
        Some(_) => Err(Error::invalid(format!(
            "The field 'target.{name}' must be true or false."
        ))),
    }
}
