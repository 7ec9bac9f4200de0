//! Documents error answers in the OpenAPI document.

use aide::openapi::{MediaType, ReferenceOr, Response, SchemaObject, StatusCode};
use aide::transform::TransformOperation;
use serde_json::json;

use crate::error::ErrorKind;

/// Documents an error of an operation, in addition to the shared errors or in their place: when it occurs,
/// and an example of its message. Of several errors with one status, the first provides the example.
pub fn problem(
    kind: ErrorKind,
    when: &'static str,
    message: &'static str,
) -> impl FnOnce(TransformOperation<'_>) -> TransformOperation<'_> {
    move |mut operation| {
        let responses = operation.inner_mut().responses.get_or_insert_default();
        let entry = responses.responses.entry(StatusCode::Code(kind.status()));
        let response = entry.or_insert_with(|| ReferenceOr::Item(error_response(kind, "", message)));
        if let ReferenceOr::Item(response) = response {
            let space = if response.description.is_empty() { "" } else { " " };
            response.description.push_str(&format!("{space}{when}"));
        }
        operation
    }
}

/// Describes an error answer, with an example of its message. Its schema is the component `ErrorBody`.
pub fn error_response(kind: ErrorKind, description: &str, message: &str) -> Response {
    let example = json!({
        "status": kind.status(),
        "error": kind.code(),
        "message": message,
        "request_id": "0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90",
    });
    let body = MediaType {
        schema: Some(SchemaObject {
            json_schema: schemars::Schema::new_ref("#/components/schemas/ErrorBody".to_owned()),
            example: None,
            external_docs: None,
        }),
        example: Some(example),
        ..MediaType::default()
    };
    Response {
        description: description.to_owned(),
        content: [("application/json".to_owned(), body)].into_iter().collect(),
        ..Response::default()
    }
}
