//! Validates a dashboard before it is written, on create and on update alike.

use aide::transform::TransformOperation;
use lake::parameters;
use lake::records::dashboards::DashboardContent;
use platform::http::openapi::problem;
use platform::http::text::{check_description, check_name, check_tags};
use platform::{Error, ErrorKind, Result, Tenant};
use serde::Serialize;

use crate::{App, chart};

/// Maximum number of bytes of each of the query, the spec and the parameters. With these and its other texts,
/// a dashboard stays well below the 400 KB limit of a record.
const MAX_BYTES: usize = 64 * 1_024;

/// Largest row limit of a dashboard's query.
const MAX_ROWS: u64 = lake::limits::MAX_ROWS as u64;

/// Documents the 413 of an operation that writes a dashboard.
pub fn too_large(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation.with(problem(
        ErrorKind::PayloadTooLarge,
        "The body is too large, or `query`, `spec` or `queryParameters` has more than 65,536 bytes.",
        "The field 'spec' has 70123 bytes; 65536 is the most.",
    ))
}

/// Refuses invalid names and texts with 400, and too large ones with 413.
pub fn check_texts(content: &DashboardContent) -> Result<()> {
    check_name("name", &content.name)?;
    check_description("description", content.description.as_deref())?;
    check_tags(&content.tags)?;
    if content
        .query_limit
        .is_some_and(|limit| !(1..=MAX_ROWS).contains(&limit))
    {
        return Err(Error::invalid_field(
            "queryLimit",
            format!("must be from 1 to {MAX_ROWS}."),
        ));
    }
    check_bytes("query", content.query.len())?;
    check_bytes("spec", json_bytes(&content.spec)?)?;
    check_bytes("queryParameters", json_bytes(&content.query_parameters)?)
}

fn json_bytes(value: &impl Serialize) -> Result<usize> {
    serde_json::to_vec(value)
        .map(|bytes| bytes.len())
        .map_err(Error::internal)
}

fn check_bytes(field: &str, bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES {
        return Err(Error::of_field(
            ErrorKind::PayloadTooLarge,
            field,
            format!("has {bytes} bytes; {MAX_BYTES} is the most."),
        ));
    }
    Ok(())
}

/// Refuses with 400 a query that the store's current version cannot answer, and a chart that the query's
/// columns cannot fill. Runs no query. A missing or archived store is a 404.
pub async fn check_chart(app: &App, tenant: &Tenant, store: &str, content: &DashboardContent) -> Result<()> {
    for name in parameters::names(&content.query) {
        if !content.query_parameters.contains_key(&name) {
            return Err(Error::invalid(format!(
                "The query uses the parameter '{name}'; give it a value in 'queryParameters'."
            )));
        }
    }
    let described = app
        .stores
        .describe(tenant, store, &content.query, &content.query_parameters);
    let columns = described.await.map_err(about_query)?;
    chart::check(&content.spec, &columns)
}

/// Prefixes the engine's error message with the field that it concerns.
fn about_query(error: Error) -> Error {
    if error.kind() != ErrorKind::InvalidRequest {
        return error;
    }
    Error::invalid_field("query", format!("cannot be used. {}", error.message())).at(error.place())
}
