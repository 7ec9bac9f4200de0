//! Serves the data store endpoints: embedded, versioned analytical databases that are queried in SQL.

mod ai_schema;
mod archive;
mod chart;
mod create;
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
mod download;
mod get;
mod import_create;
mod import_get;
mod list;
mod model;
mod negotiation;
mod query;
mod query_batch;
mod query_doc;
mod query_validate;
mod schema_get;
mod schema_history;
mod schema_update;
mod table_alter;
mod table_create;
mod table_drop;
mod table_get;
mod table_list;
mod version_list;
mod version_query;
mod version_rollback;
mod version_snapshot;

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, post_with, put_with};
use axum::Extension;
use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use lake::store::DataStores;
use platform::Platform;
use platform::http::audit::record;
use platform::http::{BodyLimit, Credentials, audited, authenticate};
use platform::records::audit::AuditAction;
use platform::records::dashboards::Dashboards;

/// Maximum number of bytes of a body. Lambda accepts 6 MB, in which each quote counts twice
/// ([`platform::http::sent_size`]).
const MAX_BODY_BYTES: usize = 5_500_000;

#[derive(Clone)]
pub struct App {
    platform: Platform,
    stores: DataStores,
    dashboards: Dashboards,
}

impl FromRef<App> for Platform {
    fn from_ref(app: &App) -> Self {
        app.platform.clone()
    }
}

/// Returns the routes relative to the API root.
pub fn routes(platform: Platform, stores: DataStores) -> ApiRouter {
    let mutation = |action| from_fn_with_state(audited(&platform, action, "data_store"), record);
    let creates = mutation(AuditAction::Create);
    let updates = mutation(AuditAction::Update);
    let imports = mutation(AuditAction::BulkUpdate);
    let deletes = mutation(AuditAction::Delete);
    let (snapshots, rollbacks) = (updates.clone(), updates.clone());
    let of_dashboard = |action| {
        let audited = audited(&platform, action, "dashboard").identified_by("dashboard_id");
        from_fn_with_state(audited, record)
    };
    let creates_dashboard = of_dashboard(AuditAction::Create);
    let updates_dashboard = of_dashboard(AuditAction::Update);
    let deletes_dashboard = of_dashboard(AuditAction::Delete);
    let app = App {
        dashboards: Dashboards::new(platform.records.clone()),
        platform: platform.clone(),
        stores,
    };

    ApiRouter::new()
        .api_route("/data", get_with(list::handler, list::doc))
        .api_route(
            "/data",
            post_with(create::handler, create::doc).route_layer(creates),
        )
        .api_route("/data/{store_id}", get_with(get::handler, get::doc))
        .api_route(
            "/data/{store_id}",
            delete_with(archive::handler, archive::doc).route_layer(deletes),
        )
        .api_route(
            "/data/{store_id}/dashboards",
            get_with(dashboard_list::handler, dashboard_list::doc),
        )
        .api_route(
            "/data/{store_id}/dashboards",
            post_with(dashboard_create::handler, dashboard_create::doc).route_layer(creates_dashboard),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}",
            get_with(dashboard_get::handler, dashboard_get::doc),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}",
            put_with(dashboard_update::handler, dashboard_update::doc).route_layer(updates_dashboard.clone()),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}",
            delete_with(dashboard_archive::handler, dashboard_archive::doc).route_layer(deletes_dashboard),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versioning",
            put_with(dashboard_versioning::handler, dashboard_versioning::doc)
                .route_layer(updates_dashboard.clone()),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versions",
            get_with(dashboard_version_list::handler, dashboard_version_list::doc),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versions",
            post_with(dashboard_snapshot::handler, dashboard_snapshot::doc)
                .route_layer(updates_dashboard.clone()),
        )
        .api_route(
            "/data/{store_id}/dashboards/{dashboard_id}/versions/{version_id}/promote",
            post_with(dashboard_promote::handler, dashboard_promote::doc).route_layer(updates_dashboard),
        )
        .api_route(
            "/data/{store_id}/download",
            get_with(download::handler, download::doc),
        )
        .api_route(
            "/data/{store_id}/import",
            post_with(import_create::handler, import_create::doc).route_layer(imports),
        )
        .api_route(
            "/data/{store_id}/import/{import_id}",
            get_with(import_get::handler, import_get::doc),
        )
        .api_route("/data/{store_id}/query", post_with(query::handler, query::doc))
        .api_route(
            "/data/{store_id}/query/batch",
            post_with(query_batch::handler, query_batch::doc),
        )
        .api_route(
            "/data/{store_id}/query/validate",
            post_with(query_validate::handler, query_validate::doc),
        )
        .api_route(
            "/data/{store_id}/schema",
            get_with(schema_get::handler, schema_get::doc),
        )
        .api_route(
            "/data/{store_id}/schema",
            put_with(schema_update::handler, schema_update::doc).route_layer(updates.clone()),
        )
        .api_route(
            "/data/{store_id}/schema/history",
            get_with(schema_history::handler, schema_history::doc),
        )
        .api_route(
            "/data/{store_id}/tables",
            get_with(table_list::handler, table_list::doc),
        )
        .api_route(
            "/data/{store_id}/tables",
            post_with(table_create::handler, table_create::doc).route_layer(updates.clone()),
        )
        .api_route(
            "/data/{store_id}/tables/{table_name}",
            get_with(table_get::handler, table_get::doc),
        )
        .api_route(
            "/data/{store_id}/tables/{table_name}",
            put_with(table_alter::handler, table_alter::doc).route_layer(updates.clone()),
        )
        .api_route(
            "/data/{store_id}/tables/{table_name}",
            delete_with(table_drop::handler, table_drop::doc).route_layer(updates),
        )
        .api_route(
            "/data/{store_id}/versions",
            get_with(version_list::handler, version_list::doc),
        )
        .api_route(
            "/data/{store_id}/versions",
            post_with(version_snapshot::handler, version_snapshot::doc).route_layer(snapshots),
        )
        .api_route(
            "/data/{store_id}/versions/{version_id}/query",
            post_with(version_query::handler, version_query::doc),
        )
        .api_route(
            "/data/{store_id}/versions/{version_id}/rollback",
            post_with(version_rollback::handler, version_rollback::doc).route_layer(rollbacks),
        )
        .layer(from_fn_with_state(
            (platform, Credentials::TokenOrApiKey),
            authenticate,
        ))
        .layer(Extension(BodyLimit(MAX_BODY_BYTES)))
        .with_state(app)
}
