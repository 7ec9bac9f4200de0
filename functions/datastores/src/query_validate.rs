//! `POST /data/{store_id}/query/validate`: whether statements could be run, without running them.

use aide::transform::TransformOperation;
use axum::extract::State;
use lake::Position;
use platform::auth::permission::ReadStores;
use platform::http::{Call, Json, Path, Reply};
use platform::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

/// Most statements of a request.
const MAX_QUERIES: usize = 100;

/// Statements.
#[derive(Deserialize, JsonSchema)]
pub struct ValidateRequest {
    /// At most 100. Their parameters need no values.
    pub queries: Vec<String>,
}

/// Whether all statements could be run.
#[derive(Serialize, JsonSchema)]
pub struct ValidateResponse {
    /// Whether there is no error.
    pub valid: bool,
    /// What is wrong with those that could not.
    pub errors: Vec<QueryError>,
}

/// What is wrong with a statement.
#[derive(Serialize, JsonSchema)]
pub struct QueryError {
    /// The statement.
    pub query: String,
    /// Its place in `queries`, from 0.
    pub index: usize,
    /// What is wrong.
    pub error: String,
    /// The line of the statement, from 1, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in that line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

pub fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("validateQueries")
        .tag("data stores")
        .summary("Check queries without running them")
        .response::<200, axum::Json<ValidateResponse>>()
}

pub async fn handler(
    call: Call<ReadStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<ValidateRequest>,
) -> Result<Reply<ValidateResponse>> {
    let tenant = call.tenant()?;
    if body.queries.len() > MAX_QUERIES {
        return Err(Error::invalid(format!(
            "The field 'queries' holds {} statements; at most {MAX_QUERIES} go into one request.",
            body.queries.len()
        )));
    }
    let loaded = app.stores.load(&tenant, &path.store_id).await?;
    let faults = app.stores.validate(&loaded, &body.queries).await?;
    let checked = body.queries.into_iter().zip(faults).enumerate();
    let errors = checked.filter_map(|(index, (query, fault))| {
        let fault = fault?;
        let position = Position::of(&fault);
        Some(QueryError {
            query,
            index,
            error: fault.message().to_owned(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
        })
    });
    let errors: Vec<_> = errors.collect();
    Ok(Reply::ok(ValidateResponse {
        valid: errors.is_empty(),
        errors,
    }))
}
