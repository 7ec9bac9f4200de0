//! Logs: one JSON object a line in the cloud, lines for people on a laptop.

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::config::{ConfigError, Environment};

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Starts logging to standard error, at the level that `MILLRACE_LOG` names.
pub fn init(environment: &Environment, format: Format, default_filter: &str) -> Result<(), ConfigError> {
    let filter = environment.optional("MILLRACE_LOG").unwrap_or(default_filter);
    let filter: Targets = filter.parse().map_err(|error| {
        ConfigError::new(format!(
            "The variable MILLRACE_LOG is not a log filter ({error}). Set it to `info`, for example."
        ))
    })?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match format {
        Format::Json => lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed(),
        Format::Text => lines.compact().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
    Ok(())
}
