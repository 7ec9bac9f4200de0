//! Serves the event endpoints: subscriptions, ingest channels, events and deliveries.

mod channel_create;
mod channel_delete;
mod channel_get;
mod channel_list;
mod channel_model;
mod channel_update;
mod delivery_cancel;
mod delivery_get;
mod delivery_redrive;
mod delivery_retry;
mod delivery_search;
mod event_get;
mod filter_test;
mod preset_list;
mod subscription_create;
mod subscription_delete;
mod subscription_get;
mod subscription_list;
mod subscription_model;
mod subscription_send;
mod subscription_statistics;
mod subscription_update;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use events::publish::Publisher;
use events::records::channels::Channels;
use events::records::deliveries::DeliveryRecord;
use events::records::events::Events;
use events::records::refusals::Refusals;
use events::records::subscriptions::Subscriptions;
use events::search::DeliverySearch;
use events::subscribing::Subscribing;
use events::subscription::{RunAsRole, StoredSubscription};
use platform::Platform;
use platform::auth::Viewer;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::http::{Call, Credentials, authenticate};
use platform::outbound::Outbound;
use platform::page_token::PageTokens;
use platform::records::Table;
use platform::sealing::Sealer;
use platform::{ErrorKind, Result, Tenant};
use process::records::processes::Processes;
use runs::redelivery::{Redelivery, RedeliveryParts};
use workflow::Registry;
use workflow::engine::Engine;
use workflow::state::RunState;
use workflow::wiring::Wiring;

#[derive(Clone)]
pub struct SubscriptionServices {
    pub subscriptions: Subscriptions,
    /// Holds events and deliveries.
    pub events: Table,
    /// Signs the cursors of searches.
    pub tokens: PageTokens,
    pub sealer: Arc<dyn Sealer>,
    /// Decides which URLs deliveries may reach.
    pub outbound: Outbound,
    pub processes: Processes,
    /// Workflow types that a target may name.
    pub workflow_types: Arc<[String]>,
    /// Starts, signals and cancels the runs of deliveries.
    pub engine: Engine,
    pub redelivery: RedeliveryParts,
    /// Publishes test events.
    pub publisher: Publisher,
}

impl SubscriptionServices {
    pub fn from_deployment(
        deployment: &Deployment,
        registry: &Registry,
    ) -> std::result::Result<Self, ConfigError> {
        let records = deployment.table(variables::RECORDS_TABLE)?;
        let events = deployment.table(variables::EVENTS_TABLE)?;
        Ok(Self {
            subscriptions: Subscriptions::new(records.clone()).limited_by(deployment.environment())?,
            publisher: Publisher::new(
                Events::new(events.clone()),
                deployment.bucket(variables::DATA_BUCKET)?,
                deployment.bus(variables::EVENT_BUS)?,
            ),
            events,
            tokens: PageTokens::from_deployment(deployment)?,
            sealer: deployment.sealer(variables::SEALING_KEY)?,
            outbound: Outbound::from_deployment(deployment)?,
            processes: Processes::new(records),
            workflow_types: registry.workflow_names().into(),
            engine: Wiring::from_deployment(deployment)?.engine(registry.clone())?,
            redelivery: RedeliveryParts::from_deployment(deployment)?,
        })
    }
}

#[derive(Clone)]
pub struct App {
    platform: Platform,
    subscriptions: Subscriptions,
    subscribing: Subscribing,
    channels: Channels,
    refusals: Refusals,
    search: DeliverySearch,
    /// Without a caller.
    redelivery: Redelivery,
    publisher: Publisher,
}

impl App {
    /// Returns what retries and cancels deliveries for a caller.
    fn redelivery_by<P>(&self, call: &Call<P>) -> Redelivery {
        Redelivery {
            caller: call.principal.reference(),
            ..self.redelivery.clone()
        }
    }

