//! Measures a large result as JSON, inside the data stores' crate, next to DuckDB's own `to_json`.
//!
//! The API answers with at most 10,000 rows, so the crate's own program measures, on both sides with the
//! linked DuckDB. Our side includes the transfer from the engine's process to the parent.

use serde_json::Value;

use crate::query::against_plain;
use crate::report::{Figure, Row};
use crate::statistics::{median, worst};
use crate::{Result, programs};

const PART: &str = "results";

pub fn measure() -> Result<Vec<Row>> {
    let output = programs::command(&programs::binary("lake_results")?).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let measured: Value = serde_json::from_slice(&output.stdout)?;
    let times = |side: &str| {
        let times = measured.get(side).and_then(Value::as_array).into_iter().flatten();
        times.filter_map(Value::as_f64).collect::<Vec<_>>()
    };
    let (ours, theirs) = (times("millrace_ms"), times("to_json_ms"));
    let row = Row::new(
        PART,
        "100,000 rows of 10 columns as JSON",
        Figure::Milliseconds(median(&ours)),
    )
    .unlucky("worst", Figure::Milliseconds(worst(&ours)));
    Ok(vec![against_plain(row, &ours, &theirs)])
}
