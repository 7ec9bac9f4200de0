//! Documents headers of requests and answers in the OpenAPI document.

use aide::openapi::{
    Header, Operation, Parameter, ParameterData, ParameterSchemaOrContent, ReferenceOr, Response,
    SchemaObject, StatusCode,
};
use aide::transform::TransformOperation;
use schemars::json_schema;

use super::problems::problem;
use crate::error::ErrorKind;

/// Documents a creation, whose answer has the path and the tag of the new resource.
pub fn created(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let location = "Path of the new resource.";
    tagged(answer_header(operation, "location", location))
}

/// Documents an answer whose tag changes whenever the resource changes.
pub fn tagged(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    answer_header(
        operation,
        "etag",
        "Tag of this version of the resource, for `if-match`.",
    )
}

/// Documents a change that can be conditional on the resource's version.
pub fn conditional_write(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let operation = request_header(
        operation,
        "if-match",
        "The `etag` of the version that the caller has read. Another current version is a 412, and nothing changes.",
    );
    operation.with(problem(
        ErrorKind::PreconditionFailed,
        "`if-match` does not name the current version.",
        "If-Match does not name the current version, whose ETag is \"6\"; read it again and repeat.",
    ))
}

/// Documents a list that can be read page by page.
pub fn pages(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let token = "The `next_page_token` of the next page; missing where the list ends.";
    answer_header(operation, "x-next-page-token", token).with(problem(
        ErrorKind::Unprocessable,
        "The list is larger than 6.2 MB; ask for pages.",
        "The list takes more than the 6200000 bytes that can be sent. Ask for it page by page, with 'page_size' and \
         'next_page_token'.",
    ))
}

/// Adds an optional request header.
pub fn request_header<'t>(
    mut operation: TransformOperation<'t>,
    name: &str,
    description: &str,
) -> TransformOperation<'t> {
    operation
        .inner_mut()
        .parameters
        .push(ReferenceOr::Item(Parameter::Header {
            parameter_data: ParameterData {
                name: name.to_owned(),
                description: Some(description.to_owned()),
                required: false,
                format: ParameterSchemaOrContent::Schema(text()),
                deprecated: None,
                example: None,
                examples: Default::default(),
                explode: None,
                extensions: Default::default(),
            },
            style: Default::default(),
        }));
    operation
}

/// Adds a header to the success answers.
pub fn answer_header<'t>(
    mut operation: TransformOperation<'t>,
    name: &str,
    description: &str,
) -> TransformOperation<'t> {
    for response in successes(operation.inner_mut()) {
        let header = Header {
            description: Some(description.to_owned()),
            required: false,
            format: ParameterSchemaOrContent::Schema(text()),
            style: Default::default(),
            deprecated: None,
            example: None,
            examples: Default::default(),
            extensions: Default::default(),
        };
        response
            .headers
            .insert(name.to_owned(), ReferenceOr::Item(header));
    }
    operation
}

fn successes(operation: &mut Operation) -> impl Iterator<Item = &mut Response> {
    let responses = operation.responses.iter_mut().flat_map(|all| &mut all.responses);
    responses
        .filter(|(status, _)| matches!(status, StatusCode::Code(200..300)))
        .filter_map(|(_, response)| response.as_item_mut())
}

fn text() -> SchemaObject {
    SchemaObject {
        json_schema: json_schema!({ "type": "string" }),
        external_docs: None,
        example: None,
    }
}