    /// Returns the delivery to change. 404 unless the caller may see it, 403 without the permissions of its
    /// subscription's role. Names the owner of a private one for the audit record.
    async fn delivery_to_change<P>(&self, call: &Call<P>, delivery_id: &str) -> Result<DeliveryRecord> {
        let viewer = Viewer::from_principal(&call.principal);
        let delivery = self
            .delivery((&call.tenant()?, &viewer), delivery_id, call.now)
            .await?;
        call.is_private_to(delivery.private_to.as_deref());
        self.require_role(call, &delivery.subscription_id).await?;
        Ok(delivery)
    }

    /// Fails with 403 unless the caller has the permissions of a subscription's role, if there is one with
    /// this id: a delivery works with them.
    async fn require_role<P>(&self, call: &Call<P>, subscription_id: &str) -> Result<()> {
        match self.subscriptions.find(&call.tenant()?, subscription_id).await? {
            Some(record) => {
                let subscription = StoredSubscription::from_record(&record)?;
                call.principal.require_role(subscription.run_as_role)
            }
            None => Ok(()),
        }
    }

    /// Fails with 403 unless the caller has the permissions of a subscription's role, or without a
    /// subscription those of every role.
    async fn require_roles<P>(&self, call: &Call<P>, subscription_id: Option<&str>) -> Result<()> {
        match subscription_id {
            Some(id) => self.require_role(call, id).await,
            None => RunAsRole::ALL
                .into_iter()
                .try_for_each(|role| call.principal.require_role(role)),
        }
    }

    /// Returns the state of a run; None for one that is no longer kept.
    async fn run(&self, tenant: &Tenant, run_id: &str) -> Result<Option<RunState>> {
        match self.redelivery.engine.get(tenant, run_id).await {
            Ok(state) => Ok(Some(state)),
            Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, parts: SubscriptionServices) -> ApiRouter {
    let app = App {
        subscriptions: parts.subscriptions.clone(),
        subscribing: Subscribing {
            subscriptions: parts.subscriptions,
            processes: parts.processes,
            sealer: parts.sealer,
            outbound: parts.outbound,
            workflow_types: parts.workflow_types,
        },
        channels: Channels::new(platform.records.clone()),
        refusals: Refusals::new(parts.events.clone()),
        search: DeliverySearch::new(parts.redelivery.deliveries.clone(), parts.tokens),
        redelivery: Redelivery {
            engine: parts.engine,
            parts: parts.redelivery,
            caller: String::new(),
        },
        publisher: parts.publisher,
        platform: platform.clone(),
    };

    let p = &platform;
    ApiRouter::new()
        .api_route(
            "/events/channels",
            channel_list::route().merge(channel_create::route(p)),
        )
        .api_route(
            "/events/channels/{channel_id}",
            channel_get::route()
                .merge(channel_update::route(p))
                .merge(channel_delete::route(p)),
        )
        .api_route("/events/deliveries/redrive", delivery_redrive::route(p))
        .api_route("/events/deliveries/search", delivery_search::route())
        .api_route("/events/deliveries/{delivery_id}", delivery_get::route())
        .api_route(
            "/events/deliveries/{delivery_id}/cancel",
            delivery_cancel::route(p),
        )
        .api_route("/events/deliveries/{delivery_id}/retry", delivery_retry::route(p))
        .api_route("/events/presets", preset_list::route())
        .api_route(
            "/events/subscriptions",
            subscription_list::route().merge(subscription_create::route(p)),
        )
        .api_route("/events/subscriptions/test", filter_test::route())
        .api_route(
            "/events/subscriptions/{subscription_id}",
            subscription_get::route()
                .merge(subscription_update::route(p))
                .merge(subscription_delete::route(p)),
        )
        .api_route(
            "/events/subscriptions/{subscription_id}/send",
            subscription_send::route(p),
        )
        .api_route(
            "/events/subscriptions/{subscription_id}/statistics",
            subscription_statistics::route(),
        )
        .api_route("/events/{event_id}", event_get::route())
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
