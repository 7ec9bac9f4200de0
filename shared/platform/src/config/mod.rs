//! Reads a function's environment once, at start, into small typed structs.
//!
//! Every variable begins with `MILLRACE_`, but for those of OpenTelemetry. A missing or an unknown variable
//! stops the start with a sentence that says how to set it; a misspelt name would otherwise silently use a
//! default.

pub mod variables;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use hyper::Uri;

use variables::Variable;

/// Reason why the start was refused: one sentence for the operator.
#[derive(Debug)]
pub struct ConfigError(String);

impl ConfigError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Error for a missing variable.
    pub fn missing(variable: Variable) -> Self {
        Self(format!(
            "The variable {variable} is missing. Set it to the {}.",
            variable.purpose
        ))
    }

    /// Error for a value that needs AWS, in a program that is compiled without it.
    pub fn without_aws(variable: Variable, value: &str) -> Self {
        Self(format!(
            "The variable {variable} is '{value}', and {WITHOUT_AWS}."
        ))
    }
}

/// Reason of programs that are compiled without AWS.
pub const WITHOUT_AWS: &str =
    "this program is built without AWS; build it with AWS=yes, as in `make run AWS=yes`";

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Clone, Debug)]
pub struct Environment(BTreeMap<String, Secret>);

impl Environment {
    /// Reads the environment of this process. Rejects a `MILLRACE_` variable that is unknown.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Result<Self, ConfigError> {
        Self::from_variables(std::env::vars())
    }

    /// As [`read`](Self::read), from the given variables.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let ours: BTreeMap<_, _> = variables
            .into_iter()
            .filter(|(name, _)| name.starts_with("MILLRACE_") || is_of_open_telemetry(name))
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        match ours.keys().find(|name| {
            !is_of_open_telemetry(name) && !variables::ALL.iter().any(|known| known.name == *name)
        }) {
            Some(unknown) => {
                let known: Vec<_> = variables::ALL.iter().map(|known| known.name).collect();
                Err(ConfigError(format!(
                    "The variable {unknown} is unknown. Known are {}.",
                    known.join(", ")
                )))
            }
            None => Ok(Self(ours)),
        }
    }

    /// Returns the same variables, with these values of some.
    #[must_use]
    pub fn with(mut self, values: impl IntoIterator<Item = (Variable, String)>) -> Self {
        let values = values.into_iter();
        self.0
            .extend(values.map(|(variable, value)| (variable.name.to_owned(), Secret::new(value))));
        self
    }

    /// Returns the value of an optional variable; an empty value counts as missing.
    pub fn optional(&self, variable: Variable) -> Option<&str> {
        self.0
            .get(variable.name)
            .map(Secret::expose)
            .filter(|value| !value.is_empty())
    }

    pub fn required(&self, variable: Variable) -> Result<String, ConfigError> {
        self.optional(variable)
            .map(str::to_owned)
            .ok_or_else(|| ConfigError::missing(variable))
    }

    /// Returns the folder for files that can be recreated: `MILLRACE_CACHE_DIR`, or the temporary folder.
    pub fn cache_folder(&self) -> PathBuf {
        self.optional(variables::CACHE_DIR)
            .map_or_else(std::env::temp_dir, PathBuf::from)
    }

    /// Returns a whole number, or the variable's default where it is missing.
    pub fn number(&self, variable: Variable) -> Result<u64, ConfigError> {
        match self.optional(variable) {
            None => Ok(variable.default),
            Some(text) => text.parse().map_err(|_| {
                ConfigError(format!(
                    "The variable {variable} is '{text}'. Set it to a whole number."
                ))
            }),
        }
    }
}

fn is_of_open_telemetry(name: &str) -> bool {
    variables::OF_OPEN_TELEMETRY
        .iter()
        .any(|known| known.name == name)
}

/// Variables that Lambda sets for a function.
#[derive(Clone, Debug, Default)]
pub struct AwsEnvironment {
    pub region: Option<String>,
    /// `AWS_ENDPOINT_URL`: the address of services outside AWS.
    pub endpoint_url: Option<String>,
    /// `AWS_LAMBDA_FUNCTION_NAME`: set only in a Lambda function.
    pub function_name: Option<String>,
    /// `AWS_LAMBDA_FUNCTION_MEMORY_SIZE`.
    pub function_memory_mb: Option<u64>,
}

impl AwsEnvironment {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Self {
        Self {
            region: std::env::var("AWS_REGION").ok(),
            endpoint_url: std::env::var("AWS_ENDPOINT_URL").ok(),
            function_name: std::env::var("AWS_LAMBDA_FUNCTION_NAME").ok(),
            function_memory_mb: std::env::var("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
                .ok()
                .and_then(|size| size.parse().ok()),
        }
    }

