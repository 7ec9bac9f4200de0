//! Adopts what Lambda and API Gateway report about a request: its deadline, its ids, and its base path.
//!
//! The base path before the API root is a stage or a path mapping of a custom domain, and one deployment has
//! both. So it is taken from each request and not from a setting.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use tokio::time::Instant;

use super::deadline::Deadline;

/// API root; the base URL ends in it.
pub const API_ROOT: &str = "/api/v1";

/// Path before the API root in the request's URL; a request extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BasePath(pub(super) String);

/// Ids that AWS assigned to the request, for the log; a request extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AwsIds {
    /// `requestId` in the access log of API Gateway.
    pub(super) gateway_request_id: Option<String>,
    /// Root of the X-Ray trace.
    pub(super) trace_id: Option<String>,
}

/// What the host of a function reports about a request.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// Time at which the host ends the function.
    pub function_ends: Instant,
    /// X-Ray's header of the trace.
    pub trace: Option<&'a str>,
    /// `requestId` in the access log of API Gateway.
    pub gateway_request_id: Option<String>,
    /// Path of the URL that the caller requested, with the base path.
    pub requested_path: Option<&'a str>,
}

/// Gives a request what its host reports about it.
pub fn adopt(request: &mut Request, invocation: Invocation<'_>) {
    let base_path = invocation.requested_path.and_then(before_root).map(str::to_owned);
    let below = base_path
        .as_deref()
        .and_then(|base_path| without(request.uri(), base_path));
    if let Some(below) = below {
        *request.uri_mut() = below;
    }
    let extensions = request.extensions_mut();
    extensions.insert(Deadline::at(invocation.function_ends));
    extensions.insert(AwsIds {
        gateway_request_id: invocation.gateway_request_id,
        trace_id: invocation.trace.and_then(trace_root),
    });
    if let Some(base_path) = base_path {
        extensions.insert(BasePath(base_path));
    }
}

/// Parses `Root=1-6…;Parent=…;Sampled=1`.
fn trace_root(header: &str) -> Option<String> {
    let root = header.split(';').find_map(|part| part.strip_prefix("Root="))?;
    Some(root.to_owned())
}

fn before_root(path: &str) -> Option<&str> {
    let (place, _) = path
        .match_indices(API_ROOT)
        .find(|(place, _)| matches!(path.as_bytes().get(place + API_ROOT.len()), None | Some(b'/')))?;
    path.get(..place)
}

/// Removes the base path from the URI. None where the URI does not start with it.
fn without(uri: &Uri, base_path: &str) -> Option<Uri> {
    let path_and_query = uri.path_and_query()?.as_str();
    let below = path_and_query
        .strip_prefix(base_path)
        .filter(|below| below.starts_with(API_ROOT) && !base_path.is_empty())?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(below).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_path_is_what_stands_before_the_first_root() {
        for (path, base_path) in [
            ("/api/v1/prompts", Some("")),
            ("/prod/api/v1/prompts/api/v1/x", Some("/prod")),
            ("/api/v10/api/v1", Some("/api/v10")),
            ("/prod/api/v1", Some("/prod")),
            ("/prod/api/v2/prompts", None),
        ] {
            assert_eq!(before_root(path), base_path, "{path}");
        }
    }

    #[test]
    fn a_mapped_path_is_removed_and_a_stage_is_not_there() {
        let below = |uri: &'static str, base_path: &str| {
            without(&Uri::from_static(uri), base_path).map(|uri| uri.to_string())
        };
        assert_eq!(
            below("/v2/api/v1/a?b=%2F", "/v2").as_deref(),
            Some("/api/v1/a?b=%2F")
        );
        assert_eq!(
            below("https://api.example.com/v2/api/v1/a", "/v2").as_deref(),
            Some("https://api.example.com/api/v1/a")
        );
        assert_eq!(below("/api/v1/a", "/prod"), None);
        assert_eq!(below("/api/v1/a", ""), None);
    }

    #[test]
    fn the_trace_is_the_root_of_the_header() {
        let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        assert_eq!(
            trace_root(header).as_deref(),
            Some("1-5759e988-bd862e3fe1be46a994272793")
        );
        assert_eq!(trace_root("Sampled=0"), None);
    }
}
