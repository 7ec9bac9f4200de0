//! Serves the page, with its proof where the server gives a developer's token to it.
//!
//! Scripts of other pages may read any answer (CORS), so the proof is only in a page that a browser asks for
//! to show it: no script can set the headers in which a browser says how it asks.

use axum::http::HeaderMap;
use axum::http::header::{HeaderName, ORIGIN};
use bytes::Bytes;
use platform::config::{ConfigError, Secret};

use crate::files::Files;
use crate::settings::Settings;

/// Place of the proof in `index.html`.
const PLACE: &str = r#"<meta name="page-proof" content="" />"#;
/// How a browser asks; those of before 2023 do not say it.
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// The page and the settings name what is current, so each use asks for them again.
pub const ALWAYS_ASKED: &str = "no-cache";
const NEVER_KEPT: &str = "no-store";

pub struct Page {
    content: Bytes,
    with_proof: Option<Bytes>,
}

impl Page {
    /// Fails where the page is to have a proof and has no place for it.
    pub fn new(files: &Files, settings: &Settings) -> Result<Self, ConfigError> {
        let content = files.page().content.clone();
        let with_proof = settings.page_proof.as_ref();
        Ok(Self {
            with_proof: with_proof.map(|proof| with(proof, &content)).transpose()?,
            content,
        })
    }

    /// Returns the page for a request, and how long it may be kept.
    pub fn answer(&self, request: &HeaderMap) -> (Bytes, &'static str) {
        match &self.with_proof {
            Some(page) if is_shown(request) => (page.clone(), NEVER_KEPT),
            _ => (self.content.clone(), ALWAYS_ASKED),
        }
    }
}

fn with(proof: &Secret, page: &[u8]) -> Result<Bytes, ConfigError> {
    let page = String::from_utf8_lossy(page);
    if page.matches(PLACE).count() != 1 {
        return Err(ConfigError::new(format!(
            "The page of the console has no place for its proof, {PLACE}: it is of another release. `infra/console/build` builds it again."
        )));
    }
    let place = PLACE.replace(r#"content="""#, &format!(r#"content="{}""#, proof.expose()));
    Ok(page.replace(PLACE, &place).into_bytes().into())
}

/// Whether a browser asks for the page to show it. A script that may read an answer from another origin is
/// told apart by `Origin`.
fn is_shown(request: &HeaderMap) -> bool {
    let mode = request.get(FETCH_MODE);
    !request.contains_key(ORIGIN) && mode.is_none_or(|mode| mode == "navigate")
}
