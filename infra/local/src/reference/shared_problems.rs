//! Documents the error answers that operations share.

use aide::openapi::{OpenApi, Operation, Parameter, ReferenceOr, SchemaObject, StatusCode};
use platform::ErrorKind;
use platform::http::edge::ErrorBody;
use platform::http::openapi::error_response;
use schemars::generate::SchemaSettings;

const DEFINITIONS: &str = "/components/schemas";

/// An error that many operations share: its name in the document, when it occurs, and an example of its
/// message.
struct Shared {
    kind: ErrorKind,
    name: &'static str,
    when: &'static str,
    message: &'static str,
}

const SHARED: [Shared; 11] = [
    Shared {
        kind: ErrorKind::InvalidRequest,
        name: "InvalidRequest",
        when: "A part of the request is missing, malformed or out of its limits. The message names it.",
        message: "The query parameter 'limit' is not as it must be: invalid value: string \"many\", expected an integer.",
    },
    Shared {
        kind: ErrorKind::Unauthenticated,
        name: "Unauthenticated",
        when: "There are no credentials, or they are not valid.",
        message: "The access token has expired; ask for a new one.",
    },
    Shared {
        kind: ErrorKind::Forbidden,
        name: "Forbidden",
        when: "The caller lacks the permission.",
        message: "This needs the permission workflow:admin.",
    },
    Shared {
        kind: ErrorKind::NotFound,
        name: "NotFound",
        when: "A resource of the path does not exist in the caller's project.",
        message: "There is no such resource.",
    },
    Shared {
        kind: ErrorKind::Timeout,
        name: "Timeout",
        when: "The request took too long. A change may have been made: read before repeating it.",
        message: "The request took too long.",
    },
    Shared {
        kind: ErrorKind::PayloadTooLarge,
        name: "PayloadTooLarge",
        when: "The body is too large.",
        message: "The body is larger than the 262144 bytes that this operation takes.",
    },
    Shared {
        kind: ErrorKind::UnsupportedMediaType,
        name: "UnsupportedMediaType",
        when: "The body is not JSON.",
        message: "Send the body as JSON, with 'content-type: application/json'.",
    },
    Shared {
        kind: ErrorKind::Unprocessable,
        name: "Unprocessable",
        when: "The request is well-formed and cannot be carried out, or its answer would be too large.",
        message: "The answer would be larger than can be sent; ask for less.",
    },
    Shared {
        kind: ErrorKind::TooManyRequests,
        name: "TooManyRequests",
        when: "The caller sent more requests than the service takes. `retry-after` says when to repeat this one.",
        message: "Too many requests; repeat this one in a moment.",
    },
    Shared {
        kind: ErrorKind::Internal,
        name: "Internal",
        when: "The service failed. The request id finds the cause in its log.",
        message: "Something went wrong here; the request id finds it in the log.",
    },
    Shared {
        kind: ErrorKind::Unavailable,
        name: "Unavailable",
        when: "The service is busy, or a service behind it is away. Repeat the request after `retry-after` seconds.",
        message: "The service is busy; repeat the request in a moment.",
    },
];

/// Adds the shared errors that an operation can answer with.
pub(super) fn complete(operation: &mut Operation, is_public: bool) {
    let has_body = operation.request_body.is_some();
    let names_resource = operation
        .parameters
        .iter()
        .filter_map(ReferenceOr::as_item)
        .any(|parameter| matches!(parameter, Parameter::Path { .. }));
    let can = |kind| match kind {
        ErrorKind::Forbidden => !is_public,
        ErrorKind::NotFound => names_resource && !is_public,
        ErrorKind::PayloadTooLarge | ErrorKind::UnsupportedMediaType => has_body,
        _ => true,
    };
    let responses = &mut operation.responses.get_or_insert_default().responses;
    for shared in SHARED.iter().filter(|shared| can(shared.kind)) {
        responses
            .entry(StatusCode::Code(shared.kind.status()))
            .or_insert_with(|| ReferenceOr::ref_(&format!("#/components/responses/{}", shared.name)));
    }
    responses.sort_by(|one, _, other, _| one.to_string().cmp(&other.to_string()));
}

/// Adds the components that the operations refer to.
pub(super) fn add_shared(api: &mut OpenApi) {
    let components = api.components.get_or_insert_default();
    let settings = SchemaSettings::draft2020_12();
    let mut generator = settings
        .with(|settings| settings.definitions_path = DEFINITIONS.into())
        .into_generator();
    generator.subschema_for::<ErrorBody>();
    for (name, schema) in generator.take_definitions(true) {
        let Ok(json_schema) = schemars::Schema::try_from(schema) else {
            continue;
        };
        components.schemas.entry(name).or_insert(SchemaObject {
            json_schema,
            example: None,
            external_docs: None,
        });
    }
    for shared in SHARED {
        let response = error_response(shared.kind, shared.when, shared.message);
        components
            .responses
            .insert(shared.name.to_owned(), ReferenceOr::Item(response));
    }
}
