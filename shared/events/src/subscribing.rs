//! Creates subscriptions, for a caller of the API and for the operator, with the checks and the secret that a
//! change shares.

use std::sync::Arc;

use platform::config::Secret;
use platform::http::strict;
use platform::http::text::{MAX_DESCRIPTION_LENGTH, check_description, check_name};
use platform::outbound::Outbound;
use platform::sealing::{Place, Sealer};
use platform::{Error, Result, Tenant, UtcTime, ids};
use process::records::processes::Processes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::filter::Filter;
use crate::records::subscriptions::Subscriptions;
use crate::signature::new_signing_secret;
use crate::subscription::{
    Priority, RunAsRole, SECRET_OVERLAP_MS, Scope, SigningSecrets, StoredSubscription, Target,
};

/// A new subscription.
#[derive(Deserialize, JsonSchema)]
pub struct CreateSubscription {
    /// Name for people, 1 to 200 characters; not unique.
    pub name: String,
    /// Purpose of the subscription, for people; at most 10,000 characters.
    #[schemars(length(max = MAX_DESCRIPTION_LENGTH))]
    pub description: Option<String>,
    /// Range of the events. Default: `project`, the only one.
    #[serde(default, deserialize_with = "strict::name")]
    pub scope: Scope,
    /// Whether matching events are delivered. Default: true.
    pub enabled: Option<bool>,
    /// Label for people; all deliveries are made at once. Default: `normal`.
    #[serde(default, deserialize_with = "strict::name")]
    pub priority: Priority,
    /// Role of the service identity that a delivery runs with; never that of the caller who caused the event.
    /// The caller needs each of its permissions.
    #[serde(deserialize_with = "strict::name")]
    pub run_as_role: RunAsRole,
    /// Conditions that an event must meet to be delivered.
    #[schemars(with = "Filter")]
    pub filter: strict::Json,
    /// Receiver of the matching events.
    #[serde(deserialize_with = "strict::json_object")]
    #[schemars(with = "Target")]
    pub target: Map<String, Value>,
    /// Id of the system subscription that this one replaces for as long as it exists, enabled or not; a
    /// protected one only while this one is enabled.
    pub overrides_system_subscription_id: Option<String>,
}

/// Where a new subscription comes from.
pub struct Origin {
    pub id: String,
    pub created_at: UtcTime,
    pub created_by: String,
    pub is_system: bool,
    pub protected: bool,
}

/// A stored subscription, and the signing secret that was made for it.
pub struct NewSubscription {
    pub subscription: StoredSubscription,
    pub secret: Option<Secret>,
}

#[derive(Clone, Copy, Default)]
pub struct Rotation {
    /// True if the secret is replaced.
    pub wanted: bool,
    /// True if the old secret stops signing at once.
    pub at_once: bool,
}

/// Services that decide whether a subscription is valid, and complete it.
#[derive(Clone)]
pub struct Subscribing {
    pub subscriptions: Subscriptions,
    pub processes: Processes,
    pub sealer: Arc<dyn Sealer>,
    /// Decides which URLs deliveries may reach.
    pub outbound: Outbound,
    /// Workflow types that a target may name.
    pub workflow_types: Arc<[String]>,
}

impl Subscribing {
    /// Checks and stores a new subscription, with a secret if it signs.
    pub async fn create(
        &self,
        tenant: &Tenant,
        body: CreateSubscription,
        origin: Origin,
    ) -> Result<NewSubscription> {
        let mut subscription = StoredSubscription {
            id: origin.id,
            name: body.name,
            description: body.description,
            scope: body.scope,
            enabled: body.enabled.unwrap_or(true),
            disabled: None,
            priority: body.priority,
            run_as_role: body.run_as_role,
            filter: Filter::parse(body.filter.0)?,
            target: Target::parse(body.target)?,
            definition_digest: None,
            signing: None,
            is_system: origin.is_system,
            protected: origin.protected,
            overrides_system_subscription_id: body.overrides_system_subscription_id,
            created_at: origin.created_at,
            updated_at: origin.created_at,
            created_by: origin.created_by.clone(),
            updated_by: origin.created_by,
        };
        self.check(&subscription).await?;
        subscription.target.check_endpoint(&self.workflow_types)?;
        subscription.settle_process(tenant, &self.processes).await?;
        let replaces = subscription.overrides_system_subscription_id.clone();
        if let Some(system) = &replaces {
            self.check_system(tenant, system).await?;
        }
        let secret = self
            .settle_secret(tenant, &mut subscription, Rotation::default(), origin.created_at)
            .await?;
        let record = subscription.record(1)?;
        self.subscriptions
            .insert(tenant, &record, replaces.as_deref())
            .await?;
        Ok(NewSubscription { subscription, secret })
    }

    /// Fails with 400 for an invalid subscription. Its workflow type and process are checked apart, because
    /// they may no longer exist when another field changes.
    pub async fn check(&self, subscription: &StoredSubscription) -> Result<()> {
        check_name("name", &subscription.name)?;
        check_description("description", subscription.description.as_deref())?;
        subscription.check_combination()?;
        subscription.target.check(&self.outbound).await
    }

    /// Fails with 400 for an override of anything but a system subscription of the project.
    async fn check_system(&self, tenant: &Tenant, id: &str) -> Result<()> {
        let record = match ids::is_id(id) {
            true => self.subscriptions.find(tenant, id).await?,
            false => None,
        };
        let is_system = match &record {
            Some(record) => StoredSubscription::from_record(record)?.is_system,
            None => false,
        };
        if is_system {
            return Ok(());
        }
        Err(Error::invalid_field(
            "overrides_system_subscription_id",
            "does not name a system subscription of the project.",
        ))
    }

    /// Sets the signing secret of a subscription that signs, and returns it if it is new. Removes the secret
    /// of any other.
    pub async fn settle_secret(
        &self,
        tenant: &Tenant,
        subscription: &mut StoredSubscription,
        rotation: Rotation,
        now: UtcTime,
    ) -> Result<Option<Secret>> {
        if !subscription.target.is_signed() {
            subscription.signing = None;
            return Ok(None);
        }
        if subscription.signing.is_some() && !rotation.wanted {
            return Ok(None);
        }
        let secret = new_signing_secret();
        let name = StoredSubscription::secret_place(&subscription.id);
        let place = Place { tenant, name: &name };
        let sealed = self.sealer.seal(place, &secret).await?;
        subscription.signing = Some(match subscription.signing.take() {
            None => SigningSecrets::new(sealed, &secret),
            Some(before) => {
                let until = (!rotation.at_once).then(|| now.plus_ms(SECRET_OVERLAP_MS));
                before.replaced(sealed, &secret, until)
            }
        });
        Ok(Some(secret))
    }
}
