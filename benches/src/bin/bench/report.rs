//! Renders the same rows as a table for people and as JSON for programs.

use std::fmt;

use serde_json::{Value, json};

use crate::{Result, say};

#[derive(Clone, Copy, Debug)]
pub enum Figure {
    Milliseconds(f64),
    /// Rate per second.
    PerSecond(f64),
    /// Size, in millions of bytes.
    Megabytes(f64),
    Count(f64),
}

/// Comparison with the number of the other side.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// Our time divided by the other side's, and the difference in milliseconds.
    Times(f64, f64),
    /// Our size divided by the other side's.
    Sizes(f64),
    /// Our rate divided by the other side's.
    Rates(f64),
}

#[derive(Clone, Debug)]
pub struct Row {
    pub part: &'static str,
    /// Name of the measurement.
    pub what: String,
    /// The number; the median of repeated measurements.
    pub figure: Figure,
    /// A bad case, such as a high percentile, and its name.
    pub unlucky: Option<(&'static str, Figure)>,
    /// The other side's number, and its name.
    pub beside: Option<(&'static str, Figure)>,
    pub comparison: Option<Comparison>,
}

impl Row {
    pub fn new(part: &'static str, what: impl Into<String>, figure: Figure) -> Self {
        Self {
            part,
            what: what.into(),
            figure,
            unlucky: None,
            beside: None,
            comparison: None,
        }
    }

    /// Adds a bad case.
    pub fn unlucky(mut self, what: &'static str, figure: Figure) -> Self {
        self.unlucky = Some((what, figure));
        self
    }

    /// Adds the limit of the number.
    pub fn held_against(mut self, what: &'static str, figure: Figure) -> Self {
        self.beside = Some((what, figure));
        self
    }

    /// Adds another side's number.
    pub fn beside(mut self, what: &'static str, figure: Figure, comparison: Comparison) -> Self {
        self.beside = Some((what, figure));
        self.comparison = Some(comparison);
        self
    }
}

/// What was measured, and what failed.
#[derive(Default)]
pub struct Report {
    pub rows: Vec<Row>,
    pub failures: Vec<String>,
}

impl Report {
    /// Adds the rows of a measurement, or its failure.
    pub fn add(&mut self, what: &str, measured: Result<impl IntoIterator<Item = Row>>) {
        match measured {
            Ok(rows) => self.rows.extend(rows),
            Err(error) => {
                let failure = format!("{what}: {error}");
                say(&format!("failed: {failure}"));
                self.failures.push(failure);
            }
        }
    }
}

impl Comparison {
    /// Compares two times in milliseconds.
    pub fn times(ours: f64, theirs: f64) -> Self {
        Self::Times(ours / theirs, ours - theirs)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Milliseconds(value) if value < 0.1 => write!(f, "{value:.4} ms"),
            Self::Milliseconds(value) if value < 10.0 => write!(f, "{value:.2} ms"),
            Self::Milliseconds(value) if value < 100.0 => write!(f, "{value:.1} ms"),
            Self::Milliseconds(value) => write!(f, "{value:.0} ms"),
            Self::PerSecond(value) => write!(f, "{value:.0} /s"),
            Self::Megabytes(value) if value < 1.0 => write!(f, "{:.1} KB", value * 1e3),
            Self::Megabytes(value) => write!(f, "{value:.1} MB"),
            Self::Count(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Times(ratio, more) => write!(f, "{ratio:.2} times, {more:+.1} ms"),
            Self::Sizes(ratio) => write!(f, "{ratio:.1} times"),
            Self::Rates(ratio) => write!(f, "{ratio:.2} times as many"),
        }
    }
}

/// Renders all rows as a Markdown table with aligned columns.
pub fn table(rows: &[Row]) -> String {
    let cell = |pair: Option<(&str, Figure)>| {
        pair.map_or_else(String::new, |(what, figure)| format!("{what} {figure}"))
    };
    let heading = ["part", "what", "Millrace", "unlucky", "beside it", "comparison"].map(str::to_owned);
    let mut cells = vec![heading, Default::default()];
    cells.extend(rows.iter().map(|row| {
        [
            row.part.to_owned(),
            row.what.clone(),
            row.figure.to_string(),
            cell(row.unlucky),
            cell(row.beside),
            row.comparison
                .map_or_else(String::new, |comparison| comparison.to_string()),
        ]
    }));
    let mut widths = [3; 6];
    for line in &cells {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (number, line) in cells.iter().enumerate() {
        let line: Vec<_> = widths
            .iter()
            .zip(line)
            .map(|(width, cell)| match number {
                1 => "-".repeat(*width),
                _ => format!("{cell:width$}"),
            })
            .collect();
        text.push_str(&format!("| {} |\n", line.join(" | ")));
    }
    text
}

/// Renders all rows as a JSON array; times in milliseconds, rates per second, sizes in megabytes.
pub fn json(rows: &[Row]) -> Result<String> {
    let rows: Vec<Value> = rows.iter().map(row_json).collect();
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}

fn row_json(row: &Row) -> Value {
    let side = |pair: Option<(&str, Figure)>| {
        pair.map(|(what, figure)| json!({ "what": what, "figure": figure_json(figure) }))
    };
    json!({
        "part": row.part,
        "what": row.what,
        "figure": figure_json(row.figure),
        "unlucky": side(row.unlucky),
        "beside": side(row.beside),
        "comparison": row.comparison.map(|comparison| match comparison {
            Comparison::Times(ratio, more) => json!({ "ratio": ratio, "more_ms": more }),
            Comparison::Sizes(ratio) | Comparison::Rates(ratio) => json!({ "ratio": ratio }),
        }),
    })
}

fn figure_json(figure: Figure) -> Value {
    let (value, unit) = match figure {
        Figure::Milliseconds(value) => (value, "ms"),
        Figure::PerSecond(value) => (value, "per_second"),
        Figure::Megabytes(value) => (value, "MB"),
        Figure::Count(value) => (value, "count"),
    };
    json!({ "value": value, "unit": unit })
}
