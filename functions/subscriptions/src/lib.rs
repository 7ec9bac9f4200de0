//! Serves the event endpoints: subscriptions, ingest channels, and the search of deliveries.

mod channel_create;
mod channel_delete;
mod channel_get;
mod channel_list;
mod channel_model;
mod channel_update;
mod delivery_search;
mod filter_test;
mod preset_list;
mod subscription_create;
mod subscription_delete;
mod subscription_get;
mod subscription_list;
mod subscription_model;
mod subscription_update;

use std::sync::Arc;

use aide::axum::ApiRouter;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use events::records::channels::Channels;
use events::records::deliveries::Deliveries;
use events::records::refusals::Refusals;
use events::records::subscriptions::Subscriptions;
use events::search::DeliverySearch;
use events::subscribing::Subscribing;
use platform::Platform;
use platform::config::{ConfigError, variables};
use platform::deployment::Deployment;
use platform::http::{Credentials, authenticate};
use platform::outbound::Outbound;
use platform::page_token::PageTokens;
use platform::records::Table;
use platform::sealing::Sealer;
use process::records::processes::Processes;
use workflow::Registry;

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
}

impl SubscriptionServices {
    pub fn from_deployment(deployment: &Deployment, registry: &Registry) -> Result<Self, ConfigError> {
        let records = deployment.table(variables::RECORDS_TABLE)?;
        Ok(Self {
            subscriptions: Subscriptions::new(records.clone()).limited_by(deployment.environment())?,
            events: deployment.table(variables::EVENTS_TABLE)?,
            tokens: PageTokens::from_deployment(deployment)?,
            sealer: deployment.sealer(variables::SEALING_KEY)?,
            outbound: Outbound::from_deployment(deployment)?,
            processes: Processes::new(records),
            workflow_types: registry.workflow_names().into(),
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
        search: DeliverySearch::new(Deliveries::new(parts.events), parts.tokens),
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
        .api_route("/events/presets", preset_list::route())
        .api_route("/events/deliveries/search", delivery_search::route())
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
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .with_state(app)
}
