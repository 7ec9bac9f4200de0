//! Serves the data store endpoints: embedded, versioned analytical databases that are queried in SQL.

mod ai_schema;
mod chart;
mod dashboard_archive;
mod dashboard_change;
mod dashboard_check;
mod dashboard_create;
mod dashboard_get;
mod dashboard_list;
mod dashboard_model;
mod dashboard_promote;
mod dashboard_snapshot;
mod dashboard_update;
mod dashboard_version_list;
mod dashboard_versioning;
mod import_create;
mod import_get;
mod model;
mod negotiation;
mod query;
mod query_batch;
mod query_doc;
mod query_validate;
mod schema_get;
mod schema_history;
mod schema_update;
mod store_archive;
mod store_create;
mod store_download;
mod store_get;
mod store_list;
mod table_alter;
mod table_create;
mod table_drop;
mod table_get;
mod table_list;
mod upload_create;
mod version_list;
mod version_query;
mod version_rollback;
mod version_snapshot;

use aide::axum::ApiRouter;
use axum::Extension;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use lake::records::dashboards::Dashboards;
use lake::store::{DataStores, Loaded};
use platform::http::text::check_resource_id;
use platform::http::{BodyLimit, Credentials, authenticate};
use platform::{Platform, Result, Tenant};

/// Maximum number of bytes of a body. Lambda accepts 6 MB, in which each quote counts twice
/// ([`platform::http::sent_size`]).
const MAX_BODY_BYTES: usize = 5_500_000;

#[derive(Clone)]
pub struct App {
    platform: Platform,
    stores: DataStores,
    dashboards: Dashboards,
}

impl App {
    /// Loads a version of a store, by default the current one; 404 if one of the two is missing.
    async fn load(&self, tenant: &Tenant, store: &str, version: Option<&str>) -> Result<Loaded> {
        match version {
            Some(version) => {
                check_resource_id("version_id", version)?;
                self.stores.load_version(tenant, store, version).await
            }
            None => self.stores.load(tenant, store).await,
        }
    }
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, stores: DataStores) -> ApiRouter {
    let app = App {
        dashboards: Dashboards::new(platform.records.clone()),
        platform: platform.clone(),
        stores,
    };

    let p = &platform;
    ApiRouter::new()
        .api_route("/data", store_list::route().merge(store_create::route(p)))
        .api_route(
            "/data/{store_id}",
            store_get::route().merge(store_archive::route(p)),
        )
        .api_route(
            "/data/{store_id}/dashboards",
            dashboard_list::route().merge(dashboard_create::route(p)),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}",
            dashboard_get::route()
                .merge(dashboard_update::route(p))
                .merge(dashboard_archive::route(p)),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versioning",
            dashboard_versioning::route(p),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versions",
            dashboard_version_list::route().merge(dashboard_snapshot::route(p)),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versions/{version_id}/promote",
            dashboard_promote::route(p),
        )
        .api_route("/data/{store_id}/download", store_download::route())
        .api_route("/data/{store_id}/import", import_create::route(p))
        .api_route("/data/{store_id}/import/{import_id}", import_get::route())
        .api_route("/data/{store_id}/query", query::route())
        .api_route("/data/{store_id}/query/batch", query_batch::route())
        .api_route("/data/{store_id}/query/validate", query_validate::route())
        .api_route(
            "/data/{store_id}/schema",
            schema_get::route().merge(schema_update::route(p)),
        )
        .api_route("/data/{store_id}/schema/history", schema_history::route())
        .api_route(
            "/data/{store_id}/tables",
            table_list::route().merge(table_create::route(p)),
        )
        .api_route(
            "/data/{store_id}/tables/{table_name}",
            table_get::route()
                .merge(table_alter::route(p))
                .merge(table_drop::route(p)),
        )
        .api_route("/data/{store_id}/uploads", upload_create::route())
        .api_route(
            "/data/{store_id}/versions",
            version_list::route().merge(version_snapshot::route(p)),
        )
        .api_route(
            "/data/{store_id}/versions/{version_id}/query",
            version_query::route(),
        )
        .api_route(
            "/data/{store_id}/versions/{version_id}/rollback",
            version_rollback::route(p),
        )
        .layer(from_fn_with_state((platform, Credentials::Headers), authenticate))
        .layer(Extension(BodyLimit(MAX_BODY_BYTES)))
        .with_state(app)
}
