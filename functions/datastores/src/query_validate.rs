//! `POST /data/{store_id}/query/validate`: checks whether statements can run, without running them.

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::auth::permission::ReadStores;
use platform::http::openapi::problem;
use platform::http::{Call, Json, Path, Reply};
use platform::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

const MAX_QUERIES: usize = 100;

/// Statements to check.
#[derive(Deserialize, JsonSchema)]
pub struct ValidateQueriesRequest {
    /// At most 100 statements. Their parameters need no values.
    #[schemars(length(max = MAX_QUERIES))]
    pub queries: Vec<String>,
}

/// The result of a check of statements.
#[derive(Serialize, JsonSchema)]
pub struct QueryValidation {
    /// Whether every statement could be run.
    pub valid: bool,
    /// One error for each statement that could not be run, in the order of the request.
    pub errors: Vec<QueryError>,
}

/// The error of a statement.
#[derive(Serialize, JsonSchema)]
pub struct QueryError {
    /// Text of the statement.
    pub query: String,
    /// Position of the statement in `queries`, from 0.
    pub index: usize,
    /// What the statement violates, in a sentence.
    pub error: String,
    /// Line of the statement, from 1; missing where the place is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Place in that line in characters, from 1; missing where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("validateQueries")
        .tag("data stores")
        .summary("Check queries without running them")
        .description(
            "Checks up to 100 statements against the tables of the current version without running them: while a user types, or \
             before a statement is saved. It finds errors of syntax, unknown tables, columns and functions, and statements that are not \
             allowed. It does not find what shows only while rows are read, such as a text that is no number. All statements together \
             have 25 seconds. No side effects, and no audit record.",
        )
        .response::<200, axum::Json<QueryValidation>>()
        .with(problem(
            ErrorKind::Timeout,
            "The check of all statements took longer than 25 seconds.",
            "The queries of this request together took longer than 25 seconds.",
        ))
}

async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<ValidateQueriesRequest>,
) -> Result<Reply<QueryValidation>> {
    let tenant = call.tenant()?;
    if body.queries.len() > MAX_QUERIES {
        return Err(Error::invalid_field(
            "queries",
            format!(
                "holds {} statements; at most {MAX_QUERIES} go into one request.",
                body.queries.len()
            ),
        ));
    }
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    let faults = app.stores.validate(&loaded, &body.queries).await?;
    let checked = body.queries.into_iter().zip(faults).enumerate();
    let errors = checked.filter_map(|(index, (query, fault))| {
        let fault = fault?;
        let place = fault.place();
        Some(QueryError {
            query,
            index,
            error: fault.message().to_owned(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
        })
    });
    let errors: Vec<_> = errors.collect();
    Ok(Reply::ok(QueryValidation {
        valid: errors.is_empty(),
        errors,
    }))
}
