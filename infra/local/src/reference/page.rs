//! Renders the page at `/docs`, with a policy that lets a browser run only the page's own content.

use aide::swagger::Swagger;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Returns the page for the document at this path.
pub fn page(document: &str) -> impl IntoResponse + Clone + use<> {
    let html = Swagger::new(document).with_title("Millrace").html();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hashes(&html, "script"),
        hashes(&html, "style"),
    );
    (
        [
            (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
            (CONTENT_SECURITY_POLICY, policy),
        ],
        html,
    )
}

/// Returns the hashes of the page's inline elements of a kind, in the form of the policy.
fn hashes(html: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let mut hashes = Vec::new();
    let mut rest = html;
    while let Some((content, after)) = rest
        .split_once(&open)
        .and_then(|(_, after)| after.split_once(&close))
    {
        hashes.push(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content))));
        rest = after;
    }
    hashes.join(" ")
}
