//! Documents the operations that run one statement: limits, formats, headers and errors.

use aide::openapi::{
    Header, MediaType, ParameterSchemaOrContent, ReferenceOr, Response, SchemaObject, StatusCode,
};
use aide::transform::TransformOperation;
use axum::http::HeaderName;
use axum::http::header::{ETAG, VARY};
use platform::ErrorKind;
use platform::http::openapi::{problem, request_header};
use schemars::json_schema;

use crate::negotiation::ARROW;

pub const ROW_COUNT: HeaderName = HeaderName::from_static("x-row-count");
pub const TRUNCATED: HeaderName = HeaderName::from_static("x-truncated");

/// Limits and formats of a statement.
pub const QUERY_RULES: &str = "Only SELECT is allowed, with functions of DuckDB that read neither files nor settings. Limits: \
    25 seconds, 10,000 rows, and an answer of 5.5 MB, as Arrow of 4.1 MB. No side effects, and no audit record.\n\n\
    The header `accept` chooses the form: `application/json`, `text/csv` (RFC 4180 with a header row; null is an empty field, \
    an empty string is `\"\"`) or `application/vnd.apache.arrow.stream`. Any other value gets JSON. Errors are always JSON.\n\n\
    The `etag` stands for the statement, its parameters, its limit and its form over this version. Send it as \
    `if-none-match`: the answer is a 304 as long as they are the same, and the statement does not run. A statement that \
    depends on chance or on the time has no `etag`.";

/// Documents the other responses of an operation with a JSON answer.
pub fn query_answers(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    let mut operation = request_header(
        operation,
        "if-none-match",
        "The `etag` of an answer that the caller has. If it still holds, the answer is a 304 without a body.",
    )
    .response_with::<304, (), _>(|response| response.description("The answer has not changed since the caller read it."))
    .with(problem(
        ErrorKind::InvalidRequest,
        "The statement is not one SELECT that this version can answer, or a parameter has no value. The message begins with the \
         place where it is known.",
        "Line 1, column 8: Referenced column \"amont\" not found in FROM clause! Did you mean 'amount'?",
    ))
    .with(problem(
        ErrorKind::Timeout,
        "The statement took longer than 25 seconds and was stopped.",
        "It took longer than 25 seconds and was stopped.",
    ))
    .with(problem(
        ErrorKind::Unprocessable,
        "The statement needs too much memory or too many data files, its answer is too large, or a value does not convert while \
         it runs.",
        "The answer is larger than 5.5 MB; lower 'limit', select fewer columns, or aggregate.",
    ));
    let responses = operation.inner_mut().responses.get_or_insert_default();
    for (status, response) in &mut responses.responses {
        let ReferenceOr::Item(response) = response else {
            continue;
        };
        match status {
            StatusCode::Code(200) => add_forms(response),
            StatusCode::Code(304) => add_tag(response),
            _ => {}
        }
    }
    operation
}

fn add_forms(response: &mut Response) {
    add_tag(response);
    add(
        response,
        &ROW_COUNT,
        "As CSV and Arrow: the number of rows in this answer.",
    );
    add(
        response,
        &TRUNCATED,
        "As CSV and Arrow: `true` if the statement has more rows than the limit, else `false`.",
    );
    let csv = json_schema!({ "type": "string" });
    let arrow = json_schema!({ "type": "string", "format": "binary" });
    for (name, json_schema) in [("text/csv", csv), (ARROW, arrow)] {
        let body = MediaType {
            schema: Some(SchemaObject {
                json_schema,
                example: None,
                external_docs: None,
            }),
            ..MediaType::default()
        };
        response.content.insert(name.to_owned(), body);
    }
}

fn add_tag(response: &mut Response) {
    add(
        response,
        &ETAG,
        "Weak tag of the answer, for `if-none-match`; missing if the statement depends on chance or on the time.",
    );
    add(response, &VARY, "Always `accept`.");
}

fn add(response: &mut Response, name: &HeaderName, description: &str) {
    let header = Header {
        description: Some(description.to_owned()),
        required: false,
        format: ParameterSchemaOrContent::Schema(SchemaObject {
            json_schema: json_schema!({ "type": "string" }),
            example: None,
            external_docs: None,
        }),
        style: Default::default(),
        deprecated: None,
        example: None,
        examples: Default::default(),
        extensions: Default::default(),
    };
    response
        .headers
        .insert(name.to_string(), ReferenceOr::Item(header));
}
