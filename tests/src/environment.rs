//! Reads the environment of the suite.

/// Returns a variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the harness reads the environment here alone"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the variables that tell the operator command about a deployed stage.
#[expect(
    clippy::disallowed_methods,
    reason = "the harness reads the environment here alone"
)]
pub fn of_deployment() -> Vec<(String, String)> {
    std::env::vars()
        .filter(|(name, _)| name.starts_with("MILLRACE_") && name != "MILLRACE_BIN")
        .collect()
}

/// Returns the variables that would affect a program under test: its own, and those of the suite.
#[expect(
    clippy::disallowed_methods,
    reason = "the harness reads the environment here alone"
)]
pub fn of_programs() -> Vec<String> {
    std::env::vars()
        .map(|(name, _)| name)
        .filter(|name| {
            name.starts_with("MILLRACE_") || ["BASE_URL", "DATA_DIR", "PORT"].contains(&name.as_str())
        })
        .collect()
}
