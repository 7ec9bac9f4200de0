//! Measures the engine alone: turns over histories of growing length, and runs over records in memory.

use serde_json::Value;

use crate::report::{Comparison, Figure, Row};
use crate::statistics::{median, percentile};
use crate::{Result, programs};

const PART: &str = "engine";

pub fn measure() -> Result<Vec<Row>> {
    let report = programs::report("engine_load")?;
    let each = |field: &str| {
        report
            .get(field)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut shortest = None;
    for turn in each("turns") {
        let (events, took) = (number(&turn, "events"), numbers(&turn, "ms"));
        let row = Row::new(
            PART,
            format!("turn over {events} events"),
            Figure::Milliseconds(median(&took)),
        )
        .unlucky("p99", Figure::Milliseconds(percentile(&took, 0.99)));
        // Time of a turn if each event takes as long as in the shortest history.
        let (of_events, of_ms) = *shortest.get_or_insert((events, median(&took)));
        let linear = of_ms * events / of_events;
        rows.push(row.beside(
            "linear from the first",
            Figure::Milliseconds(linear),
            Comparison::times(median(&took), linear),
        ));
    }
    for load in each("loads") {
        let (clients, took) = (number(&load, "clients"), numbers(&load, "run_ms"));
        let what = format!("run of 3 activities over records in memory, {clients} clients");
        rows.push(
            Row::new(PART, format!("{what}: p50"), Figure::Milliseconds(median(&took)))
                .unlucky("p99", Figure::Milliseconds(percentile(&took, 0.99))),
        );
        let rate = took.len() as f64 / number(&load, "seconds");
        rows.push(Row::new(PART, format!("{what}: runs"), Figure::PerSecond(rate)));
    }
    Ok(rows)
}

fn number(value: &Value, field: &str) -> f64 {
    value.get(field).and_then(Value::as_f64).unwrap_or(f64::NAN)
}

fn numbers(value: &Value, field: &str) -> Vec<f64> {
    let numbers = value.get(field).and_then(Value::as_array);
    numbers.into_iter().flatten().filter_map(Value::as_f64).collect()
}
