//! Implements `call_https`: a request to a host that the interaction allows, under the address rules of
//! `platform::outbound`.

use std::time::Duration;

use models::Tool;
use platform::outbound::{HeaderMap, HeaderValue, Method, Outbound, OutboundError, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::super::arguments::read;
use super::super::fault::{Fault, Refusal};
use super::describe::described;
use crate::hosts::has_host;

pub const NAME: &str = "call_https";
/// Maximum size of a request body.
const MAX_BODY_BYTES: usize = 100_000;
/// Maximum size of a response that is read.
const MAX_ANSWER_BYTES: u64 = 200_000;
/// Time limit of a request, including the response.
const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    #[serde(default)]
    method: Verb,
    #[serde(default)]
    body: Option<Value>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Verb {
    #[default]
    Get,
    Post,
}

pub fn tool(allowed_hosts: &[String]) -> Tool {
    described(
        NAME,
        &format!(
            "Sends a GET or POST request over HTTPS and answers the status and the body. Allowed hosts: {}.",
            allowed_hosts.join(", ")
        ),
        &json!({
            "url": { "type": "string", "description": "URL with https://." },
            "method": { "type": "string", "enum": ["GET", "POST"], "description": "Default: GET." },
            "body": { "description": "Body of a POST, sent as JSON." },
        }),
        &["url"],
    )
}

pub async fn call(outbound: &Outbound, allowed_hosts: &[String], arguments: &Value) -> Result<String, Fault> {
    let asked: Arguments = read(NAME, arguments)?;
    check_host(&asked.url, allowed_hosts)?;
    let (method, body) = match (asked.method, &asked.body) {
        (Verb::Get, None) => (Method::GET, Vec::new()),
        (Verb::Get, Some(_)) => return Err(Refusal("A GET has no 'body'.".to_owned()).into()),
        (Verb::Post, body) => (
            Method::POST,
            body.as_ref()
                .map(Value::to_string)
                .unwrap_or_default()
                .into_bytes(),
        ),
    };
    if body.len() > MAX_BODY_BYTES {
        return Err(Refusal(format!("The 'body' has more than {MAX_BODY_BYTES} bytes.")).into());
    }
    let mut headers = HeaderMap::new();
    if !body.is_empty() {
        headers.insert("content-type", HeaderValue::from_static("application/json"));
    }
    let request = Request {
        method,
        url: &asked.url,
        headers,
        body,
        max_bytes: MAX_ANSWER_BYTES,
        deadline: DEADLINE,
    };
    let mut answer = outbound.send(request).await.map_err(refused)?;
    let status = answer.status;
    if (300..400).contains(&status) {
        return Err(refused(OutboundError::Redirect(status)).into());
    }
    let mut body = Vec::new();
    let is_whole = answer.beginning(&mut body).await.map_err(refused)?;
    Ok(json!({
        "status": status,
        "body": String::from_utf8_lossy(&body),
        "is_whole": is_whole,
    })
    .to_string())
}

fn refused(error: OutboundError) -> Refusal {
    Refusal(format!("The URL was not asked, or gave no answer: {error}."))
}

/// Refuses a URL whose host the interaction does not allow.
fn check_host(url: &str, allowed_hosts: &[String]) -> Result<(), Refusal> {
    let refusal = |what: &str| {
        let hosts = allowed_hosts.join(", ");
        Err(Refusal(format!("{what}. Allowed hosts: {hosts}.")))
    };
    let Ok(parsed) = Url::parse(url) else {
        return refusal("The argument 'url' is not a URL");
    };
    match has_host(allowed_hosts, &parsed) {
        true => Ok(()),
        false => refusal("The host of the URL is not allowed for this agent"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_hosts_and_ports_are_asked() {
        let allowed = ["api.example.com".to_owned(), "Other.example:8443".to_owned()];
        for url in [
            "https://api.example.com/x",
            "https://API.example.com:443/",
            "https://api.example.com./",
            "https://other.example:8443/",
        ] {
            check_host(url, &allowed).unwrap();
        }
        for url in [
            "https://example.com/",
            "https://api.example.com:8443/",
            "https://api.example.com.evil.example/",
            "https://evil.example/?api.example.com",
            "https://api.example.com@evil.example/",
            "https://other.example/",
            "api.example.com",
            "data:text/plain,api.example.com",
        ] {
            assert!(check_host(url, &allowed).is_err(), "{url}");
        }
    }
}
