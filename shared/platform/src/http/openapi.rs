//! The OpenAPI document, from the types.

use aide::axum::ApiRouter;
use aide::openapi::{Info, License, OpenApi, SecurityScheme, Server};
use aide::transform::{TransformOpenApi, TransformOperation};

use super::edge::ErrorBody;
use super::serve::API_ROOT;

/// The document of these routes.
pub fn document(routes: ApiRouter) -> OpenApi {
    aide::generate::infer_responses(false);
    let mut api = OpenApi::default();
    let _ = ApiRouter::new()
        .nest(API_ROOT, routes)
        .finish_api_with(&mut api, describe);
    api
}

fn describe(api: TransformOpenApi) -> TransformOpenApi {
    let info = Info {
        title: "Millrace".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        description: Some(
            "Workflow runs, prompt templates, data stores, event subscriptions and an audit trail."
                .to_owned(),
        ),
        license: Some(License {
            name: "MIT OR Apache-2.0".to_owned(),
            ..License::default()
        }),
        ..Info::default()
    };
    api.info(info)
        .server(Server {
            url: "/".to_owned(),
            ..Server::default()
        })
        .security_scheme(
            "token",
            SecurityScheme::Http {
                scheme: "bearer".to_owned(),
                bearer_format: Some("JWT".to_owned()),
                description: Some("An access token; for the data store API, an API key as well.".to_owned()),
                extensions: Default::default(),
            },
        )
}

/// Adds the error answers that every operation has.
pub fn with_errors(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation.default_response_with::<axum::Json<ErrorBody>, _>(|response| {
        response.description("Any error: 400, 401, 403, 404, 408, 409, 412, 413, 415, 422, 500 or 503.")
    })
}
