//! Logs: one JSON object a line in the cloud, lines for people on a laptop.

use tracing_subscriber::EnvFilter;

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
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        ConfigError::new(format!(
            "The variable MILLRACE_LOG is not a log filter ({error}). Set it to `info`, for example."
        ))
    })?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    match format {
        Format::Json => subscriber
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .init(),
        Format::Text => subscriber.compact().init(),
    }
    Ok(())
}
