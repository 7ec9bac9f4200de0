//! Describes a request, and checks its URL and its headers.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use hyper::header::HeaderMap;

use super::error::OutboundError;
use super::headers::is_refused_header;
use super::rules::Rules;
use super::target;

pub struct Request<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// Maximum size of the answer's body that is read.
    pub max_bytes: u64,
    /// Time limit of everything, including the body of the answer.
    pub deadline: Duration,
}

impl<'a> Request<'a> {
    /// Describes a request without a body and without headers of its own.
    pub fn get(url: &'a str, max_bytes: u64, deadline: Duration) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Vec::new(),
            max_bytes,
            deadline,
        }
    }

    pub(super) fn checked(self, rules: &Rules) -> Result<hyper::Request<Full<Bytes>>, OutboundError> {
        let uri = target::parse(self.url, rules)?;
        if let Some(name) = self.headers.keys().find(|name| is_refused_header(name.as_str())) {
            return Err(OutboundError::Refused(format!(
                "its request has the header '{name}', which only a browser, a proxy or the connection sets"
            )));
        }
        let mut request = hyper::Request::new(Full::new(Bytes::from(self.body)));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}