    /// Whether AWS is an emulator on this machine: `AWS_ENDPOINT_URL` is a loopback address. No deployed
    /// function has such a value, because it would reach no service of AWS.
    pub fn is_emulated(&self) -> bool {
        let endpoint = self.endpoint_url.as_deref();
        // Uses the parser of the SDK's HTTP client, so that both see the same host.
        let uri = endpoint.and_then(|endpoint| endpoint.parse::<Uri>().ok());
        let url = uri.as_ref().filter(|uri| uri.scheme().is_some());
        let Some(host) = url.and_then(Uri::host) else {
            return false;
        };
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
    }
}

/// Variable with additional library folders for the loader.
pub const LIBRARY_PATH: &str = if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// Returns the additional library folders of the loader, for a child process whose environment is otherwise
/// empty.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
pub fn library_path() -> Option<OsString> {
    std::env::var_os(LIBRARY_PATH)
}

/// Origins allowed to call from a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorsOrigins {
    /// No CORS header is sent.
    None,
    Any,
    /// Each as `scheme://host[:port]`.
    List(Vec<String>),
}

impl CorsOrigins {
    /// Reads `MILLRACE_CORS_ORIGINS`; `None` where it is missing.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let origins = environment.optional(variables::CORS_ORIGINS);
        if let Some(list) = origins.filter(|list| *list != "*" && list.contains('*')) {
            return Err(ConfigError(format!(
                "The variable MILLRACE_CORS_ORIGINS is '{list}'. Set it to origins such as https://app.example.com, or to * alone."
            )));
        }
        Ok(match origins {
            None => Self::None,
            Some("*") => Self::Any,
            Some(list) => Self::List(list.split(',').map(|origin| origin.trim().to_owned()).collect()),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeConfig {
    pub cors: CorsOrigins,
}

impl EdgeConfig {
    /// Reads `MILLRACE_CORS_ORIGINS`.
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            cors: CorsOrigins::from_environment(environment)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Result<Environment, ConfigError> {
        Environment::from_variables(
            variables
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        )
    }

    #[test]
    fn a_misspelt_variable_stops_the_start() {
        let refusal = environment(&[("MILLRACE_RECORD_TABLE", "x"), ("PATH", "/bin")])
            .unwrap_err()
            .to_string();
        assert!(
            refusal.starts_with("The variable MILLRACE_RECORD_TABLE is unknown."),
            "{refusal}"
        );
    }

    #[test]
    fn a_missing_variable_says_what_it_is_for() {
        let empty = environment(&[(variables::JWKS.name, "")]).unwrap();
        let refusal = empty.required(variables::DATA_BUCKET).unwrap_err().to_string();
        insta::assert_snapshot!(refusal, @"The variable MILLRACE_DATA_BUCKET is missing. Set it to the name of the S3 bucket of store data and artifacts.");
        assert!(empty.optional(variables::JWKS).is_none());
    }

    #[test]
    fn aws_is_emulated_at_a_loopback_address_alone() {
        let is_emulated = |endpoint: Option<&str>| {
            let machine = AwsEnvironment {
                endpoint_url: endpoint.map(str::to_owned),
                ..AwsEnvironment::default()
            };
            machine.is_emulated()
        };
        for endpoint in [
            "http://127.0.0.1:4566",
            "http://127.255.0.1",
            "http://[::1]:4566",
            "http://localhost:4566/",
            "https://LOCALHOST",
        ] {
            assert!(is_emulated(Some(endpoint)), "{endpoint}");
        }
        for endpoint in [
            "",
            "127.0.0.1",
            "localhost:4566",
            "/127.0.0.1",
            "https://dynamodb.eu-central-1.amazonaws.com",
            "http://10.0.0.1:4566",
            "http://0.0.0.0:4566",
            "http://169.254.169.254",
            "http://127.0.0.1.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1@evil.example",
            "http://127.0.0.1:80@evil.example",
            "http://127.0.0.1\\@evil.example",
            "http://evil.example#@127.0.0.1",
            "http://evil.example?127.0.0.1",
            "http://[::ffff:8.8.8.8]",
        ] {
            assert!(!is_emulated(Some(endpoint)), "{endpoint}");
        }
        assert!(!is_emulated(None));
    }

    #[test]
    fn secrets_do_not_print() {
        let environment = environment(&[(variables::TOKEN_SHARED_SECRET.name, "hunter2")]).unwrap();
        assert!(!format!("{environment:?}").contains("hunter2"));
    }
}
