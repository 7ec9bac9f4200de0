//! Serves the event endpoints: subscriptions, ingest channels, and the search of deliveries.

mod channel_create;
mod channel_delete;
mod channel_get;
mod channel_list;
mod channel_model;
mod channel_update;
mod delivery_search;
mod retry;
mod subscription_create;
mod subscription_delete;
mod subscription_get;
mod subscription_list;
mod subscription_model;
mod subscription_update;

use std::sync::Arc;

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, post_with, put_with};
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use events::search::DeliverySearch;
use platform::Platform;
use platform::config::{AwsEnvironment, ConfigError};
use platform::deployment::Deployment;
use platform::http::audit::record;
use platform::http::{Credentials, audited, authenticate};
use platform::outbound::Outbound;
use platform::page_token::PageTokens;
use platform::records::Table;
use platform::records::audit::AuditAction;
use platform::records::channels::Channels;
use platform::records::deliveries::Deliveries;
use platform::records::processes::Processes;
use platform::records::subscriptions::Subscriptions as SubscriptionRecords;
use platform::sealing::Sealer;
use platform::telemetry::{self, Format};
use workflow::Registry;

#[derive(Clone)]
pub struct Subscriptions {
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

impl Subscriptions {
    fn of(deployment: &Deployment, registry: &Registry) -> Result<Self, ConfigError> {
        Ok(Self {
            events: deployment.table("MILLRACE_EVENTS_TABLE")?,
            tokens: PageTokens::of(deployment)?,
            sealer: deployment.sealer("MILLRACE_SEALING_KEY")?,
            outbound: Outbound::from_environment(deployment.environment(), &AwsEnvironment::read())?,
            processes: Processes::new(deployment.table("MILLRACE_RECORDS_TABLE")?),
            workflow_types: registry.workflow_names().into(),
        })
    }
}

#[derive(Clone)]
pub struct App {
    platform: Platform,
    subscriptions: SubscriptionRecords,
    channels: Channels,
    search: DeliverySearch,
    sealer: Arc<dyn Sealer>,
    outbound: Outbound,
    processes: Processes,
    workflow_types: Arc<[String]>,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Runs the Lambda function with these workflow types until Lambda stops it.
pub async fn run(deployment: &Deployment, registry: Registry) -> Result<(), lambda_http::Error> {
    telemetry::init(deployment.environment(), Format::Json, "info")?;
    let platform = Platform::of(deployment)?;
    let subscriptions = Subscriptions::of(deployment, &registry)?;
    let (clock, edge) = (platform.clock.clone(), platform.edge.clone());
    platform::http::serve(routes(platform, subscriptions), clock, edge).await
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, parts: Subscriptions) -> ApiRouter {
    let app = App {
        subscriptions: SubscriptionRecords::new(platform.records.clone()),
        channels: Channels::new(platform.records.clone()),
        search: DeliverySearch::new(Deliveries::new(parts.events), parts.tokens),
        sealer: parts.sealer,
        outbound: parts.outbound,
        processes: parts.processes,
        workflow_types: parts.workflow_types,
        platform: platform.clone(),
    };
    let of_channel = |action| from_fn_with_state(audited(&platform, action, "event_channel"), record);
    let creates_channel = of_channel(AuditAction::Create);
    let updates_channel = of_channel(AuditAction::Update);
    let deletes_channel = of_channel(AuditAction::Delete);
    let of_subscription =
        |action| from_fn_with_state(audited(&platform, action, "event_subscription"), record);
    let creates = of_subscription(AuditAction::Create);
    let updates = of_subscription(AuditAction::Update);
    let deletes = of_subscription(AuditAction::Delete);

    ApiRouter::new()
        .api_route(
            "/events/channels",
            get_with(channel_list::handler, channel_list::doc),
        )
        .api_route(
            "/events/channels",
            post_with(channel_create::handler, channel_create::doc).route_layer(creates_channel),
        )
        .api_route(
            "/events/channels/{channel_id}",
            get_with(channel_get::handler, channel_get::doc),
        )
        .api_route(
            "/events/channels/{channel_id}",
            put_with(channel_update::handler, channel_update::doc).route_layer(updates_channel),
        )
        .api_route(
            "/events/channels/{channel_id}",
            delete_with(channel_delete::handler, channel_delete::doc).route_layer(deletes_channel),
        )
        .api_route(
            "/events/deliveries/search",
            post_with(delivery_search::handler, delivery_search::doc),
        )
        .api_route(
            "/events/subscriptions",
            get_with(subscription_list::handler, subscription_list::doc),
        )
        .api_route(
            "/events/subscriptions",
            post_with(subscription_create::handler, subscription_create::doc).route_layer(creates),
        )
        .api_route(
            "/events/subscriptions/{subscription_id}",
            get_with(subscription_get::handler, subscription_get::doc),
        )
        .api_route(
            "/events/subscriptions/{subscription_id}",
            put_with(subscription_update::handler, subscription_update::doc).route_layer(updates),
        )
        .api_route(
            "/events/subscriptions/{subscription_id}",
            delete_with(subscription_delete::handler, subscription_delete::doc).route_layer(deletes),
        )
        .layer(from_fn_with_state((platform, Credentials::Token), authenticate))
        .with_state(app)
}
