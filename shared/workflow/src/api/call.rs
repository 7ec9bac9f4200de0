//! Builds calls of the platform's API.

use platform::outbound::Method;
use platform::{Error, Result};
use serde_json::Value;
use url::Url;

#[derive(Clone, Debug)]
pub struct Call {
    method: Method,
    /// Unescaped, below the API's root.
    path: Vec<String>,
    query: Vec<(String, String)>,
    body: Option<Value>,
}

impl Call {
    /// Builds a call of `method` at a path below the API's root. Each item of `path` is one unescaped segment
    /// and stays one, whatever characters it contains.
    pub fn new<S: Into<String>>(method: Method, path: impl IntoIterator<Item = S>) -> Self {
        Self {
            method,
            path: path.into_iter().map(Into::into).collect(),
            query: Vec::new(),
            body: None,
        }
    }

    pub fn get<S: Into<String>>(path: impl IntoIterator<Item = S>) -> Self {
        Self::new(Method::GET, path)
    }

    pub fn post<S: Into<String>>(path: impl IntoIterator<Item = S>, body: Value) -> Self {
        Self::new(Method::POST, path).with_body(body)
    }

    #[must_use]
    pub fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Adds a query parameter.
    #[must_use]
    pub fn with_query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn body(&self) -> Option<&Value> {
        self.body.as_ref()
    }

    /// 400 for a segment that would change the path.
    pub(super) fn url(&self, base: &Url) -> Result<Url> {
        let mut url = base.clone();
        {
            let mut segments = url
                .path_segments_mut()
                .map_err(|()| Error::internal("the URL of the API has no path"))?;
            segments.pop_if_empty();
            for segment in &self.path {
                // Control characters are dropped from a URL, so "." and a tab would be "." alone.
                if matches!(segment.as_str(), "" | "." | "..") || segment.chars().any(char::is_control) {
                    return Err(Error::invalid(format!(
                        "{segment:?} cannot be a part of a path of the API."
                    )));
                }
                segments.push(segment);
            }
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(call: &Call) -> Result<String> {
        let base = Url::parse("https://api.example.com/prod/api/v1/").unwrap();
        call.url(&base).map(String::from)
    }

    #[test]
    fn a_segment_stays_one_segment() {
        let call = Call::get(["prompts", "a/../b?c#d e%2f"]).with_query("name", "x&y=z");
        assert_eq!(
            url(&call).unwrap(),
            "https://api.example.com/prod/api/v1/prompts/a%2F..%2Fb%3Fc%23d%20e%252f?name=x%26y%3Dz"
        );
        for escape in ["", ".", "..", ".\t.", "\n", "a\u{7f}"] {
            let error = url(&Call::get(["prompts", escape])).unwrap_err();
            assert_eq!(error.status(), 400, "{escape:?}");
        }
    }
}
