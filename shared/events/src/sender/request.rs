//! What a channel reads of a sender's request.

use http::{HeaderMap, header};

#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method in upper case.
    pub method: &'a str,
    /// URL as the sender has it, with its query.
    pub url: &'a str,
    pub headers: &'a HeaderMap,
    /// Body as it was sent.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Returns the value of a header without the blanks around it; None where it is missing or no text.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let value = self.headers.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok().map(str::trim)
    }

    /// Returns the decoded value of a parameter of the query.
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.url.split_once('?')?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs
            .find(|(parameter, _)| parameter == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the content type in lower case, without its parameters; empty where there is none.
    pub fn content_type(&self) -> String {
        let text = self.header(header::CONTENT_TYPE.as_str()).unwrap_or_default();
        let essence = text.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    }

    /// Whether the body is said to be a form of the type `application/x-www-form-urlencoded`.
    pub fn is_form(&self) -> bool {
        self.content_type() == "application/x-www-form-urlencoded"
    }
}
