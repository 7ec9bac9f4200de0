//! Negotiates the format of an answer, and detects that the caller already has the answer.
//!
//! The tag of an answer is derived from its version and its request, so `If-None-Match` is decided without a
//! child process. Only an answer that depends on nothing else gets a tag: the check of the statement detects
//! randomness and the clock.

use axum::http::{HeaderMap, header};
use lake::{EngineLimits, Format, parameters};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::query::QueryRequest;

/// Media type of Arrow's IPC stream.
pub const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Version of the answers' bytes. Increase it when the same query over the same version is answered in other
/// bytes.
const ANSWERS: u32 = 1;

pub fn content_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Csv => "text/csv; charset=utf-8; header=present",
        Format::Arrow => ARROW,
    }
}

/// Returns the format that `Accept` prefers. JSON where the header is missing or names no supported format,
/// because many clients send such a header and never read the answer's type.
pub fn accepted(headers: &HeaderMap) -> Format {
    let mut ranges = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        ranges.extend(value.to_str().unwrap_or_default().split(',').filter_map(range));
    }
    // A stable sort: among equal qualities, the first wins.
    ranges.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    let preferred = ranges.into_iter().find(|(_, quality)| *quality > 0.0);
    preferred.map_or(Format::Json, |(format, _)| format)
}

/// Parses a media range into a supported format and its quality.
fn range(text: &str) -> Option<(Format, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let format = match parts.next()?.to_ascii_lowercase().as_str() {
        "text/csv" | "text/*" => Format::Csv,
        ARROW => Format::Arrow,
        "application/json" | "application/*" | "*/*" => Format::Json,
        _ => return None,
    };
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let quality = match quality {
        None => 1.0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|quality| (0.0..=1.0).contains(quality))?,
    };
    Some((format, quality))
}

/// Returns the tag of an answer: the same for the same query over the same version in the same format. `form`
/// distinguishes answers that differ in more than their format.
pub fn tag(version: &str, request: &QueryRequest, format: Format, form: &str) -> String {
    let names = parameters::names(&request.sql);
    let used: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| request.params.get(&name).cloned().map(|value| (name, value)))
        .collect();
    let rows = EngineLimits::rows(request.limit);
    let text = serde_json::json!([ANSWERS, version, request.sql, used, rows, format, form]).to_string();
    let mut hash = hex::encode(Sha256::digest(text));
    hash.truncate(32);
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accept(value: &str) -> Format {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, value.parse().unwrap());
        accepted(&headers)
    }

    #[test]
    fn the_most_wanted_form_is_taken() {
        assert_eq!(accepted(&HeaderMap::new()), Format::Json);
        for (value, format) in [
            ("*/*", Format::Json),
            ("application/json", Format::Json),
            ("application/json, text/plain, */*", Format::Json),
            ("text/csv", Format::Csv),
            ("TEXT/CSV; charset=utf-8", Format::Csv),
            ("text/csv, */*", Format::Csv),
            ("text/csv;q=0.5, */*;q=0.8", Format::Json),
            ("application/json;q=0.5, text/csv", Format::Csv),
            ("application/json, text/csv", Format::Json),
            ("text/csv;q=0, application/json", Format::Json),
            ("text/csv;q=0", Format::Json),
            ("text/csv;q=much", Format::Json),
            ("application/vnd.apache.arrow.stream", Format::Arrow),
            ("application/vnd.apache.arrow.file", Format::Json),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Format::Json),
            ("image/png", Format::Json),
            ("", Format::Json),
            (",;;q=,", Format::Json),
        ] {
            assert_eq!(accept(value), format, "{value}");
        }
    }

    #[test]
    fn a_tag_is_of_what_decides_the_answer() {
        let request = |body: &str| serde_json::from_str::<QueryRequest>(body).unwrap();
        let of = |body: &str| tag("v1", &request(body), Format::Json, "");
        let plain = of(r#"{ "sql": "select {{a}}", "params": { "a": 1 } }"#);
        assert_eq!(
            plain,
            of(r#"{ "params": { "b": 2, "a": 1 }, "limit": 1000, "sql": "select {{a}}" }"#)
        );
        for other in [
            r#"{ "sql": "select {{a}}", "params": { "a": 2 } }"#,
            r#"{ "sql": "select {{a}}", "params": { "a": "1" } }"#,
            r#"{ "sql": "select {{a}} ", "params": { "a": 1 } }"#,
            r#"{ "sql": "select {{a}}", "params": { "a": 1 }, "limit": 10 }"#,
            r#"{ "sql": "select {{a}}" }"#,
        ] {
            assert_ne!(plain, of(other), "{other}");
        }
        let same = request(r#"{ "sql": "select {{a}}", "params": { "a": 1 } }"#);
        assert_ne!(plain, tag("v2", &same, Format::Json, ""));
        assert_ne!(plain, tag("v1", &same, Format::Csv, ""));
        assert_ne!(plain, tag("v1", &same, Format::Json, "version"));
    }
}
