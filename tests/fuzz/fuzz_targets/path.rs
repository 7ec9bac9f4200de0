//! Fuzzes request paths: a path is refused, or reaches a handler with its ids; a dot-path finds a JSON value
//! or nothing. The input is a path.
#![no_main]

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Uri};
use axum::routing::get;
use events::path;
use libfuzzer_sys::fuzz_target;
use platform::Clock;
use platform::config::{CorsOrigins, EdgeConfig};
use platform::http::service::normalized;
use platform::http::{Path, edge};
use serde::Deserialize;
use serde_json::json;
use tower::ServiceExt as _;

#[derive(Deserialize)]
struct Ids {
    store_id: String,
    table_name: String,
}

async fn handler(Path(ids): Path<Ids>) {
    for id in [ids.store_id, ids.table_name] {
        assert!(id.chars().count() <= 200 && !id.contains('#') && !id.chars().any(char::is_control), "{id:?}");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else { return };
    if path::check("path", text).is_ok() {
        let body = json!({ "commits": [{ "id": "a" }, []], "0": { "x": null } });
        let _ = path::find(&body, text);
    }
    let Ok(uri) = Uri::try_from(format!("/data/{text}")) else { return };
    let config = EdgeConfig {
        cors: CorsOrigins::None,
    };
    let routes = Router::new().route("/data/{store_id}/tables/{table_name}", get(handler));
    let request = Request::builder().uri(uri).body(Body::empty()).expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(normalized(edge(routes, Clock::System, config)).oneshot(request));
    let status = answer.expect("an answer").status().as_u16();
    assert!([200, 400, 404].contains(&status), "{status} for {text:?}");
});
