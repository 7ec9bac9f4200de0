//! Measures events: matching alone; ingest next to a plain conditional put; delivery from the ingest URL to a
//! receiver; and the cost of a delivered webhook.

use serde_json::Value;
use tempfile::tempdir;

use crate::report::{Comparison, Figure, Row};
use crate::statistics::{median, percentile};
use crate::{Result, deliveries, programs};

pub(crate) const PART: &str = "events";

pub async fn measure() -> Result<Vec<Row>> {
    let mut rows = matching()?;
    rows.extend(taking_in()?);
    rows.extend(deliveries::measure(tempdir()?.path()).await?);
    rows.extend(costs()?);
    Ok(rows)
}

fn matching() -> Result<Vec<Row>> {
    let report = programs::report("matching_load")?;
    let mut rows = Vec::new();
    for of in report.as_array().into_iter().flatten() {
        let number = |field: &str| of.get(field).and_then(Value::as_f64).unwrap_or(f64::NAN);
        let times = |field: &str| -> Vec<f64> {
            let times = of.get(field).and_then(Value::as_array);
            times
                .into_iter()
                .flatten()
                .filter_map(Value::as_f64)
                .map(|micros| micros / 1e3)
                .collect()
        };
        let (indexed, in_turn) = (times("microseconds"), times("in_turn_microseconds"));
        let what = format!("an event against {} subscriptions", number("subscriptions"));
        let mean = indexed.iter().sum::<f64>() / indexed.len() as f64;
        let in_turn = in_turn.iter().sum::<f64>() / in_turn.len() as f64;
        rows.push(
            Row::new(PART, format!("{what}: mean"), Figure::Milliseconds(mean))
                .unlucky("p99", Figure::Milliseconds(percentile(&indexed, 0.99)))
                .beside(
                    "every condition in turn",
                    Figure::Milliseconds(in_turn),
                    Comparison::times(mean, in_turn),
                ),
        );
        rows.push(Row::new(
            PART,
            format!("{what}: events a second of one core"),
            Figure::PerSecond(1e3 / mean),
        ));
        rows.push(Row::new(
            PART,
            format!("{what}: looked at"),
            Figure::Count(number("candidates")),
        ));
        rows.push(Row::new(
            PART,
            format!("{what}: compiling all"),
            Figure::Milliseconds(number("compile_ms")),
        ));
        rows.push(Row::new(
            PART,
            format!("{what}: memory"),
            Figure::Megabytes(number("set_kb") / 1_024.0),
        ));
    }
    Ok(rows)
}

fn taking_in() -> Result<Vec<Row>> {
    let report = programs::report("ingest_load")?;
    let rate = |field: &str| {
        let rates: Vec<f64> = report
            .get(field)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        median(&rates)
    };
    let clients = report.get("clients").and_then(Value::as_u64).unwrap_or_default();
    let (ours, puts) = (rate("events_per_second"), rate("puts_per_second"));
    let presets = rate("preset_events_per_second");
    Ok(vec![
        Row::new(
            PART,
            format!("taking events in, {clients} clients"),
            Figure::PerSecond(ours),
        )
        .beside(
            "a conditional put alone",
            Figure::PerSecond(puts),
            Comparison::Rates(ours / puts),
        ),
        Row::new(
            PART,
            format!("taking events in with a preset, {clients} clients"),
            Figure::PerSecond(presets),
        )
        .beside(
            "a channel that takes a token",
            Figure::PerSecond(ours),
            Comparison::Rates(presets / ours),
        ),
    ])
}

/// Reports the records, messages and invocations of a delivered webhook, and the price of a million.
fn costs() -> Result<Vec<Row>> {
    let report = programs::report("run_costs")?;
    let mut rows = Vec::new();
    for (what, number) in report
        .get("webhook")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        // Skip the entries that hold the parts of a number.
        let Some(number) = number.as_f64() else {
            continue;
        };
        rows.push(Row::new(
            PART,
            format!("a delivered webhook: {what}"),
            Figure::Count(number),
        ));
    }
    Ok(rows)
}
