//! Builds the answers of handlers.

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response as ApiResponse};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::invocation::API_ROOT;

/// Header with the token of the next page; missing on the last page.
pub static NEXT_PAGE_TOKEN: HeaderName = HeaderName::from_static("x-next-page-token");

/// Id of the resource that a request created, for its audit record; a response extension.
#[derive(Clone, Debug)]
pub struct CreatedResource(pub String);

/// The resource that was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Deleted {
    /// The same as in the path.
    pub id: String,
    /// Number of deleted resources: always 1.
    pub count: u32,
}

impl Deleted {
    pub fn one(id: String) -> Self {
        Self { id, count: 1 }
    }
}

/// An answer with status, headers and a JSON body.
pub struct Reply<T> {
    status: StatusCode,
    location: Option<String>,
    etag: Option<String>,
    next_page_token: Option<String>,
    created: Option<CreatedResource>,
    body: T,
}

impl<T> Reply<T> {
    /// 200 with a body.
    pub fn ok(body: T) -> Self {
        Self {
            status: StatusCode::OK,
            location: None,
            etag: None,
            next_page_token: None,
            created: None,
            body,
        }
    }

    /// 201 with a body, the new resource's id and its path under the API root.
    pub fn created(id: &str, path: &str, body: T) -> Self {
        Self {
            status: StatusCode::CREATED,
            location: Some(format!("{API_ROOT}{path}")),
            etag: None,
            next_page_token: None,
            created: Some(CreatedResource(id.to_owned())),
            body,
        }
    }

    /// 202 with a body, and the path under the API root that shows the progress.
    pub fn accepted(path: &str, body: T) -> Self {
        Self {
            status: StatusCode::ACCEPTED,
            location: Some(format!("{API_ROOT}{path}")),
            ..Self::ok(body)
        }
    }

    /// Names the resource that the request concerns, for its audit record.
    #[must_use]
    pub fn about(mut self, id: &str) -> Self {
        self.created = Some(CreatedResource(id.to_owned()));
        self
    }

    /// Adds an `ETag`; `tag` is the text between its quotes.
    #[must_use]
    pub fn etag(mut self, tag: &str) -> Self {
        self.etag = Some(format!("\"{tag}\""));
        self
    }

    /// Adds the token of the next page of a list, if there is one.
    #[must_use]
    pub fn next_page_token(mut self, token: Option<String>) -> Self {
        self.next_page_token = token;
        self
    }
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        for (name, text) in [
            (&header::LOCATION, self.location),
            (&header::ETAG, self.etag),
            (&NEXT_PAGE_TOKEN, self.next_page_token),
        ] {
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                response.headers_mut().insert(name, value);
            }
        }
        if let Some(created) = self.created {
            response.extensions_mut().insert(created);
        }
        response
    }
}

impl<T: JsonSchema> OperationOutput for Reply<T> {
    type Inner = T;

    fn operation_response(context: &mut GenContext, operation: &mut Operation) -> Option<ApiResponse> {
        axum::Json::<T>::operation_response(context, operation)
    }
}
