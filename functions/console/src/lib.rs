//! Serves the console: static files, and the settings of the deployment for the page.
//!
//! The page uses the public API alone and holds its caller's token, so this function reads no table and needs
//! no permission. It is a function, not a bucket behind the API, because its files then arrive and roll back
//! with the deployment's code.
//!
//! | Path | Answer |
//! |---|---|
//! | `/console` | the page, with the proof that it gets a developer's token for, where the server gives one |
//! | `/console/config.json` | [`Settings`] that the page needs |
//! | `/console/assets/<name>` | a file whose name changes with its content |

mod files;
mod page;
mod policy;
mod settings;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use platform::config::ConfigError;
use platform::{Error, ErrorKind, Result};

use files::Files;
use page::{ALWAYS_ASKED, Page};
pub use settings::{Oidc, Settings};

/// A file with its content's hash in its name never changes: a year, in seconds.
const FOREVER: &str = "public, max-age=31536000, immutable";

#[derive(Clone)]
pub struct Console(Arc<Parts>);

struct Parts {
    files: Files,
    /// The page with its proof.
    page: Page,
    settings: Settings,
    policy: String,
}

impl Console {
    /// Reads the console's files into memory: about 3 MB.
    pub fn open(settings: Settings) -> Result<Self, ConfigError> {
        let files = Files::read(&settings.folder)?;
        Ok(Self(Arc::new(Parts {
            page: Page::new(&files, &settings)?,
            files,
            policy: policy::policy(&settings),
            settings,
        })))
    }

    /// Returns the routes, from the origin or the API's stage.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/console", get(page))
            .route("/console/{*path}", get(file))
            .with_state(self)
    }
}

async fn page(State(console): State<Console>, headers: HeaderMap) -> impl IntoResponse {
    let (content, caching) = console.0.page.answer(&headers);
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, console.0.policy.clone()),
        (CACHE_CONTROL, caching.to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    (headers, content)
}

async fn file(State(console): State<Console>, Path(path): Path<String>) -> Result<Response> {
    // From a page at `/console/`, the relative addresses of its files begin with a second `console/`. Whether
    // API Gateway passes that slash on is not documented.
    let name = path.strip_prefix("console/").unwrap_or(&path);
    if name == "config.json" {
        return Ok(([(CACHE_CONTROL, ALWAYS_ASKED)], Json(&console.0.settings)).into_response());
    }
    let file = console.0.files.asset(name).ok_or_else(missing)?;
    let headers = [(CONTENT_TYPE, file.media_type), (CACHE_CONTROL, FOREVER)];
    Ok((headers, file.content.clone()).into_response())
}

fn missing() -> Error {
    Error::new(ErrorKind::NotFound, "There is nothing at this path.")
}
