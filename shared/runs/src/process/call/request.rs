//! Builds and sends a request to a service that a definition names.

use std::time::Duration;

use platform::outbound::{
    self, HeaderMap, HeaderName, HeaderValue, Method, Outbound, OutboundError, is_refused_header,
};
use process::Data;
use process::flow::has_dot_segment;
use process::limits::MAX_OUTPUT_BYTES;
use serde_json::Value;
use url::Url;

use super::answer::{self, Response, described};
use super::body;
use super::error::{CallError, Ended, ErrorKind};
use super::fields::{object, scalar};
use super::keyring::Keyring;
use super::part::Part;

/// Time limit for the response of a service.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("accept-encoding");
const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");

pub(super) struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Vec<u8>,
    /// Whether the address contains a secret.
    pub hides_address: bool,
    /// Whether a header contains a secret.
    hides_headers: bool,
    hides_query: bool,
}

/// Resolves an address. Fails where it is no text.
pub(super) async fn address(uri: &Part, keyring: &mut Keyring<'_>) -> Result<String, Ended> {
    let address = uri.resolve(keyring).await?.as_text();
    let not_text = || CallError::new(ErrorKind::Expression, "The address of the call is not a text.");
    Ok(address.ok_or_else(not_text)?)
}

fn configuration(detail: impl Into<String>) -> CallError {
    CallError::new(ErrorKind::Configuration, detail)
}

impl Request {
    pub fn new(method: &str, address: &str) -> Result<Self, CallError> {
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes());
        // The parser would remove it with the part before, and the address may have data in it.
        if has_dot_segment(address) {
            return Err(configuration(
                "The path of the call has a part '.' or '..'; write the path that is meant.",
            ));
        }
        Ok(Self {
            method: method.map_err(|_| configuration("The method of the call is none of HTTP."))?,
            url: Url::parse(address).map_err(|_| configuration("The address of the call is not a URL."))?,
            headers: HeaderMap::new(),
            body: Vec::new(),
            hides_address: false,
            hides_headers: false,
            hides_query: false,
        })
    }

    /// Adds the fields of an object to the query. Leaves out null, and adds a field for each item of a list.
    pub fn add_query(&mut self, fields: &Data, is_plain: bool) -> Result<(), CallError> {
        self.hides_query |= !is_plain;
        let mut pairs = Vec::new();
        for (name, value) in object(fields, "query")? {
            match value.items() {
                Some(items) => {
                    for item in items {
                        pairs.push((name.clone(), scalar(&item, &name)?));
                    }
                }
                None if value == Data::null() => {}
                None => {
                    let text = scalar(&value, &name)?;
                    pairs.push((name, text));
                }
            }
        }
        if !pairs.is_empty() {
            self.url.query_pairs_mut().extend_pairs(pairs);
        }
        Ok(())
    }

    /// Adds the fields of an object as headers. Leaves out null.
    pub fn add_headers(&mut self, fields: &Data, is_plain: bool) -> Result<(), CallError> {
        self.hides_headers |= !is_plain;
        for (name, value) in object(fields, "headers")? {
            if value != Data::null() {
                self.add_header(&name, &scalar(&value, &name)?)?;
            }
        }
        Ok(())
    }

    pub fn add_header(&mut self, name: &str, value: &str) -> Result<(), CallError> {
        if is_refused_header(name) {
            return Err(configuration(format!(
                "A call sets no header '{name}': only a browser, a proxy or the connection does; remove it."
            )));
        }
        let header = HeaderName::try_from(name.to_ascii_lowercase());
        let header = header.map_err(|_| configuration(format!("'{name}' is not the name of a header.")))?;
        let value = HeaderValue::try_from(value).map_err(|_| {
            configuration(format!(
                "The header '{name}' holds a character that no header takes."
            ))
        })?;
        if header == ACCEPT_ENCODING && !answer::can_read(&value) {
            return Err(configuration(
                "A call reads answers of the encodings gzip and deflate, and others are not to be asked for: remove the \
                 header 'accept-encoding', which is sent anyway.",
            ));
        }
        self.headers.append(header, value);
        Ok(())
    }

    /// Sends the body in the form of its content type. Without one, a text is sent as text, and any other
    /// value as JSON.
    pub fn set_body(&mut self, body: &Data) -> Result<(), CallError> {
        if let Some(kind) = self.headers.get(CONTENT_TYPE) {
            let kind = String::from_utf8_lossy(kind.as_bytes());
            self.body = body::encoded(body, &kind)?;
            return Ok(());
        }
        let (bytes, kind) = match body.as_text() {
            Some(text) => (text.into_bytes(), "text/plain; charset=utf-8"),
            None => (body.get().as_bytes().to_vec(), "application/json"),
        };
        self.body = bytes;
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Ok(())
    }

    pub fn authorize(&mut self, header: HeaderValue) {
        self.headers.insert(AUTHORIZATION, header);
    }

    /// Sends the request with the secrets of the keyring. Fails where one of them is not for the host, and
    /// where the status of the response is an error.
    pub async fn send(&self, keyring: &Keyring<'_>, takes_redirects: bool) -> Result<Response, Ended> {
        keyring.check_host(&self.url)?;
        let sent = self.exchange(&keyring.services.outbound).await;
        let host = match self.hides_address {
            true => "",
            false => self.url.host_str().unwrap_or_default(),
        };
        let mut response = sent.map_err(|error| {
            if let Some(cause) = error.cause() {
                let cause = keyring.struck(cause);
                tracing::info!(host, cause, "a call of a process has no answer");
            }
            CallError::new(
                ErrorKind::Communication,
                format!("The service '{host}' gives no answer: {error}."),
            )
        })?;
        // A secret in a compressed body could not be struck out.
        response.decompress()?;
        let response = keyring.struck_answer(response).await?;
        let last = if takes_redirects { 399 } else { 299 };
        if (200..=last).contains(&response.status) {
            return Ok(response);
        }
        let detail = format!(
            "The service '{host}' answers with the status {}.",
            response.status
        );
        Err(CallError {
            status: Some(response.status),
            response: Some(response.refusal().as_raw().to_owned()),
            ..CallError::new(ErrorKind::Communication, detail)
        }
        .into())
    }

    async fn exchange(&self, outbound: &Outbound) -> Result<Response, OutboundError> {
        let mut headers = self.headers.clone();
        // Without it, a service may compress its answer in any way.
        let encodings = HeaderValue::from_static(answer::ENCODINGS);
        headers.entry(ACCEPT_ENCODING).or_insert(encodings);
        let request = outbound::Request {
            method: self.method.clone(),
            url: self.url.as_str(),
            headers,
            body: self.body.clone(),
            max_bytes: MAX_OUTPUT_BYTES as u64,
            deadline: DEADLINE,
        };
        let mut opened = outbound.send(request).await?;
        let body = opened.whole().await?;
        Ok(Response {
            status: opened.status,
            headers: opened.headers,
            body,
        })
    }

    /// Describes the request for the output of the task, without the parts that may contain a secret.
    pub fn described(&self) -> Value {
        let mut url = self.url.clone();
        if self.hides_query {
            url.set_query(None);
        }
        let uri = match self.hides_address {
            true => Value::Null,
            false => url.as_str().into(),
        };
        let mut headers = self.headers.clone();
        headers.remove(AUTHORIZATION);
        let headers = match self.hides_headers {
            true => Value::Object(serde_json::Map::new()),
            false => described(&headers),
        };
        serde_json::json!({ "method": self.method.as_str(), "uri": uri, "headers": headers })
    }
}
