//! Computes the size of a body as Lambda transfers it.
//!
//! A request and its answer are JSON texts of at most 6 MB each, in which the body is a string: a quote, a
//! backslash and a line break take two bytes each. A larger answer fails after the function has ended, with
//! a 503 that explains nothing to the caller. So the size is checked first.

use axum::body::{Body, to_bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};

use crate::error::Error;

/// Maximum size of a transferred body, in bytes. Lambda's limit is 6,291,556; the rest is for status and
/// headers.
pub const MAX_SENT_BYTES: usize = 6_200_000;

/// Returns the size of a text as a JSON string, in bytes.
pub fn sent_bytes(text: &[u8]) -> usize {
    let escapes = text.iter().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
        0x00..0x20 => 5,
        _ => 0,
    });
    text.len() + escapes.sum::<usize>()
}

/// Replaces an answer that is too large for Lambda by a 422. Not for streams.
pub(super) async fn bounded(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return Error::internal("the answer broke off").into_response();
    };
    let sent = match is_text(&parts.headers) {
        // Most answers are small and need no count.
        true if body.len() > MAX_SENT_BYTES / 6 => sent_bytes(&body),
        true => body.len(),
        false => body.len().div_ceil(3) * 4,
    };
    if sent > MAX_SENT_BYTES {
        return Error::unprocessable(format!(
            "The answer takes {sent} bytes of the {MAX_SENT_BYTES} that can be sent, in which a quote and a backslash count \
             twice. Ask for less at a time."
        ))
        .into_response();
    }
    Response::from_parts(parts, Body::from(body))
}

/// Decides as Lambda's runtime does: a body that is not text is sent as base64.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
    let Some(Ok(kind)) = kind else { return true };
    kind.starts_with("text/") || kind.contains("json")
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_takes_what_its_json_string_takes(text in "[\\x00-\\x7f\"\\\\é語\u{2028}]{0,200}") {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(sent_bytes(text.as_bytes()) + 2, json.len());
        }
    }

    async fn status(kind: &'static str, body: String) -> StatusCode {
        let response = ([(CONTENT_TYPE, kind)], body).into_response();
        bounded(response).await.status()
    }

    #[tokio::test]
    async fn an_answer_that_lambda_cannot_send_is_refused() {
        let json = "application/json";
        assert_eq!(status(json, "x".repeat(6_000_000)).await, StatusCode::OK);
        assert_eq!(
            status(json, "x".repeat(6_300_000)).await,
            StatusCode::UNPROCESSABLE_ENTITY
        );
        assert_eq!(
            status(json, "\"x".repeat(2_200_000)).await,
            StatusCode::UNPROCESSABLE_ENTITY
        );
        assert_eq!(
            status("text/csv", "\n".repeat(3_200_000)).await,
            StatusCode::UNPROCESSABLE_ENTITY
        );
        let arrow = "application/vnd.apache.arrow.stream";
        assert_eq!(status(arrow, "\"".repeat(4_600_000)).await, StatusCode::OK);
        assert_eq!(
            status(arrow, "x".repeat(4_700_000)).await,
            StatusCode::UNPROCESSABLE_ENTITY
        );
    }
}
