//! Measures the rendering of prompt templates alone, on one thread.

use serde_json::Value;

use crate::report::{Comparison, Figure, Row};
use crate::{Result, programs};

const PART: &str = "templates";
/// Least renderings per second of a template of 1 KB.
const WANTED: f64 = 100_000.0;

pub fn measure() -> Result<Vec<Row>> {
    let report = programs::report("render_load")?;
    let measured = report.get("templates").and_then(Value::as_array);
    let rows = measured.into_iter().flatten().map(|one| {
        let language = one.get("language").and_then(Value::as_str).unwrap_or_default();
        let rate = |field: &str| one.get(field).and_then(Value::as_f64);
        let ours = rate("per_second").unwrap_or(f64::NAN);
        let row = Row::new(
            PART,
            format!("renderings of 1 KB of {language}"),
            Figure::PerSecond(ours),
        );
        match rate("crate_per_second") {
            Some(theirs) => row.beside(
                "crate handlebars",
                Figure::PerSecond(theirs),
                Comparison::Rates(ours / theirs),
            ),
            None => row.held_against("wanted", Figure::PerSecond(WANTED)),
        }
    });
    Ok(rows.collect())
}
