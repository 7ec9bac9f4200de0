//! Runs a statement of the platform itself over the files of one folder.

use std::path::PathBuf;

use duckdb::params_from_iter;
use platform::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::child::context::Context;
use crate::import::functions;
use crate::jobs::protocol::JobOutput;
use crate::query::answer::{self, Body, Bounds};
use crate::query::json_text::{self, JsonText};
use crate::statement::messages;
use crate::statement::parameters::Scalar;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FolderInput {
    /// The only folder that the statement can reach, with everything below it.
    pub(crate) folder: PathBuf,
    pub(crate) sql: String,
    pub(crate) form: Form,
}

/// The result that a statement is run for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Form {
    /// Its rows, with values for its `?` parameters; the body of the reply is a JSON array of arrays.
    Rows { params: Vec<Value>, bytes: usize },
    /// Its effect; the reply is the number of rows written.
    Effect,
}

pub(crate) fn run(context: &mut Context, input: &FolderInput) -> Result<JobOutput> {
    context.enclose(&input.folder, [])?;
    if !context.has_json_text {
        functions::register::<JsonText>(&context.connection, json_text::NAME)?;
        context.has_json_text = true;
    }
    match &input.form {
        Form::Rows { params, bytes } => rows(context, &input.sql, params, *bytes),
        Form::Effect => {
            let rows = context.connection.execute(&input.sql, []);
            let rows = rows.map_err(|error| messages::own_error(&error))?;
            Ok(JobOutput {
                value: Value::from(rows),
                body: Vec::new(),
            })
        }
    }
}

fn rows(context: &mut Context, sql: &str, params: &[Value], bytes: usize) -> Result<JobOutput> {
    let to_error = |error: &duckdb::Error| messages::own_error(error);
    let mut statement = context
        .connection
        .prepare(sql)
        .map_err(|error| to_error(&error))?;
    let values = params.iter().map(bound);
    let streamed = statement.stream_arrow(params_from_iter(values)).map(drop);
    streamed.map_err(|error| to_error(&error))?;
    let mut body = Body::new(&mut context.output);
    body.end().push(b'[');
    let bounds = Bounds {
        rows: usize::MAX,
        bytes,
    };
    answer::json_arrays(&statement, bounds, &mut body).map_err(|stopped| stopped.of_own(bytes))?;
    body.end().push(b']');
    Ok(JobOutput {
        value: Value::Null,
        body: body.into_rest(),
    })
}

/// Converts a value for binding. DuckDB binds no lists, so an array or an object is bound as its JSON text.
fn bound(value: &Value) -> Scalar {
    match value {
        Value::Null => Scalar::Null,
        Value::Bool(value) => Scalar::Boolean(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(signed), _) => Scalar::Signed(signed),
            (None, Some(unsigned)) => Scalar::Unsigned(unsigned),
            (None, None) => number.as_f64().map_or(Scalar::Null, Scalar::Double),
        },
        Value::String(text) => Scalar::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Scalar::Text(value.to_string()),
    }
}
